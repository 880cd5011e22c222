"""The family `mcp`: serves a graph to an agent, and tells clients how to start that."""

import shutil
import sys
import threading
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.session import Session, graph_options, json_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.api.graph import Graph
    from omnigraph.mcp.desk import Desk

_READ_ONLY = click.option("--read-only", is_flag=True, help="Only the tools that read.")
_ACTOR = click.option("--actor", "agent", metavar="ACTOR", help="Who the agent is; as --as.")
_BRANCH = click.option(
    "--branch",
    metavar="NAME",
    help="Read and write there.  [default: read main, write agent/ACTOR/RUN]",
)
_ALLOW_MAIN = click.option(
    "--allow-main",
    is_flag=True,
    help="Without a policy, let the agent write to main and merge into it.",
)
_TOKENS = click.option(
    "--tokens",
    type=click.IntRange(200, 100_000),
    default=4_000,
    show_default=True,
    help="How long an answer may be.",
)


class _Door(click.Group):
    """Serves where no command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_named else ["serve", *args])


@click.group(cls=_Door)
def mcp() -> None:
    """Let an agent work on a graph by the Model Context Protocol."""


@mcp.command()
@_READ_ONLY
@_ACTOR
@_BRANCH
@_ALLOW_MAIN
@_TOKENS
@graph_options
def serve(
    session: Session,
    read_only: bool,
    agent: str | None,
    branch: str | None,
    allow_main: bool,
    tokens: int,
) -> None:
    """Serve a graph, or that of a server, on standard input and output.

    `omnigraph mcp GRAPH` does the same. Writes that name no branch go to agent/ACTOR/RUN, which
    the first of them makes.
    """
    from omnigraph.mcp.stdio import check_extra, serve_stdio
    from omnigraph.versioning.ulid import Clock

    check_extra()
    session = _acting(session, agent)
    desk = _desk(
        session,
        is_read_only=read_only,
        home=branch,
        allows_main=allow_main,
        tokens=tokens,
        run=Clock().ulid().lower(),
    )
    serve_stdio(desk)


def _acting(session: Session, agent: str | None) -> Session:
    if agent is None:
        return session
    if session.actor is not None and session.actor != agent:
        raise click.UsageError("--actor and --as name two actors; leave one of them out")
    return replace(session, actor=agent)


def _desk(session: Session, *, run: str, is_read_only: bool, **how: Any) -> "Callable[[], Desk]":  # noqa: ANN401
    """Return what gives the desk; the graph is opened meanwhile, on a thread."""
    from omnigraph.mcp.desk import Desk, own_branch
    from omnigraph.policy.rights import rights_of

    context = click.get_current_context()
    has_stored = session.address.is_remote or session.has_queries
    found: Future[Graph] = Future()

    def opening() -> None:
        try:
            with context.scope(cleanup=False):
                writing = not is_read_only
                found.set_result(session.graph(writing=writing, stored=has_stored))
        except BaseException as failed:
            found.set_exception(failed)

    threading.Thread(target=opening, name="omnigraph-open", daemon=True).start()

    @cache
    def desk() -> Desk:
        if session.address.is_remote or session.policy_file is not None:
            rights = found.result().rights()
        else:
            rights = rights_of(session.acting, None)
        return Desk(
            opened=found.result,
            rights=rights,
            own=own_branch(rights.actor, run),
            is_read_only=is_read_only,
            has_stored=has_stored,
            **how,
        )

    return desk


@mcp.command()
@click.option("--client", "client_name", required=True, metavar="NAME", help="Which client.")
@click.option(
    "--name", default="omnigraph", show_default=True, help="What the client calls the graph."
)
@click.option("--yes", is_flag=True, help="Write the entry; without it, only show it.")
@click.option("--replace", "replaces", is_flag=True, help="Also over another entry of that name.")
@_READ_ONLY
@_ACTOR
@_BRANCH
@click.argument("graph", required=False, metavar="[GRAPH]")
@json_option
def install(
    client_name: str,
    name: str,
    yes: bool,
    replaces: bool,
    read_only: bool,
    agent: str | None,
    branch: str | None,
    graph: str | None,
    as_json: bool,
) -> None:
    """Show the entry for a client's configuration file, and write it with --yes.

    Clients are claude-code, claude-desktop, codex, cursor, gemini, vscode and windsurf. Another
    entry of the same name is never overwritten without --replace.
    """
    from omnigraph.cli.output import show_either
    from omnigraph.mcp.clients import find_client, plan_installation

    flags = [
        *(["--read-only"] if read_only else []),
        *(["--actor", agent] if agent else []),
        *(["--branch", branch] if branch else []),
    ]
    place = [] if graph is None else [_place(graph)]
    client = find_client(client_name)
    plan = plan_installation(
        client, name, [_program(), "mcp", *place, *flags], Path.home(), Path.cwd()
    )
    if yes and not plan.is_there:
        plan.write(replace=replaces)
    done = "written" if yes and not plan.is_there else "there already" if plan.is_there else "shown"
    document = {"client": client.name, "path": str(plan.path), "name": name, "outcome": done}
    more = {
        "shown": f"say --yes to write this to {plan.path}",
        "written": f"written to {plan.path}",
        "there already": f"{plan.path} has it already",
    }
    show_either({**document, "entry": dict(plan.entry)}, [plan.shown, more[done]], as_json=as_json)


def _place(graph: str) -> str:
    """Return the graph as it can be named from any folder."""
    return graph if "://" in graph else str(Path(graph).resolve())


def _program() -> str:
    """Return the command of this installation."""
    own = Path(sys.argv[0])
    if own.stem == "omnigraph" and own.exists():
        return str(own.resolve())
    return shutil.which("omnigraph") or "omnigraph"
