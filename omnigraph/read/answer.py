"""Answer: runs a plan on a snapshot, along the road that costs less."""

import time
from dataclasses import replace
from functools import partial

from omnigraph.data.derived.topology import Topology
from omnigraph.data.result import Result, ResultStream
from omnigraph.frozen import dataclass
from omnigraph.query.plan import Project, ReadPlan
from omnigraph.read.dense_reader import DenseReader
from omnigraph.read.execution import PlanRequest, check_time
from omnigraph.read.interpreter import collect_table, execute_plan
from omnigraph.read.planner.planner import arrange_plan, expect_rows
from omnigraph.read.profile import Measurement
from omnigraph.read.reader import Reader
from omnigraph.read.road import LOOKUP_ROWS, Road, RoadChoice, choose_road, find_columns_read
from omnigraph.read.sparse_reader import SparseReader, TooManyLookups
from omnigraph.telemetry.spans import COMMIT_ID, Kind, is_watched, span
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
    if not is_watched():
        return _answered(plan, snapshot, topology, request)
    with span(Kind.QUERY, plan.name, {COMMIT_ID: snapshot.commit.id}) as query:
        found = _answered(plan, snapshot, topology, request)
        query.note({"omnigraph.road": str(found.road)})
        return found


def _answered(
    plan: ReadPlan, snapshot: Snapshot, topology: Topology, request: PlanRequest
) -> PlanAnswer:
    started = time.monotonic()
    # The order of many traversals takes a while to find, so it counts as well.
    in_time = partial(check_time, request.budget, started)
    plan = arrange_plan(plan, snapshot, topology, request.params, in_time).plan
    choice = choose_road(plan, snapshot, topology)
    if choice.road is Road.INDEX:
        sparse = SparseReader(snapshot, find_columns_read(plan, snapshot))
        try:
            found = _execute(plan, sparse, request, choice, Road.INDEX, started)
        except TooManyLookups:
            pass
        else:
            topology.note_cost(choice.missing, (choice.lookups or 0) * LOOKUP_ROWS)
            return _with_expected(found, plan, snapshot, topology, request)
    topology.clear_cost(choice.missing)
    dense = DenseReader.of(snapshot, topology)
    found = _execute(plan, dense, request, choice, Road.ADJACENCY, started)
    return _with_expected(found, plan, snapshot, topology, request)


def _with_expected(
    found: PlanAnswer,
    plan: ReadPlan,
    snapshot: Snapshot,
    topology: Topology,
    request: PlanRequest,
) -> PlanAnswer:
    """Return the answer with the rows that were expected beside those that were measured."""
    if not request.measures:
        return found
    rows = expect_rows(plan, snapshot, topology, request.params)
    expected = {id(each): count for each, count in zip(plan.operators, rows, strict=True)}
    measured = (
        replace(each, expected=expected[id(each.operators[-1])]) for each in found.measurements
    )
    return replace(found, measurements=tuple(measured))


def _execute(
    plan: ReadPlan,
    reader: Reader,
    request: PlanRequest,
    choice: RoadChoice,
    road: Road,
    started: float,
) -> PlanAnswer:
    execution = request.start(reader, started)
    rows = execute_plan(execution, plan)
    if not request.streams or road is Road.INDEX:  # a look-up can still ask for the other road
        last = [each for each in plan.operators[-1:] if isinstance(each, Project)]
        rows = Result(plan.name, collect_table(execution, rows, last), rows.commit).to_stream()
    measured = () if execution.stopwatch is None else tuple(execution.stopwatch.measurements)
    return PlanAnswer(rows, road, choice, measured)
