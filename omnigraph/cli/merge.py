"""The commands `diff`, `branch merge` and `revert`: how branches differ, and how they join."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.graph import opened
from omnigraph.cli.output import counted, show_json
from omnigraph.errors import InputError, UnreadableError

if TYPE_CHECKING:
    from omnigraph.engine.changes import ChangeSet
    from omnigraph.engine.merge import Merge
    from omnigraph.engine.threeway import Resolutions

_OPS = ("insert", "update", "delete")
_KINDS = ("node", "edge")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_ACTOR = click.option("--as", "actor", metavar="ACTOR", help="Who does it.")
_MESSAGE = click.option("--message", metavar="TEXT", help="The message of the commit.")
_OURS = click.option("--ours", is_flag=True, help="Take our version where both changed the same.")
_THEIRS = click.option("--theirs", is_flag=True, help="Take their version there.")
_CHOICES = click.option(
    "--resolutions", metavar="FILE", help="A file of conflicts, with `take` set to a side."
)


@click.command()
@click.argument("old", metavar="FROM")
@click.argument("new", metavar="TO")
@click.argument("uri")
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Only this type; repeatable.")
@click.option("--op", "ops", multiple=True, type=click.Choice(_OPS), help="Only this; repeatable.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="Only this kind.")
@click.option("--stat", is_flag=True, help="Only how many rows of each type differ.")
@_JSON
def diff(
    old: str,
    new: str,
    uri: str,
    types: tuple[str, ...],
    ops: tuple[str, ...],
    kinds: tuple[str, ...],
    stat: bool,
    as_json: bool,
) -> None:
    """Show what changed from one branch, commit or tag to another.

    A line is `+` for what came, `-` for what went, and `~` for what has other values.
    """
    found = opened(uri).diff(old, new, types=types, ops=ops, kinds=kinds)
    if as_json:
        document = found.to_json()
        show_json({**document, "changes": []} if stat else document)
    elif stat:
        _show_stats(found)
    else:
        for change in found:
            click.echo(str(change))


@click.command()
@click.argument("source")
@click.argument("uri")
@click.option("--into", default="main", show_default=True, help="The branch to merge into.")
@click.option("--preview", "only_preview", is_flag=True, help="Show what would happen; no write.")
@click.option("--strict", is_flag=True, help="Let any row that both sides changed be a conflict.")
@_OURS
@_THEIRS
@_CHOICES
@click.option(
    "--write-resolutions", metavar="FILE", help="Write the conflicts of a preview to choose from."
)
@_ACTOR
@_MESSAGE
@_JSON
def merge(source: str, uri: str, into: str, only_preview: bool, as_json: bool, **how: Any) -> None:  # noqa: ANN401
    """Merge the branch SOURCE into another.

    Different properties of one row are merged. All conflicts are reported together, and then
    nothing is changed.
    """
    resolutions = _resolutions(how["resolutions"], how["ours"], how["theirs"])
    if how["write_resolutions"] is not None and not only_preview:
        raise click.UsageError("--write-resolutions goes with --preview")
    if only_preview:
        found = opened(uri).preview_merge(
            source, into, resolutions=resolutions, strict=how["strict"]
        )
        _write_choices(how["write_resolutions"], found)
    else:
        found = opened(uri, writing=True).merge(
            source,
            into,
            actor=how["actor"],
            message=how["message"],
            resolutions=resolutions,
            strict=how["strict"],
        )
    if as_json:
        show_json(found.to_json())
    else:
        _show_merge(found, only_preview)


@click.command()
@click.argument("commit_id")
@click.argument("uri")
@click.option("--branch", default="main", show_default=True, help="The branch.")
@_OURS
@_THEIRS
@_CHOICES
@_ACTOR
@_MESSAGE
@_JSON
def revert(commit_id: str, uri: str, branch: str, as_json: bool, **how: Any) -> None:  # noqa: ANN401
    """Undo what the commit COMMIT_ID did, as a new commit."""
    done = opened(uri, writing=True).revert(
        commit_id,
        branch,
        actor=how["actor"],
        message=how["message"],
        resolutions=_resolutions(how["resolutions"], how["ours"], how["theirs"]),
    )
    assert done.commit is not None
    if as_json:
        show_json({"branch": branch, "reverted": commit_id, "commit": done.commit.id})
    else:
        click.echo(f"reverted {commit_id} by commit {done.commit.id}")


def _resolutions(path: str | None, ours: bool, theirs: bool) -> "Resolutions":
    from omnigraph.engine.threeway import Resolutions, Side

    if ours and theirs:
        raise click.UsageError("--ours and --theirs exclude each other")
    default = Side.OURS if ours else Side.THEIRS if theirs else None
    if path is None:
        return Resolutions(default)
    try:
        given = json.loads(Path(path).read_text(encoding="utf-8"))
        return Resolutions.chosen(given["merge_conflicts"], default)
    except OSError as failed:
        raise UnreadableError(f"cannot read '{path}': {failed.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        hint = "write one with --preview --write-resolutions"
        raise InputError(f"'{path}' is no file of resolutions", hint=hint) from None


def _write_choices(path: str | None, found: "Merge") -> None:
    if path is None:
        return
    choices = [{**each, "take": None} for each in found.conflicts_json()]
    text = json.dumps({"merge_conflicts": choices}, indent=2, ensure_ascii=False)
    try:
        Path(path).write_text(f"{text}\n", encoding="utf-8")
    except OSError as failed:
        raise UnreadableError(f"cannot write '{path}': {failed.strerror}") from None


def _show_merge(found: "Merge", only_preview: bool) -> None:
    outcome = str(found.outcome).replace("_", " ")
    would = "would be " if only_preview else ""
    click.echo(f"{found.source} into {found.target}: {would}{outcome}")
    for name, counts in found.stats.items():
        shown = ", ".join(f"{count} {op}" for op, count in counts.items() if count)
        click.echo(f"  {name}: {shown}")
    for conflict in found.conflicts:
        named = "" if conflict.property is None else f" ({conflict.property})"
        click.echo(f"  conflict {conflict.kind}: {conflict.message}{named}")
    if found.commit is not None:
        click.echo(f"commit {found.commit.id}")


def _show_stats(found: "ChangeSet") -> None:
    total = 0
    for name, counts in found.stats.items():
        total += sum(counts.values())
        shown = ", ".join(f"{count} {op}" for op, count in counts.items() if count)
        click.echo(f"{name}: {shown}")
    click.echo(counted(total, "row"))
