"""Writing: the handlers of requests that change something."""

import io
from collections.abc import Callable
from dataclasses import replace
from typing import IO

from omnigraph.api import wire
from omnigraph.api.branch import Branch
from omnigraph.errors import (
    BranchExistsError,
    BranchNotFoundError,
    InputError,
    Json,
    TagExistsError,
    TagNotFoundError,
)
from omnigraph.maintain.cleanup import GRACE
from omnigraph.merge.runs import RunRecord, RunStatus
from omnigraph.merge.threeway import Resolutions, Side
from omnigraph.server.bodies import Choices
from omnigraph.server.call import Answer, Call, json_answer
from omnigraph.spark import session
from omnigraph.spark.choice import SPARK_FROM_BYTES
from omnigraph.versioning.names import MAIN
from omnigraph.write.load.options import BulkHow, LoadHow


def change(call: Call) -> Answer:
    """Run a mutation as one commit of a branch."""
    asked = call.body
    if asked.snapshot is not None:
        raise InputError("a snapshot never changes", hint="name a branch")
    branch = _branch(call, asked.branch or MAIN, asked.expect)
    with call.turns.of(branch.name):
        receipt = branch.mutate(asked.query_source, asked.query_name, **(asked.params or {}))
    found = wire.with_commits(receipt.to_json(), receipt.commit)
    return json_answer(_told(call, branch.name, found))


def ingest(call: Call) -> Answer:
    """Load rows into a branch, which is made with them when it is not there."""
    asked = call.query if call.body is None else call.body
    lines = _lines(call)
    ingested = call.graph.ingest(
        lines, branch=asked.branch or MAIN, base=asked.base or MAIN, **_how(call, lines)
    )
    name = asked.branch or MAIN
    return json_answer(_told(call, name, wire.ingested_json(ingested, call.graph_name)))


def load(call: Call) -> Answer:
    """Load rows into a branch that is there."""
    asked = call.query if call.body is None else call.body
    lines = _lines(call)
    loaded = call.graph.load(lines, branch=asked.branch or MAIN, **_how(call, lines))
    name = asked.branch or MAIN
    return json_answer(_told(call, name, wire.loaded_json(loaded, call.graph_name)))


def create_branch(call: Call) -> Answer:
    """Make a branch."""
    asked = call.body
    base = asked.base or MAIN
    with call.settling(BranchExistsError):
        call.graph.create_branch(asked.name, base)
    return json_answer(
        {"uri": call.graph_name, "from": base, "name": asked.name, "actor_id": call.actor}
    )


def delete_branch(call: Call) -> Answer:
    """Remove a branch."""
    name = call.path["branch"]
    with call.settling(BranchNotFoundError):
        call.graph.delete_branch(name)
    return json_answer({"uri": call.graph_name, "name": name})


def rename_branch(call: Call) -> Answer:
    """Give a branch another name."""
    with call.settling(BranchNotFoundError):
        call.graph.rename_branch(call.body.name, call.body.new_name)
    return json_answer({"uri": call.graph_name, "name": call.body.new_name})


def merge(call: Call) -> Answer:
    """Merge a branch or commit into a branch, or tell what that would do."""
    asked = call.body
    resolutions = _resolutions(asked)
    bulk: BulkHow = {
        "engine": _engine(),
        "seconds": call.limits.write_seconds,
        "cancelled": call.cancelled,
    }
    if asked.preview:
        found = call.graph.preview_merge(
            asked.source, asked.target, resolutions=resolutions, strict=asked.strict, **bulk
        )
        return json_answer(wire.merge_json(found))
    target = _branch(call, asked.target)
    done = target.merge(asked.source, resolutions=resolutions, strict=asked.strict, **bulk)
    return json_answer(wire.merge_json(done, shows_target=call.may_read(target.name)))


def revert(call: Call) -> Answer:
    """Undo what a commit did, as a new commit."""
    asked = call.body
    done = _branch(call, asked.branch).revert(asked.commit, resolutions=_resolutions(asked))
    commit = None if done.commit is None else done.commit.id
    merged: Json = wire.merge_json(done, shows_target=call.may_read(asked.branch))
    return json_answer(
        {"branch": asked.branch, "reverted": asked.commit, "commit": commit, "merge": merged}
    )


def apply_schema(call: Call) -> Answer:
    """Give a branch another schema, with everything that follows, as one commit."""
    asked = call.body
    applied = _branch(call, asked.branch, asked.expect).apply_schema(asked.schema_source)
    return json_answer({"uri": call.graph_name, **wire.applied_json(applied)})


def optimize(call: Call) -> Answer:
    """Write a branch anew in few large files, all indexed; no content changes."""
    asked = call.body
    done = call.graph.optimize(
        asked.branch, indexes_only=asked.indexes_only, actor=call.actor, engine=_engine()
    )
    return json_answer(wire.with_commits(done.to_json(call.graph_name), done.commit))


def cleanup(call: Call) -> Answer:
    """Remove what only old commits need, or tell what that would be."""
    asked = call.body
    done = call.graph.cleanup(
        keep=asked.keep,
        older_than=asked.older_than,
        grace=GRACE if asked.grace is None else asked.grace,
        confirm=asked.confirm,
    )
    return json_answer(done.to_json(call.graph_name))


def create_tag(call: Call) -> Answer:
    """Give a name to a commit."""
    name = call.body.name
    commit = None
    with call.settling(TagExistsError):
        commit = call.graph.create_tag(name, call.body.target)
    return json_answer({"name": name, "commit": commit or call.graph.snapshot(name).commit.id})


def delete_tag(call: Call) -> Answer:
    """Take a name away."""
    with call.settling(TagNotFoundError):
        call.graph.delete_tag(call.path["tag"])
    return json_answer({"name": call.path["tag"]})


def begin_run(call: Call) -> Answer:
    """Begin a run; with a key, one that lives and was begun with it is given again."""
    asked = call.body
    own = None if call.operation is None else call.operation.name_for(call.actor)
    record = call.graph.begin_run(
        asked.target_branch, operation_hash=asked.operation_hash or own, actor=call.actor
    )
    return json_answer(record.to_json())


def publish_run(call: Call) -> Answer:
    """Merge what a run wrote into its target."""
    asked = call.body
    return _ended(
        call,
        RunStatus.PUBLISHED,
        lambda run_id: call.graph.publish_run(
            run_id,
            actor=call.actor,
            message=None if asked is None else asked.message,
            resolutions=None if asked is None else _resolutions(asked),
        ),
    )


def abort_run(call: Call) -> Answer:
    """Give a run up."""
    return _ended(call, RunStatus.ABORTED, call.graph.abort_run)


def fail_run(call: Call) -> Answer:
    """Note that a run failed."""
    return _ended(call, RunStatus.FAILED, call.graph.fail_run)


def _ended(call: Call, status: RunStatus, end: Callable[[str], RunRecord]) -> Answer:
    """End a run; a repetition finds it ended so."""
    run_id = call.path["run_id"]
    if call.operation is not None and call.operation.repeats:
        found = call.graph.run(run_id)
        if found.status is status:
            return json_answer(found.to_json())
    return json_answer(end(run_id).to_json())


def _told(call: Call, branch: str, done: dict[str, Json]) -> dict[str, Json]:
    """Give what a change of a branch did to somebody who may not read it: no number of rows.

    How many rows a condition finds, and how many there are before and after, tells what they hold.
    """
    if call.may_read(branch):
        return done
    hidden: dict[str, Json] = {"commits": {}}
    hidden |= {name: None for name in ("affected_nodes", "affected_edges") if name in done}
    loaded = done.get("loaded")
    if isinstance(loaded, dict):
        hidden["loaded"] = {**loaded, "commits": {}}
    return {**done, **hidden}


def _branch(call: Call, name: str, expect: str | None = None) -> Branch:
    """Give a branch to change as the request says."""
    return call.graph.branch(
        name,
        actor=call.actor,
        message=call.body.message,
        expect=expect,
        operation_id=call.key,
        budget=call.budget,
        cancelled=call.cancelled,
    )


def _engine(size: int | None = None) -> str:
    """Give who runs work over so many bytes: Spark when it is warm and they are many.

    Nobody waits until it has started.
    """
    is_worth_it = size is None or size > SPARK_FROM_BYTES
    return "auto" if is_worth_it and session.is_running() else "inline"


def _how(call: Call, lines: IO[bytes]) -> LoadHow:
    """Give how rows are loaded that a client sent."""
    asked = call.query if call.body is None else call.body
    return {
        "mode": asked.mode,
        "message": asked.message,
        "dry_run": asked.dry_run,
        "actor": call.actor,
        "operation_id": call.key,
        "engine": _engine(_size(lines)),
        "seconds": call.limits.write_seconds,
        "cancelled": call.cancelled,
    }


def _lines(call: Call) -> IO[bytes]:
    """Give the rows as a stream: a text of a client must never be taken for the name of a file."""
    return io.BytesIO(call.body.data.encode()) if call.stream is None else call.stream


def _size(lines: IO[bytes]) -> int:
    """Give the size of a stream that stands at its begin."""
    size = lines.seek(0, io.SEEK_END)
    lines.seek(0)
    return size


def _resolutions(asked: Choices) -> Resolutions:
    default = None if asked.take is None else Side(asked.take)
    try:
        found = Resolutions.chosen(asked.resolutions or (), default)
        types = {name: Side(side) for name, side in (asked.types or {}).items()}
        return replace(found, types=types)
    except (KeyError, ValueError):
        hint = "send the conflicts of a preview, with `take` set to ours or theirs"
        raise InputError("the resolutions cannot be read", hint=hint) from None
