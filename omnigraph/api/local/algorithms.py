"""Algorithms: what the shape of a graph at hand says of its nodes, seen or written."""

from functools import partial
from typing import TYPE_CHECKING

from omnigraph.api.access import Access
from omnigraph.api.backend import CallOptions
from omnigraph.api.local.places import Functions, snapshot_of
from omnigraph.api.operation import named_or_main
from omnigraph.api.operations.algorithms import RunAlgorithm, WriteAlgorithm
from omnigraph.errors import InputError
from omnigraph.policy.actions import Action
from omnigraph.telemetry.spans import BRANCH, COMMIT_ID, note
from omnigraph.versioning.notes import check_notes
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent
from omnigraph.write.receipt import Receipt

if TYPE_CHECKING:
    import pyarrow as pa

    from omnigraph.data.result import ResultStream
    from omnigraph.read.algorithms.asked import AlgorithmCall


def run(access: Access, operation: RunAlgorithm, options: CallOptions) -> "ResultStream":
    """Run an algorithm on a snapshot."""
    from omnigraph.data.result import Result
    from omnigraph.read.algorithms.asked import AlgorithmCall

    snapshot = snapshot_of(access, operation.place, options)
    note({COMMIT_ID: snapshot.commit.id, BRANCH: operation.place})
    call = AlgorithmCall.parse(operation.name, operation.settings)
    table = _table(access, call, snapshot, options)
    return Result(call.algorithm.value, table, snapshot.commit.id).to_stream()


def write(access: Access, operation: WriteAlgorithm, options: CallOptions) -> Receipt:
    """Write what an algorithm says of nodes to a property of theirs, as one commit."""
    import pyarrow as pa

    from omnigraph.read.algorithms.asked import Algorithm, AlgorithmCall
    from omnigraph.spark.deadline import deadline_of
    from omnigraph.write.assign import Assignment, publish_assignment

    branch = named_or_main(operation.branch)
    access.check(branch, Action.CHANGE)
    snapshot = snapshot_of(access, named_or_main(operation.snapshot, branch), options)
    call = AlgorithmCall.parse(operation.name, operation.settings)
    if call.algorithm is Algorithm.SIMILARITY:
        raise InputError("similarity is about pairs of nodes, so it cannot be a property of one")
    check_notes(message=operation.message, operation=options.operation_id)
    is_float = call.algorithm in (Algorithm.PAGERANK, Algorithm.BETWEENNESS)
    given = Assignment(
        name=call.algorithm.value,
        property=operation.property,
        types=call.on(snapshot.catalog).shown,
        column=call.column,
        kind=pa.float64() if is_float else pa.int64(),
        made=partial(_table, access, call, snapshot, options),
        asked={**call.to_json(), "commit": snapshot.commit.id},
    )
    intent = Intent(
        branch=branch,
        actor=access.author(options.actor),
        message=operation.message,
        expect=operation.expect,
        operation_id=options.operation_id,
        check=deadline_of("algorithm", None, options.cancelled).check,
    )
    with access.expecting(branch, Action.CHANGE, operation.expect):
        return publish_assignment(access.repository, given, intent)


def _table(
    access: Access, call: "AlgorithmCall", snapshot: Snapshot, options: CallOptions
) -> "pa.Table":
    """Return what an algorithm says of nodes, computed here or on Spark."""
    from omnigraph.read.algorithms.run import run_algorithm
    from omnigraph.read.dense_reader import DenseReader
    from omnigraph.read.execution import Budget
    from omnigraph.spark.deadline import deadline_of

    budget = options.budget or Budget()
    deadline = deadline_of("algorithm", budget.seconds, options.cancelled, budget.bytes)
    if not _goes_to_spark(call, snapshot, options):
        return run_algorithm(call, DenseReader.of(snapshot, access.topology), deadline)
    from omnigraph.read.spark.algorithms import run_on_spark

    if options.budget is None:
        deadline = deadline_of("algorithm", None, options.cancelled)
    return run_on_spark(call, snapshot, deadline, options.spark)


def _goes_to_spark(call: "AlgorithmCall", snapshot: Snapshot, options: CallOptions) -> bool:
    from omnigraph.read.algorithms.asked import runs_on_spark
    from omnigraph.spark.choice import Engine, reads_on_spark

    if options.engine in (None, "inline"):
        return False
    if not runs_on_spark(call):
        if options.engine == "spark":
            raise InputError(f"{call} does not run on Spark", hint="use the engine inline")
        return False
    rows = call.on(snapshot.catalog).count_rows(snapshot)
    return reads_on_spark(Engine(options.engine), rows, lambda: rows, lambda: False)


FUNCTIONS: Functions = {RunAlgorithm: run, WriteAlgorithm: write}
