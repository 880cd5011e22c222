"""Answer: runs a plan on a snapshot, along the road that costs less."""

from dataclasses import dataclass

import pyarrow as pa

from omnigraph.data.derived.topology import Topology
from omnigraph.query.plan import ReadPlan
from omnigraph.read.dense_reader import DenseReader
from omnigraph.read.execution import PlanRequest
from omnigraph.read.interpreter import execute_plan
from omnigraph.read.profile import Measurement
from omnigraph.read.reader import Reader
from omnigraph.read.road import LOOKUP_ROWS, Road, RoadChoice, choose_road, find_columns_read
from omnigraph.read.sparse_reader import SparseReader, TooManyLookups
from omnigraph.versioning.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The rows of a plan, the road it took, and what its operators cost."""

    table: pa.Table
    road: Road
    choice: RoadChoice
    measurements: tuple[Measurement, ...]


def answer(
    plan: ReadPlan, snapshot: Snapshot, topology: Topology, request: PlanRequest
) -> PlanAnswer:
    """Return the rows of a plan.

    When more rows have to be looked up than estimated, the plan runs again from whole tables;
    reading changes nothing, so that is safe.
    """
    choice = choose_road(plan, snapshot, topology)
    if choice.road is Road.INDEX:
        sparse = SparseReader(snapshot, find_columns_read(plan, snapshot))
        try:
            found = _execute(plan, sparse, request, choice, Road.INDEX)
        except TooManyLookups:
            pass
        else:
            topology.note_cost(choice.missing, (choice.lookups or 0) * LOOKUP_ROWS)
            return found
    topology.clear_cost(choice.missing)
    return _execute(plan, DenseReader(snapshot, topology), request, choice, Road.ADJACENCY)


def _execute(
    plan: ReadPlan, reader: Reader, request: PlanRequest, choice: RoadChoice, road: Road
) -> PlanAnswer:
    execution = request.start(reader)
    table = execute_plan(execution, plan)
    measured = () if execution.stopwatch is None else tuple(execution.stopwatch.measurements)
    return PlanAnswer(table, road, choice, measured)
