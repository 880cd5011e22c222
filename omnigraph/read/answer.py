"""Answer: runs a plan on a snapshot, along the road that costs less."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event

import pyarrow as pa

from omnigraph.data.derived.topology import Topology
from omnigraph.query.plan import ReadPlan
from omnigraph.read.dense_reader import DenseReader
from omnigraph.read.execution import Budget, Execution
from omnigraph.read.interpreter import execute_plan
from omnigraph.read.profile import Measurement, Stopwatch
from omnigraph.read.reader import Reader
from omnigraph.read.road import LOOKUP_ROWS, Road, RoadChoice, choose_road, find_columns_read
from omnigraph.read.sparse_reader import SparseReader, TooManyLookups
from omnigraph.schema.values import Value
from omnigraph.versioning.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What one execution of a plan is given: parameters, the instant of now(), and limits."""

    params: Mapping[str, Value | None]
    now: datetime
    budget: Budget
    environment: Mapping[str, str] = field(repr=False)
    cancelled: Event = field(default_factory=Event)
    measures: bool = False


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The rows of a plan, the road it took, and what its operators cost."""

    table: pa.Table
    road: Road
    choice: RoadChoice
    measurements: tuple[Measurement, ...]


def answer(
    plan: ReadPlan, snapshot: Snapshot, topology: Topology, terms: ReadRequest
) -> PlanAnswer:
    """Return the rows of a plan.

    When more rows have to be looked up than estimated, the plan runs again from whole tables;
    reading changes nothing, so that is safe.
    """
    choice = choose_road(plan, snapshot, topology)
    if choice.road is Road.INDEX:
        sparse = SparseReader(snapshot, find_columns_read(plan, snapshot))
        try:
            found = _execute(plan, sparse, terms, choice, Road.INDEX)
        except TooManyLookups:
            pass
        else:
            topology.note_cost(choice.missing, (choice.lookups or 0) * LOOKUP_ROWS)
            return found
    topology.clear_cost(choice.missing)
    return _execute(plan, DenseReader(snapshot, topology), terms, choice, Road.ADJACENCY)


def _execute(
    plan: ReadPlan, reader: Reader, terms: ReadRequest, choice: RoadChoice, road: Road
) -> PlanAnswer:
    execution = Execution(
        reader=reader,
        params=terms.params,
        now=terms.now,
        budget=terms.budget,
        environment=terms.environment,
        cancelled=terms.cancelled,
        stopwatch=Stopwatch() if terms.measures else None,
    )
    table = execute_plan(execution, plan)
    measured = () if execution.stopwatch is None else tuple(execution.stopwatch.measurements)
    return PlanAnswer(table, road, choice, measured)
