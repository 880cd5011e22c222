"""Answer: runs a plan on a snapshot, along the road that costs less."""

from dataclasses import dataclass

from omnigraph.data.derived.topology import Topology
from omnigraph.data.result import Result, ResultStream
from omnigraph.query.plan import Project, ReadPlan
from omnigraph.read.dense_reader import DenseReader
from omnigraph.read.execution import PlanRequest
from omnigraph.read.interpreter import collect_table, execute_plan
from omnigraph.read.profile import Measurement
from omnigraph.read.reader import Reader
from omnigraph.read.road import LOOKUP_ROWS, Road, RoadChoice, choose_road, find_columns_read
from omnigraph.read.sparse_reader import SparseReader, TooManyLookups
from omnigraph.versioning.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The rows of a plan, the road it took, and what its operators cost."""

    rows: ResultStream
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
    rows = execute_plan(execution, plan)
    if not request.streams or road is Road.INDEX:  # a look-up can still ask for the other road
        last = [each for each in plan.operators[-1:] if isinstance(each, Project)]
        rows = Result(plan.name, collect_table(execution, rows, last)).to_stream()
    measured = () if execution.stopwatch is None else tuple(execution.stopwatch.measurements)
    return PlanAnswer(rows, road, choice, measured)
