"""Reviewing: the tools that compare, merge, undo and publish."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta
from msgspec.structs import asdict

from omnigraph.errors import Json
from omnigraph.mcp.desk import ToolCall
from omnigraph.mcp.reading import Goes, Place
from omnigraph.mcp.table import Cursor, Page, question_of
from omnigraph.mcp.tool import Arguments, Tool
from omnigraph.mcp.wording import to_line
from omnigraph.mcp.writing import Target
from omnigraph.policy.actions import Action
from omnigraph.schema.values import to_json_value
from omnigraph.versioning.commit import time_text
from omnigraph.versioning.names import MAIN

if TYPE_CHECKING:
    from omnigraph.merge.outcome import Merge
    from omnigraph.merge.run_record import RunRecord

_COMMITS = 20
_Side = Annotated[
    Literal["ours", "theirs"] | None,
    Meta(description="who is right in conflicts; ours is the target"),
]


class DiffArguments(Arguments, frozen=True, kw_only=True):
    """What `diff` takes."""

    new: Annotated[str | None, Meta(description="branch or commit; default yours")] = None
    old: Annotated[str, Meta(description="compared with")] = MAIN
    since_parting: Annotated[bool, Meta(description="only what new did since they parted")] = True
    types: list[str] | None = None
    cursor: Goes = None


class MergeArguments(Arguments, frozen=True, kw_only=True):
    """What `merge` and `merge_preview` take."""

    source: Annotated[str | None, Meta(description="default: your own")] = None
    into: str = MAIN
    take: _Side = None


class MergeNotedArguments(MergeArguments, frozen=True, kw_only=True):
    """What `merge` takes."""

    message: str | None = None


class HistoryArguments(Arguments, frozen=True, kw_only=True):
    """What `history` takes."""

    branch: Place = None
    limit: Annotated[int, Meta(ge=1, le=1_000)] = _COMMITS
    cursor: Goes = None


class BlameArguments(Arguments, frozen=True, kw_only=True):
    """What `blame` takes."""

    type: str
    id: str
    branch: Place = None


class RevertArguments(Arguments, frozen=True, kw_only=True):
    """What `revert` takes."""

    commit: str
    branch: Target = None
    take: _Side = None
    message: str | None = None


class BeginArguments(Arguments, frozen=True, kw_only=True):
    """What `run_begin` takes."""

    into: str = MAIN


class PublishArguments(Arguments, frozen=True, kw_only=True):
    """What `run_publish` takes."""

    run_id: str
    message: str | None = None


class RunArguments(Arguments, frozen=True, kw_only=True):
    """What `run_abort` takes."""

    run_id: str


def diff(call: ToolCall, given: DiffArguments) -> str:
    """Return the rows that differ, as many as fit."""
    question = question_of("diff", asdict(given))
    cursor = Cursor.read(given.cursor, question, commits=2)
    old, new = given.old, given.new or call.desk.to_write(None)
    if cursor is not None:
        old, new = cursor.commits
    if given.since_parting and cursor is None:
        found = call.graph.review(new, old, types=given.types or ())
    else:
        found = call.graph.diff(old, new, types=given.types or ())
    page = Page(["op", "type", "id", "changed"], call.desk.tokens, cursor.offset if cursor else 0)
    for each in found:
        page.add([str(each.op), each.type_name, each.id, _values(each.before, each.after)])
    steps = [str(each) for each in found.schema_steps]
    note = f"; schema: {'; '.join(map(to_line, steps))}" if steps else ""
    return page.text("changes", page.next(question, found.old_commit, found.new_commit), note)


def _values(before: Mapping[str, object] | None, after: Mapping[str, object] | None) -> Json:
    """Return what a change did: the values of a new row, or pairs of those that differ."""
    if before is None or after is None:
        row = after if before is None else before
        return to_json_value({k: v for k, v in (row or {}).items() if v is not None and k != "id"})
    names = [name for name in after if before.get(name) != after[name]]
    return {name: [to_json_value(before.get(name)), to_json_value(after[name])] for name in names}


def merge_preview(call: ToolCall, given: MergeArguments) -> str:
    """Return what a merge would do."""
    source = given.source or call.desk.to_write(None)
    found = call.branch(given.into).preview_merge(source, resolutions=given.take, **call.work)
    return merge_text(call, found, "would be")


def merge(call: ToolCall, given: MergeNotedArguments) -> str:
    """Merge a branch into another as one commit."""
    call.desk.check_target(given.into, Action.BRANCH_MERGE)
    source = given.source or call.desk.to_write(None)
    branch = call.branch(given.into, message=given.message)
    found = branch.merge(source, resolutions=given.take, **call.work)
    if not call.may_see(given.into):
        return f"merged into {to_line(given.into)}"
    return merge_text(call, found, "was")


def merge_text(call: ToolCall, found: "Merge", verb: str) -> str:
    """Return what a merge did or would do, with all conflicts that fit."""
    counts = {
        name: {str(op): count for op, count in each.items() if count}
        for name, each in found.stats.items()
    }
    told = {name: each for name, each in counts.items() if each}
    commit = "" if found.commit is None else f"; commit {found.commit.id}"
    head = (
        f"{found.outcome}: {to_line(found.source)} into {to_line(found.target)};"
        f" {verb} changed: {to_line(to_json_value(told))}{commit}"
    )
    if not found.conflicts:
        return head
    columns = ["kind", "type", "id", "property", "base", "ours", "theirs", "message"]
    page = Page(columns, call.desk.tokens)
    page.fill(
        [
            str(each.kind),
            each.type,
            each.row_id,
            each.property,
            *(to_json_value(side) for side in (each.base, each.ours, each.theirs)),
            each.message,
        ]
        for each in found.conflicts
    )
    return f"{head}\n{page.text('conflicts')}"


def history(call: ToolCall, given: HistoryArguments) -> str:
    """Return the newest commits of a branch."""
    question = question_of("history", asdict(given))
    cursor = Cursor.read(given.cursor, question)
    after = None if cursor is None else cursor.commits[0]
    branch = call.branch(call.desk.to_read(given.branch))
    found = list(branch.log(limit=given.limit + 1, after=after))
    page = Page(["commit", "at", "kind", "actor", "message"], call.desk.tokens)
    page.fill(
        [each.id, time_text(each.created_at), str(each.kind), each.actor, each.message]
        for each in found[: given.limit]
    )
    more = len(found) > page.shown
    last = found[page.shown - 1].id if page.shown else ""
    note = f'; more follow; cursor: "{Cursor(0, question, (last,))}"' if more else ""
    return page.text("commits", note=note)


def blame(call: ToolCall, given: BlameArguments) -> str:
    """Return who gave each property of a row its value."""
    page = Page(["property", "value", "actor", "at", "commit", "message"], call.desk.tokens)
    page.fill(
        [
            each.property,
            to_json_value(each.value),
            each.commit.actor,
            time_text(each.commit.created_at),
            each.commit.id,
            each.commit.message,
        ]
        for each in call.view(given.branch).blame(given.type, given.id)
    )
    return page.text("properties")


def revert(call: ToolCall, given: RevertArguments) -> str:
    """Undo a commit by another one."""

    def undo(name: str) -> "Merge":
        branch = call.branch(name, message=given.message)
        return branch.revert(given.commit, resolutions=given.take, **call.work)

    branch, found = call.write(given.branch, Action.CHANGE, undo)
    if not call.may_see(branch):
        return f"undone on {to_line(branch)}"
    return merge_text(call, found, "was")


def run_begin(call: ToolCall, given: BeginArguments) -> str:
    """Begin a run: what is written to its branch is published at once, or never."""
    return _run_text(call, call.graph.begin_run(given.into))


def run_publish(call: ToolCall, given: PublishArguments) -> str:
    """Merge what a run wrote into its target."""
    if not call.desk.main_is_open:  # else a policy decides, by which the run may not be readable
        target = call.graph.run_record(given.run_id).target_branch
        call.desk.check_target(target, Action.RUN_PUBLISH)
    done = call.graph.publish_run(given.run_id, message=given.message, **call.work)
    return _run_text(call, done)


def run_abort(call: ToolCall, given: RunArguments) -> str:
    """Give up a run; nothing of it is published."""
    return _run_text(call, call.graph.abort_run(given.run_id))


def _run_text(call: ToolCall, run: "RunRecord") -> str:
    published: Any = run.published_snapshot_id if call.may_see(run.target_branch) else None
    commit = "" if published is None else f"; commit {published}"
    into = to_line(run.target_branch)
    return f"run {run.run_id}: {run.status}, branch {to_line(run.run_branch)}, into {into}{commit}"


TOOLS = (
    Tool(
        name="diff",
        about="Rows that a branch or commit has different from another.",
        run=diff,
        arguments=DiffArguments,
    ),
    Tool(
        name="merge_preview",
        about="What a merge would change, with all conflicts.",
        run=merge_preview,
        arguments=MergeArguments,
    ),
    Tool(
        name="merge",
        about="Merge a branch into another as one commit; conflicts change nothing.",
        run=merge,
        arguments=MergeNotedArguments,
        needs=Action.BRANCH_MERGE,
        writes=True,
        destroys=True,
        repeats=True,
    ),
    Tool(
        name="history",
        about="Commits of a branch, newest first.",
        run=history,
        arguments=HistoryArguments,
    ),
    Tool(
        name="blame",
        about="Who set each property of a row, when, and in which commit.",
        run=blame,
        arguments=BlameArguments,
    ),
    Tool(
        name="revert",
        about="Undo a commit by a new one.",
        run=revert,
        arguments=RevertArguments,
        needs=Action.CHANGE,
        writes=True,
        destroys=True,
    ),
    Tool(
        name="run_begin",
        about="Begin a run: a branch aside whose writes are published together.",
        run=run_begin,
        arguments=BeginArguments,
        needs=Action.CHANGE,
        writes=True,
    ),
    Tool(
        name="run_publish",
        about="Publish a run to its target as one merge.",
        run=run_publish,
        arguments=PublishArguments,
        needs=Action.RUN_PUBLISH,
        writes=True,
        destroys=True,
        repeats=True,
    ),
    Tool(
        name="run_abort",
        about="Give up a run and what it wrote.",
        run=run_abort,
        arguments=RunArguments,
        needs=Action.RUN_ABORT,
        writes=True,
        destroys=True,
        repeats=True,
    ),
)
