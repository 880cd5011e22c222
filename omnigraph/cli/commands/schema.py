"""The family `schema`: what a graph's types are, and become."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from omnigraph.cli.layouts import lay_out, layout_options
from omnigraph.cli.output import Document, counted, show_json, write_text
from omnigraph.cli.session import (
    Session,
    branch_option,
    graph_options,
    read_schema,
    read_text,
    target_options,
)
from omnigraph.span import Source

if TYPE_CHECKING:
    from omnigraph.evolve.plan import SchemaApplied, SchemaPlan

_MARKS = {
    "rename": "~",
    "extend": "~",
    "update": "~",
    "add": "+",
    "restore": "+",
    "drop": "-",
    "unsupported": "!",
}
_BREAKS = {
    "rename_type": "breaks queries and loads that use the old name",
    "rename_property": "breaks queries and loads that use the old name",
    "add_constraint": "breaks loads and changes of rows that do not pass it",
    "drop_type": "breaks queries and loads that use it",
    "drop_property": "breaks queries and loads that use it",
    "drop_interface": "breaks queries that find the type by it",
    "drop_constraint": "breaks searches that need it",
}
_FILE = click.option(
    "--schema", "schema_path", metavar="FILE", help="The .pg file; - for stdin.", required=True
)


@click.group()
def schema() -> None:
    """Show, check and change schemas."""


@schema.command()
@_FILE
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, with the IR.")
def check(schema_path: str, as_json: bool) -> None:
    """Compile a schema and print its types and content hash."""
    from omnigraph.schema.codec import catalog_json, content_hash
    from omnigraph.schema.compile import compile_schema

    catalog = compile_schema(read_schema(schema_path))
    if as_json:
        show_json({"schema_hash": content_hash(catalog), "ir": catalog_json(catalog)})
        return
    for node in catalog.nodes.values():
        key = f", key {', '.join(node.key)}" if node.key else ""
        count = counted(len(node.properties), "property")
        click.echo(f"node {node.name}: {count}{key}")
    for edge in catalog.edges.values():
        click.echo(f"edge {edge.name}: {edge.source} -> {edge.target}")
    click.echo(f"schema hash {content_hash(catalog)}")


@schema.command()
@layout_options
def fmt(paths: tuple[str, ...], only_check: bool) -> None:
    """Lay schemas out in one way; only white space changes.

    Files are written in place, and - is read from stdin and printed.
    """
    from omnigraph.schema.parsing.layout import format_schema

    lay_out(paths, read_schema, format_schema, only_check=only_check)


@schema.command()
@_FILE
@branch_option
@click.option("--out", metavar="FILE", help="Keep the plan, for `schema apply --plan`.")
@graph_options
def plan(session: Session, schema_path: str, branch: str | None, out: str | None) -> None:
    """Show what a schema would change on a branch; nothing is written.

    Exits with 1 when it cannot be applied: a change is not supported, or rows break a new rule.
    """
    graph = session.graph()
    planned = graph.plan_schema(read_schema(schema_path), session.branch(branch))
    found = {"uri": graph.uri, **planned.to_json()}
    can_apply = planned.supported and not planned.violation_count
    if out is not None and can_apply:
        _save(out, found)
    session.show(found, *_plan_lines(planned))
    if not can_apply:
        click.get_current_context().exit(1)


@schema.command()
@click.option("--schema", "schema_path", metavar="FILE", help="The .pg file; - for stdin.")
@click.option(
    "--plan", "plan_path", metavar="FILE", help="A plan that was kept, instead of a schema."
)
@branch_option
@click.option("--message", metavar="TEXT", help="The message of the commit.")
@click.option(
    "--allow-data-loss",
    is_flag=True,
    help="Also drop what the schema no longer has; a cleanup removes it for good.",
)
@graph_options
def apply(
    session: Session,
    schema_path: str | None,
    plan_path: str | None,
    branch: str | None,
    message: str | None,
    allow_data_loss: bool,
) -> None:
    """Apply a schema to a branch, with all that follows for its rows, as one commit.

    What is not supported, and rows that break a new rule, are reported in full, and then nothing
    is changed. Dropping something needs --allow-data-loss. A plan that was kept is applied only
    where the branch still stands as it was planned; else it exits with 3.
    """
    if (schema_path is None) == (plan_path is None):
        raise click.UsageError("give either --schema or --plan")
    if schema_path is not None:
        source, expect = read_schema(schema_path), None
        branch = session.branch(branch)
    else:
        source, branch, expect = _saved(plan_path or "", branch)
    graph = session.graph(writing=True)
    target = graph.branch(branch, message=message, expect=expect)
    done = target.apply_schema(source, allow_data_loss=allow_data_loss)
    session.show({"uri": graph.uri, **done.to_json()}, *_applied_lines(done))


@schema.command()
@target_options
@graph_options
def show(session: Session, branch: str | None, snapshot: str | None) -> None:
    """Print the schema of a branch, or of a commit or tag."""
    from omnigraph.api.operations.read import GetSchema

    target, graph = session.to_read(branch, snapshot), session.graph()
    found = graph.backend.document(GetSchema(branch=target.branch, snapshot=target.snapshot))
    if session.as_json:
        about = {name: found[name] for name in ("schema_hash", "schema_source")}
        session.show({"uri": graph.uri, "branch": target.branch, **about})
    else:
        click.echo(found["schema_source"], nl=False)


schema.add_command(show, "get")


def _saved(path: str, branch: str | None) -> tuple[Source, str, str]:
    """Return the schema of a saved plan, its branch, and where that has to stand."""
    from omnigraph.evolve.plan import SavedPlan

    plan = SavedPlan.read(read_text(path))
    expect = plan.head_for(plan.branch if branch is None else branch)
    return Source(path, plan.schema_source), plan.branch, expect


def _save(path: str, found: Document) -> None:
    text = json.dumps(found, indent=2, ensure_ascii=False)
    write_text(path, f"{text}\n")


def _plan_lines(plan: "SchemaPlan") -> Iterator[str]:
    """Yield a plan for people: each step with what it means, then all that is in its way."""
    yield f"{plan.branch} at {plan.head}"
    yield from _step_lines(plan)
    yield from _violation_lines(plan)
    yield f"Plan: {_summary(plan)}; {_verdict(plan)}"


def _applied_lines(done: "SchemaApplied") -> Iterator[str]:
    if done.commit is None:
        yield f"{done.plan.branch} has this schema already; nothing was written"
        return
    yield from _step_lines(done.plan)
    yield f"Applied: {_summary(done.plan)}; commit {done.commit.id}"


def _step_lines(plan: "SchemaPlan") -> Iterator[str]:
    for each in plan.steps:
        kind = str(each.to_json()["kind"])
        yield f"  {_MARKS[kind.partition('_')[0]]} {each.step}"
        breaks = _BREAKS.get(kind) if each.breaking else None
        yield f"      {each.effect}{'' if breaks is None else f'; {breaks}'}"


def _violation_lines(plan: "SchemaPlan") -> Iterator[str]:
    if plan.violations:
        yield f"Rows in the way: {plan.violation_count:,}"
        yield from (f"  {each.render()}" for each in plan.violations)
    if plan.violation_count > len(plan.violations):
        yield f"  and {plan.violation_count - len(plan.violations):,} more"


def _summary(plan: "SchemaPlan") -> str:
    breaking = sum(each.breaking for each in plan.steps)
    risk = f", {breaking} may break queries or loads" if breaking else ""
    return f"{counted(len(plan.steps), 'step')}{risk}"


def _verdict(plan: "SchemaPlan") -> str:
    if plan.unsupported:
        return f"{len(plan.unsupported)} not supported, so it cannot be applied"
    if plan.violation_count:
        return "rows are in the way, so it cannot be applied"
    if plan.drops:
        return f"{len(plan.drops)} to allow with --allow-data-loss; nothing is written"
    return "nothing is written"
