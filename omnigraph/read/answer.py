"""Answer: runs a plan on a snapshot along the better road."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event

import pyarrow as pa

from omnigraph.data.derived.topology import Topology
from omnigraph.query.plan import ReadPlan
from omnigraph.read.dense import Dense
from omnigraph.read.execution import Budget, Run
from omnigraph.read.interpreter import read
from omnigraph.read.profile import Measured, Stopwatch
from omnigraph.read.reader import Reader
from omnigraph.read.road import LOOKUP_ROWS, Choice, Road, choose, columns_read
from omnigraph.read.sparse import NeedsWhole, Sparse
from omnigraph.schema.values import Value
from omnigraph.versioning.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms a query is answered: its values, its instant and its limits."""

    params: Mapping[str, Value | None]
    now: datetime
    budget: Budget
    environment: Mapping[str, str] = field(repr=False)
    cancelled: Event = field(default_factory=Event)
    measures: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a plan, the road that was taken, and what its operators took."""

    table: pa.Table
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
            topology.note_cost(choice.missing, (choice.lookups or 0) * LOOKUP_ROWS)
            return found
    topology.clear_cost(choice.missing)
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
    table = read(run, plan)
    measured = () if run.stopwatch is None else tuple(run.stopwatch.measured)
    return Answer(table, road, choice, measured)
