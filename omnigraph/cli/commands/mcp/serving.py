"""Serving: serves a graph on standard input and output."""

import threading
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.commands.mcp.options import ACTOR, BRANCH, READ_ONLY
from omnigraph.cli.program import ended_by_interrupt
from omnigraph.cli.session import Session, graph_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnigraph.api.graph import Graph
    from omnigraph.mcp.desk import Desk

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


@click.command()
@READ_ONLY
@ACTOR
@BRANCH
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
    with ended_by_interrupt():
        serve_stdio(desk)


def _acting(session: Session, agent: str | None) -> Session:
    if agent is None:
        return session
    if session.actor is not None and session.actor != agent:
        raise click.UsageError("--actor and --as name two actors; leave one of them out")
    return replace(session, actor=agent)


def _desk(session: Session, *, run: str, is_read_only: bool, **how: Any) -> "Callable[[], Desk]":  # noqa: ANN401
    """Return what gives the desk; the graph is opened on a thread, from the first request on."""
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

    def sit_down() -> Desk:
        # Begun with the first request, so that it does not hold up the answer to the handshake.
        if not found.running() and not found.done():
            found.set_running_or_notify_cancel()
            threading.Thread(target=opening, name="omnigraph-open", daemon=True).start()
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
            may_remember=partial(_may_remember, session, how.get("home")),
            **how,
        )

    lock = threading.Lock()
    made: list[Desk] = []

    def desk() -> Desk:
        with lock:
            if not made:
                made.append(sit_down())
        return made[0]

    return desk


def _may_remember(session: Session, home: str | None) -> bool:
    """Return whether a graph may hold a memory, without opening it if its folder says enough.

    To open a graph takes longer than all else before the first list of tools.
    """
    from omnigraph.memory.shape import TYPES
    from omnigraph.storage.layout import SCHEMA_SOURCE

    if session.address.is_remote or home is not None:
        return True
    try:
        text = (Path(session.address.uri) / SCHEMA_SOURCE).read_text()
    except (OSError, UnicodeDecodeError):
        return True  # a bucket, or nothing: who opens the graph is told
    return all(each in text for each in TYPES)
