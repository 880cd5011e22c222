"""The family `cluster`: many graphs as one deployment: declared, planned, applied, rolled back."""

import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph.cli import completing
from omnigraph.cli.output import (
    Document,
    counted,
    show_either,
)
from omnigraph.cli.session import json_option
from omnigraph.errors import OmniGraphError
from omnigraph.frozen import dataclass

if TYPE_CHECKING:
    from omnigraph.deploy.apply import Applied
    from omnigraph.deploy.declaration import Declaration
    from omnigraph.deploy.definition import Definition
    from omnigraph.deploy.ledger import Entry
    from omnigraph.deploy.plan import DeploymentPlan

_SIGNS = {"create": "+", "change": "~", "delete": "-"}
_SHOWN_DIGITS = 12
_HERE = "."
_COMMAND = re.compile(r"\bomnigraph cluster \w+")
_OF_REVISION = click.option(
    "--revision", metavar="REVISION", help="Plan a rollback to this revision, not the files."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentSession:
    """The folder of a deployment, who acts, and how the command answers."""

    folder: Path
    actor: str | None
    as_json: bool

    def declaration(self) -> "Declaration":
        """Return what the folder declares; raise DeclarationError with all its problems."""
        from omnigraph.deploy.declaration import read_declaration

        found = read_declaration(self.folder)
        for note in found.notes:
            click.echo(f"note: {note}", err=True)
        return found

    def show(self, document: Document, *lines: str) -> None:
        """Print a document with `--json`, and lines for people otherwise."""
        show_either(document, lines, as_json=self.as_json)


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Add what every command of the family takes."""

    @wraps(command)
    def with_session(folder: str, actor: str | None, as_json: bool, **rest: object) -> None:
        session = DeploymentSession(folder=Path(folder), actor=actor, as_json=as_json)
        with _commands_of(folder):
            command(session, **rest)

    found: Callable[..., None] = with_session
    for option in (
        json_option,
        click.option("--as", "actor", metavar="ACTOR", help="Who does it."),
        click.option(
            "--config",
            "folder",
            metavar="DIR",
            default=_HERE,
            shell_complete=completing.folders,
            help="The folder with cluster.yaml.  [default: this folder]",
        ),
    ):
        found = option(found)
    return found


@contextmanager
def _commands_of(folder: str) -> Iterator[None]:
    """Let the commands that a hint names be about the same folder."""
    try:
        yield
    except OmniGraphError as error:
        if error.hint is not None and folder != _HERE:
            named = f" --config {shlex.quote(folder)}"
            error.hint = _COMMAND.sub(lambda found: found[0] + named, error.hint)
        raise


@click.group()
def cluster() -> None:
    """Declare, plan and apply a deployment of many graphs."""


@cluster.command()
@_options
def validate(session: DeploymentSession) -> None:
    """Read and check every file of a deployment; all problems are reported at once."""
    found = session.declaration()
    definition = found.definition
    counts = {
        "graphs": len(definition.graphs),
        "queries": sum(len(each.queries) for each in definition.graphs.values()),
        "policies": len(definition.policies),
        "providers": len(definition.providers),
    }
    shown = ", ".join(
        counted(count, noun)
        for noun, count in zip(
            ("graph", "query", "policy", "provider"), counts.values(), strict=True
        )
    )
    document: Document = {"valid": True, "name": definition.name, **counts, "notes": [*found.notes]}
    session.show(document, f"{definition.name} is valid: {shown}")


@cluster.command()
@_OF_REVISION
@_options
def plan(session: DeploymentSession, revision: str | None) -> None:
    """Show what apply would do, with its cost, and what drifted; nothing is written."""
    from omnigraph.deploy.ledger import Ledger
    from omnigraph.deploy.plan import make_plan

    storage, definition = _wanted(session, revision)
    made = make_plan(Ledger.at(storage), storage, definition)
    session.show(made.to_json(), *_plan_lines(made))


@cluster.command()
@_options
def apply(session: DeploymentSession) -> None:
    """Make the graphs, schemas, queries and policies what the files declare.

    They serve once all of them are in place. Anything that cannot be done stops it before it
    begins.
    """
    from omnigraph.deploy.apply import apply as apply_definition

    declared = session.declaration()
    done = apply_definition(declared.storage, declared.definition, actor=session.actor)
    session.show(done.to_json(), *_done_lines(done))


@cluster.command()
@_options
def status(session: DeploymentSession) -> None:
    """Show which revision serves, how its graphs are, and what drifted."""
    from omnigraph.deploy.ledger import Ledger
    from omnigraph.deploy.plan import make_plan

    declared = session.declaration()
    ledger = Ledger.at(declared.storage)
    entry = ledger.serving()
    serving = make_plan(ledger, declared.storage, ledger.definition(entry.revision))
    wanted = make_plan(ledger, declared.storage, declared.definition)
    graphs: list[Document] = [
        {"graph": each.name, "head": each.head, "problem": each.problem}
        for each in serving.live.values()
    ]
    document: Document = {
        **entry.to_json(),
        "name": declared.definition.name,
        "storage": declared.storage,
        "graphs": graphs,
        "drift": [*serving.drift],
        "pending": len(wanted.changes),
    }
    states = (f"graph.{each['graph']}: {_state(each)}" for each in graphs)
    drift = (f"drift: {each}" for each in serving.drift)
    pending = f"{counted(len(wanted.changes), 'change')} to apply"
    session.show(document, _entry_line(entry), *states, *drift, pending)


@cluster.command()
@_options
def log(session: DeploymentSession) -> None:
    """List the revisions that served, newest first."""
    from omnigraph.deploy.ledger import Ledger

    entries = Ledger.at(session.declaration().storage).entries()
    lines = [_entry_line(each) for each in entries] or ["no revision was applied"]
    session.show({"revisions": [each.to_json() for each in entries]}, *lines)


@cluster.command()
@click.argument("revision", metavar="REVISION")
@_options
def rollback(session: DeploymentSession, revision: str) -> None:
    """Let the definitions of an earlier revision serve again, as a new one.

    REVISION is a number or the start of a digest, as log shows them. Data is not rolled back.
    """
    from omnigraph.deploy.apply import apply as apply_definition
    from omnigraph.deploy.ledger import Ledger

    storage = session.declaration().storage
    ledger = Ledger.at(storage)
    earlier = ledger.find(revision)
    definition = ledger.definition(earlier.revision)
    done = apply_definition(storage, definition, actor=session.actor, earlier=earlier)
    session.show(done.to_json(), *_done_lines(done))


@cluster.command()
@click.argument("resource", metavar="RESOURCE")
@click.option("--plan", "digest", metavar="DIGEST", required=True, help="The plan that was seen.")
@_OF_REVISION
@_options
def approve(session: DeploymentSession, resource: str, digest: str, revision: str | None) -> None:
    """Approve that apply deletes RESOURCE, such as graph.x, or drops something of schema.x.

    With --revision, that a rollback to it does. It holds for the plan that was seen. Whatever
    moves afterwards makes the approval void.
    """
    from omnigraph.deploy.apply import approve as approve_plan

    storage, definition = _wanted(session, revision)
    approve_plan(storage, definition, resource, digest, actor=session.actor)
    document: Document = {"resource": resource, "plan": digest, "actor": session.actor}
    session.show(document, f"approved: {resource} in plan {digest}")


def _wanted(session: DeploymentSession, revision: str | None) -> "tuple[str, Definition]":
    """Return the storage, and what is to serve there: what the files declare, or a revision did."""
    from omnigraph.deploy.ledger import Ledger

    declared = session.declaration()
    if revision is None:
        return declared.storage, declared.definition
    ledger = Ledger.at(declared.storage)
    return declared.storage, ledger.definition(ledger.find(revision).revision)


def _done_lines(done: "Applied") -> list[str]:
    serves = f"revision {done.entry.number} serves"
    if not done.is_new:
        return [f"nothing to do; {serves}"]
    kept = [f"kept graph.{name}: it was written to meanwhile" for name in done.kept]
    return [*_change_lines(done.plan), *kept, serves]


def _change_lines(plan: "DeploymentPlan") -> list[str]:
    lines: list[str] = []
    for change in plan.changes:
        lines.append(f"{_SIGNS[change.action]} {change.resource}")
        lines += [f"    {each}" for each in change.detail]
    return lines


def _plan_lines(plan: "DeploymentPlan") -> list[str]:
    if plan.is_empty and not plan.drift:
        return ["nothing to do"]
    return [
        *(f"drift: {each}" for each in plan.drift),
        *_change_lines(plan),
        *(f"cannot be applied: {each}" for each in plan.blocked),
        f"plan {plan.digest}",
    ]


def _entry_line(entry: "Entry") -> str:
    who = "" if entry.actor is None else f" by {entry.actor}"
    return f"{entry.number}  {entry.revision[:_SHOWN_DIGITS]}  {entry.at}  {entry.kind}{who}"


def _state(graph: Document) -> str:
    if graph["problem"] is not None:
        return f"cannot be read: {graph['problem']}"
    return "is not there" if graph["head"] is None else f"main at {graph['head']}"
