"""Answer: runs a plan on a snapshot along the better road."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event

from omnigraph.data.derived.topology import Topology
from omnigraph.data.result import Result, ResultStream
from omnigraph.query.plan import Project, ReadPlan
from omnigraph.read.dense import Dense
from omnigraph.read.execution import Budget, Run
from omnigraph.read.interpreter import held, read
from omnigraph.read.profile import Measured, Stopwatch
from omnigraph.read.reader import Reader
from omnigraph.read.road import LOOKUP_ROWS, Choice, Road, choose, columns_read
from omnigraph.read.sparse import NeedsWhole, Sparse
from omnigraph.schema.values import Value
from omnigraph.versioning.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a query is answered: its values, its instant and its limits.

    With `streams` the last columns are made while the rows are taken, else before.
    """

    params: Mapping[str, Value | None]
    now: datetime
    budget: Budget
    environment: Mapping[str, str] = field(repr=False)
    cancelled: Event = field(default_factory=Event)
    measures: bool = False
    streams: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a plan, the road that was taken, and what its operators took."""

    rows: ResultStream
    road: Road
    choice: Choice
    measured: tuple[Measured, ...]


def answer(plan: ReadPlan, snapshot: Snapshot, topology: Topology, terms: Terms) -> Answer:
    """Give the rows of a plan.

    When more rows have to be looked up than was estimated, the plan is run again from whole
    tables; reading changes nothing, so that is safe.
    """
    choice = choose(plan, snapshot, topology)
    if choice.road is Road.INDEX:
        sparse = Sparse(snapshot, columns_read(plan, snapshot))
        try:
            found = _answered(plan, sparse, terms, choice, Road.INDEX)
        except NeedsWhole:
            pass
        else:
            topology.spend(choice.missing, (choice.lookups or 0) * LOOKUP_ROWS)
            return found
    topology.settle(choice.missing)
    return _answered(plan, Dense(snapshot, topology), terms, choice, Road.ADJACENCY)


def _answered(plan: ReadPlan, reader: Reader, terms: Terms, choice: Choice, road: Road) -> Answer:
    run = Run(
        reader=reader,
        params=terms.params,
        now=terms.now,
        budget=terms.budget,
        environment=terms.environment,
        cancelled=terms.cancelled,
        stopwatch=Stopwatch() if terms.measures else None,
    )
    rows = read(run, plan)
    if not terms.streams or road is Road.INDEX:  # a look-up can still ask for the other road
        last = [each for each in plan.operators[-1:] if isinstance(each, Project)]
        rows = Result(plan.name, held(run, rows, last)).to_stream()
    measured = () if run.stopwatch is None else tuple(run.stopwatch.measured)
    return Answer(rows, road, choice, measured)
