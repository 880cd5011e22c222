"""Install: the entry for the configuration file of a client."""

import shutil
import sys
from pathlib import Path

import click

from omnigraph.cli.commands.mcp.options import ACTOR, BRANCH, READ_ONLY
from omnigraph.cli.session import json_option


@click.command()
@click.option("--client", "client_name", required=True, metavar="NAME", help="Which client.")
@click.option(
    "--name",
    metavar="NAME",
    default="omnigraph",
    show_default=True,
    help="What the client calls the graph.",
)
@click.option("--yes", is_flag=True, help="Write the entry; without it, only show it.")
@click.option("--replace", "replaces", is_flag=True, help="Also over another entry of that name.")
@READ_ONLY
@ACTOR
@BRANCH
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
        "shown": f"add --yes to write this to {plan.path}",
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
