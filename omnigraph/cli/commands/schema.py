"""The commands `schema check`, `plan`, `apply` and `show`: what a graph's types are, and become."""

import json
from collections.abc import Iterator
from pathlib import Path

import click

from omnigraph.cli.output import Document, counted, show_json
from omnigraph.cli.session import (
    Session,
    branch_option,
    graph_options,
    read_schema,
    read_text,
    target_options,
)
from omnigraph.cli.terms import MigrationTerms
from omnigraph.errors import Code, UnreadableError, Violation
from omnigraph.span import Source

_MARKS = {"rename": "~", "extend": "~", "update": "~", "add": "+", "unsupported": "!"}
_BREAKS = {
    "rename_type": "breaks queries and loads that use the old name",
    "rename_property": "breaks queries and loads that use the old name",
    "add_constraint": "breaks loads and changes of rows that do not pass it",
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
@_FILE
@branch_option
@click.option("--out", metavar="FILE", help="Keep the plan, for `schema apply --plan`.")
@graph_options
def plan(session: Session, schema_path: str, branch: str | None, out: str | None) -> None:
    """Show what a schema would change on a branch; nothing is written.

    Exits with 1 when it cannot be applied: a change is not supported, or rows break a new rule.
    """
    found = session.backend().plan_schema(read_schema(schema_path), session.branch(branch))
    can_apply = found["supported"] and not found["violation_count"]
    if out is not None and can_apply:
        _save(out, found)
    session.show(found, *_plan_lines(found))
    if not can_apply:
        click.get_current_context().exit(1)


@schema.command()
@click.option("--schema", "schema_path", metavar="FILE", help="The .pg file; - for stdin.")
@click.option(
    "--plan", "plan_path", metavar="FILE", help="A plan that was kept, instead of a schema."
)
@branch_option
@click.option("--message", metavar="TEXT", help="The message of the commit.")
@graph_options
def apply(
    session: Session,
    schema_path: str | None,
    plan_path: str | None,
    branch: str | None,
    message: str | None,
) -> None:
    """Give a branch another schema, with all that follows for its rows, as one commit.

    What is not supported, and rows that break a new rule, are told in full, and then nothing is
    changed. A plan that was kept is applied only where the branch still stands as it was planned;
    else it exits with 3.
    """
    if (schema_path is None) == (plan_path is None):
        raise click.UsageError("give either --schema or --plan")
    if schema_path is not None:
        source, expect = read_schema(schema_path), None
        branch = session.branch(branch)
    else:
        source, branch, expect = _saved(plan_path or "", branch)
    terms = MigrationTerms(branch=branch, message=message, expect=expect)
    done = session.backend().apply_schema(source, terms)
    session.show(done, *_applied_lines(done))


@schema.command()
@target_options
@graph_options
def show(session: Session, branch: str | None, snapshot: str | None) -> None:
    """Print the schema of a branch, or of a commit or tag."""
    found = session.backend().show_schema(session.to_read(branch, snapshot))
    if session.as_json:
        session.show(found)
    else:
        click.echo(found["schema_source"], nl=False)


def _saved(path: str, branch: str | None) -> tuple[Source, str, str]:
    """Give the schema of a plan that was kept, its branch, and where that has to stand."""
    from omnigraph.evolve.plan import SavedPlan

    kept = SavedPlan.read(read_text(path))
    expect = kept.head_for(kept.branch if branch is None else branch)
    return Source(path, kept.schema_source), kept.branch, expect


def _save(path: str, found: Document) -> None:
    text = json.dumps(found, indent=2, ensure_ascii=False)
    try:
        Path(path).write_text(f"{text}\n", encoding="utf-8")
    except OSError as failed:
        raise UnreadableError(f"cannot write '{path}': {failed.strerror}") from None


def _plan_lines(found: Document) -> Iterator[str]:
    """Give a plan for people: each step with what it means, then all that is in its way."""
    yield f"{found['branch']} at {found['head']}"
    yield from _step_lines(found["steps"])
    yield from _violation_lines(found)
    yield f"Plan: {_summary(found)}; {_verdict(found)}"


def _applied_lines(done: Document) -> Iterator[str]:
    if not done["applied"]:
        yield f"{done['branch']} has this schema already; nothing was written"
        return
    yield from _step_lines(done["steps"])
    yield f"Applied: {_summary(done)}; commit {done['commit']}"


def _step_lines(steps: list[Document]) -> Iterator[str]:
    for step in steps:
        yield f"  {_MARKS[step['kind'].partition('_')[0]]} {step['text']}"
        breaks = _BREAKS.get(step["kind"]) if step["breaking"] else None
        yield f"      {step['effect']}{'' if breaks is None else f'; {breaks}'}"


def _violation_lines(found: Document) -> Iterator[str]:
    shown = [Violation(**{**each, "code": Code(each["code"])}) for each in found["violations"]]
    if shown:
        yield f"Rows in the way: {found['violation_count']:,}"
        yield from (f"  {each.render()}" for each in shown)
    if found["violation_count"] > len(shown):
        yield f"  and {found['violation_count'] - len(shown):,} more"


def _summary(found: Document) -> str:
    breaking = sum(step["breaking"] for step in found["steps"])
    told = f", {breaking} may break queries or loads" if breaking else ""
    return f"{counted(found['step_count'], 'step')}{told}"


def _verdict(found: Document) -> str:
    unsupported = sum(step["kind"] == "unsupported_change" for step in found["steps"])
    if unsupported:
        return f"{unsupported} not supported, so it cannot be applied"
    if found["violation_count"]:
        return "rows are in the way, so it cannot be applied"
    return "nothing is written"
