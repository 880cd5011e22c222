"""Writing: the tools that write: change, resolve, load and branches."""

import io
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from omnigraph.errors import Json
from omnigraph.mcp.desk import ToolCall
from omnigraph.mcp.table import Page
from omnigraph.mcp.tool import Arguments, Tool
from omnigraph.mcp.wording import to_line
from omnigraph.policy.actions import Action
from omnigraph.versioning.names import MAIN

if TYPE_CHECKING:
    from omnigraph.write.counts import RowCounts
    from omnigraph.write.receipt import Receipt
    from omnigraph.write.resolved import Resolved

Target = Annotated[str | None, Meta(description="default: your own")]


class ChangeArguments(Arguments, frozen=True, kw_only=True):
    """What `change` takes."""

    query: str
    name: str | None = None
    params: dict[str, Any] | None = None
    branch: Target = None
    message: str | None = None
    expect: Annotated[str | None, Meta(description="commit that the branch must be at")] = None


class ResolveArguments(Arguments, frozen=True, kw_only=True):
    """What `resolve` takes."""

    type: str
    into: Annotated[str, Meta(description="id of the node that stays")]
    duplicate: str
    take: Literal["into", "from"] = "into"
    aliases: Annotated[str | None, Meta(description="[String] property for both ids")] = None
    branch: Target = None
    message: str | None = None


class LoadArguments(Arguments, frozen=True, kw_only=True):
    """What `load` takes."""

    rows: Annotated[
        str,
        Meta(
            description='JSON lines: {"type":T,"data":{…}} or {"edge":E,"from":id,"to":id};'
            " with type, plain objects"
        ),
    ]
    type: str | None = None
    mode: Literal["append", "merge", "replace", "overwrite"] = "append"
    branch: Target = None
    message: str | None = None
    dry_run: bool = False


class CreateArguments(Arguments, frozen=True, kw_only=True):
    """What `branch_create` takes."""

    name: str
    start: Annotated[str | None, Meta(description="branch or commit; default main")] = None


class BranchArguments(Arguments, frozen=True, kw_only=True):
    """What `branch_delete` takes."""

    name: str


class ListArguments(Arguments, frozen=True, kw_only=True):
    """What `branch_list` takes."""

    prefix: str | None = None


def change(call: ToolCall, given: ChangeArguments) -> str:
    """Run a mutation as one commit."""

    def mutate(name: str) -> "Receipt":
        branch = call.branch(name, message=given.message, expect=given.expect)
        return branch.mutate(given.query, given.name, given.params or {})

    branch, receipt = call.write(given.branch, Action.CHANGE, mutate)
    return receipt_text(call, branch, receipt)


def resolve(call: ToolCall, given: ResolveArguments) -> str:
    """Make two nodes one, as one commit."""

    def join(name: str) -> "Resolved":
        return call.branch(name, message=given.message).resolve(
            given.type,
            into=given.into,
            duplicate=given.duplicate,
            take=given.take,
            aliases=given.aliases,
        )

    branch, found = call.write(given.branch, Action.CHANGE, join)
    if not call.may_see(branch):
        return f"done on {to_line(branch)}"
    done = f"{found.repointed} edges repointed, {found.folded} folded"
    commit = None if found.commit is None else found.commit.id
    return f"{done} on {to_line(branch)}; {_committed(commit)}"


def receipt_text(call: ToolCall, branch: str, receipt: "Receipt") -> str:
    """Return what a mutation did; to who may not read the branch, only that it was done."""
    if not call.may_see(branch):
        return f"done on {to_line(branch)}"
    done = _counted(receipt.counts)
    commit = None if receipt.commit is None else receipt.commit.id
    return f"{done} on {to_line(branch)}; {_committed(commit)}"


def load(call: ToolCall, given: LoadArguments) -> str:
    """Load rows as one commit."""

    def put(name: str) -> Any:  # noqa: ANN401 - what a load did
        # A stream: a text of a client must never be taken for the name of a file.
        rows = io.BytesIO(given.rows.encode())
        if given.dry_run and name == call.desk.own:
            # Also while that branch is not there: nothing is made to try the rows.
            return call.graph.ingest(
                rows, branch=name, type=given.type, mode=given.mode, dry_run=True, **call.work
            ).loaded
        return call.branch(name, message=given.message).load(
            rows, type=given.type, mode=given.mode, dry_run=given.dry_run, **call.work
        )

    branch, loaded = call.write(given.branch, Action.CHANGE, put)
    if given.dry_run:
        return (
            f"nothing was written: {sum(loaded.nodes.values())} nodes and"
            f" {sum(loaded.edges.values())} edges fit {to_line(branch)}"
        )
    if not call.may_see(branch):
        return f"done on {to_line(branch)}"
    commit = None if loaded.commit is None else loaded.commit.id
    kinds = ", ".join(
        f"{count:,} {name}" for name, count in {**loaded.nodes, **loaded.edges}.items()
    )
    done = f"{kinds or 'no rows'} ({_counted(loaded.counts)})"
    return f"{done} on {to_line(branch)}; {_committed(commit)}"


def branch_create(call: ToolCall, given: CreateArguments) -> str:
    """Make a branch."""
    start = given.start or MAIN
    call.graph.create_branch(given.name, start)
    return f"made {to_line(given.name)} from {to_line(start)}"


def branch_delete(call: ToolCall, given: BranchArguments) -> str:
    """Remove a branch."""
    call.desk.check_target(given.name, Action.BRANCH_DELETE)
    call.graph.delete_branch(given.name)
    return f"removed {to_line(given.name)}"


def branch_list(call: ToolCall, given: ListArguments) -> str:
    """List the branches."""
    names = [each for each in call.graph.branches() if each.startswith(given.prefix or "")]
    page = Page(["branch"], call.desk.tokens)
    rows: list[list[Json]] = [[each] for each in names]
    page.fill(rows)
    hint = "; name a prefix to see others" if page.left_out else ""
    return page.text("branches", note=f"; yours: {to_line(call.desk.own)}{hint}")


def _counted(counts: "RowCounts | None") -> str:
    return "done" if counts is None else str(counts)


def _committed(commit: str | None) -> str:
    return "nothing to change" if commit is None else f"commit {commit}"


TOOLS = (
    Tool(
        name="change",
        about="Run insert, update, replace or delete statements as one commit.",
        run=change,
        arguments=ChangeArguments,
        needs=Action.CHANGE,
        writes=True,
        destroys=True,
    ),
    Tool(
        name="resolve",
        about="Make two nodes one: edges move, values join.",
        run=resolve,
        arguments=ResolveArguments,
        needs=Action.CHANGE,
        writes=True,
        destroys=True,
    ),
    Tool(
        name="load",
        about="Load many rows as one commit.",
        run=load,
        arguments=LoadArguments,
        needs=Action.CHANGE,
        writes=True,
        destroys=True,
    ),
    Tool(
        name="branch_list",
        about="List the branches.",
        run=branch_list,
        arguments=ListArguments,
    ),
    Tool(
        name="branch_create",
        about="Make a branch.",
        run=branch_create,
        arguments=CreateArguments,
        needs=Action.BRANCH_CREATE,
        writes=True,
        repeats=True,
    ),
    Tool(
        name="branch_delete",
        about="Remove a branch and what only it has.",
        run=branch_delete,
        arguments=BranchArguments,
        needs=Action.BRANCH_DELETE,
        writes=True,
        destroys=True,
        repeats=True,
    ),
)
