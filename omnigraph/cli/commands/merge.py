"""The commands `diff`, `branch merge` and `revert`: how branches differ, and how they join."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import completing
from omnigraph.cli.output import Document, counted, marked, shortened, write_text
from omnigraph.cli.session import (
    Session,
    branch_option,
    graph_options,
    read_text,
    types_option,
)
from omnigraph.cli.spark import engine_option, spark_options
from omnigraph.errors import (
    BranchNameError,
    BranchNotFoundError,
    HeadMovedError,
    InputError,
    MergeConflictsError,
    conflict_lines,
)
from omnigraph.storage import layout
from omnigraph.versioning.unknown_outcome import unknown_outcome

if TYPE_CHECKING:
    from omnigraph.api.graph import Graph
    from omnigraph.merge.conflict import Resolutions
    from omnigraph.merge.outcome import Merge

_OPS = ("insert", "update", "delete")
_KINDS = ("node", "edge")
_MARKS = {"insert": "+", "update": "~", "delete": "-"}
_CONFLICT = 3
_OF_PREVIEWS = ("only_preview", "write_resolutions")
_MESSAGE = click.option("--message", metavar="TEXT", help="The message of the commit.")
_OURS = click.option("--ours", is_flag=True, help="Take our version where both changed the same.")
_THEIRS = click.option("--theirs", is_flag=True, help="Take their version there.")
_CHOICES = click.option(
    "--resolutions", metavar="FILE", help="A file of conflicts, with `take`, `value` or `into` set."
)


@click.command()
@click.argument("old", metavar="FROM", shell_complete=completing.places)
@click.argument("new", metavar="[TO]", required=False, shell_complete=completing.places)
@types_option
@click.option("--op", "ops", multiple=True, type=click.Choice(_OPS), help="Only this; repeatable.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="Only this kind; repeatable."
)
@click.option("--stat", is_flag=True, help="Only how many rows of each type differ.")
@graph_options
def diff(session: Session, old: str, new: str | None, stat: bool, **which: Any) -> None:  # noqa: ANN401
    """Show what changed from one branch, commit or tag to another.

    FROM TO and FROM..TO compare the two as they stand. FROM...TO shows what TO did since it parted
    from FROM, which is what a merge of TO into FROM would bring.

    A line is `+` for what came, `-` for what went, and `~` for what has other values. What the
    schemas differ in comes first.
    """
    session, places, is_review = _places(session, old, new)
    with _say_places_first(session, new):
        graph = session.graph()
        if is_review:
            found = graph.review(places[1], into=places[0], **which)
        else:
            found = graph.diff(*places, **which)
    about: Document = found.summary()
    if session.as_json:
        session.show({**about, "changes": [] if stat else list(found.documents())})
        return
    for step in about["schema_steps"]:
        click.echo(f"schema: {step['text']}")
    if stat:
        _show_stats(about["stats"])
        return
    for change in found.documents():
        click.echo(marked(_change_line(change)))


def _places(session: Session, old: str, new: str | None) -> tuple[Session, tuple[str, str], bool]:
    """Return the two places of a diff, and whether three dots stand between them.

    No branch, commit or tag has two dots in its name. After places with dots comes the graph.
    """
    for dots in ("...", ".."):
        one, found, other = old.partition(dots)
        if not found:
            continue
        if not (one and other):
            raise click.UsageError(f"name a place on both sides of the dots: FROM{dots}TO")
        if new is not None and session.word is not None:
            raise click.UsageError(f"unexpected argument '{session.word}'")
        return replace(session, word=new or session.word), (one, other), dots == "..."
    if new is None:
        raise click.UsageError("name two places: FROM TO, or FROM...TO for what TO did")
    return session, (old, new), False


@contextmanager
def _say_places_first(session: Session, new: str | None) -> Iterator[None]:
    """Say what comes before the graph, where one stands as the second place."""
    hint = f"two places come before the graph: FROM TO {new}"
    is_graph = session.word is None and new is not None and _is_graph(new)
    try:
        yield
    except (BranchNameError, BranchNotFoundError) as wrong:
        if is_graph:
            wrong.hint = hint
        raise
    except click.UsageError:
        if is_graph and not session.has_graph:
            raise click.UsageError(hint) from None
        raise


def _is_graph(given: str) -> bool:
    return "://" in given or Path(given, layout.MANIFEST).is_dir()


@click.command()
@click.argument("source", shell_complete=completing.branches)
@click.option(
    "--into",
    metavar="NAME",
    shell_complete=completing.branches,
    help="The branch to merge into.  [default: cli.branch, or main]",
)
@click.option("--preview", "only_preview", is_flag=True, help="Show what would happen; no write.")
@click.option("--strict", is_flag=True, help="Let any row that both sides changed be a conflict.")
@_OURS
@_THEIRS
@_CHOICES
@click.option(
    "--write-resolutions", metavar="FILE", help="Write the conflicts of a preview to choose from."
)
@click.option("--delete-branch", is_flag=True, help="Remove SOURCE when it is merged.")
@_MESSAGE
@engine_option
@spark_options
@graph_options
def merge(
    session: Session,
    source: str,
    into: str | None,
    write_resolutions: str | None,
    delete_branch: bool,
    **how: Any,  # noqa: ANN401
) -> None:
    """Merge the branch SOURCE into another.

    Different properties of one row are merged. All conflicts are reported together, and then
    nothing is changed; a preview that finds any ends with exit code 3 as well, and so does a merge
    with --delete-branch of a branch that got another commit meanwhile, which is kept. `omnigraph
    diff main...SOURCE` shows the rows that it would bring.
    """
    from omnigraph.cli.progress import shown_progress

    only_preview = how["only_preview"]
    if write_resolutions is not None and not only_preview:
        raise click.UsageError("--write-resolutions goes with --preview")
    if delete_branch and only_preview:
        raise click.UsageError("--delete-branch does not go with --preview")
    choices = _choices(how["resolutions"])
    resolutions, graph = _resolutions(how, choices), session.graph(writing=not only_preview)
    target = graph.branch(session.branch(into), message=how["message"])
    with shown_progress() as progress, _say_undecided(how["resolutions"], choices):
        work = session.work_options(how, progress)
        merge_or_preview = target.preview_merge if only_preview else target.merge
        done = merge_or_preview(source, resolutions=resolutions, strict=how["strict"], **work)
    found: Document = done.to_json()
    if write_resolutions is not None:
        _write_choices(write_resolutions, choices, found)
    kept = _remove_merged(graph, source, done) if delete_branch else None
    if delete_branch:
        found["branch_deleted"] = kept is None
    if session.as_json:
        session.show(found)
    else:
        _show_merge(found, only_preview)
        if found["merge_conflicts"] and (left := _undecided(how["resolutions"], choices)):
            click.echo(left)
        if write_resolutions is not None:
            about = {**how, "into": into, "resolutions": write_resolutions}
            click.echo(_next_step(session, source, about, found))
        if delete_branch and kept is None:
            click.echo(f"removed branch {source}")
    if kept is not None:
        click.echo(f"kept branch {source}, which moved behind the merge: {kept.message}", err=True)
    if found["merge_conflicts"] or kept is not None:
        click.get_current_context().exit(_CONFLICT)


def _remove_merged(graph: "Graph", source: str, done: "Merge") -> HeadMovedError | None:
    """Remove a branch that stands where it was merged, or else return that it does not.

    No error denies the merge.
    """
    if done.commit is None:
        return _remove_at(graph, source, done.theirs.id)
    told = f"'{source}' was merged by commit {done.commit.id}, but not removed"
    with unknown_outcome(told, "remove it by `omnigraph branch delete`"):
        return _remove_at(graph, source, done.theirs.id)


def _remove_at(graph: "Graph", name: str, commit_id: str) -> HeadMovedError | None:
    """Remove a branch that stands at a commit; return the error of one that does not."""
    try:
        graph.delete_branch(name, expect=commit_id)
    except HeadMovedError as moved:
        return moved
    return None


@click.command()
@click.argument("commit_id")
@branch_option
@_OURS
@_THEIRS
@_CHOICES
@_MESSAGE
@click.option("--preview", "only_preview", is_flag=True, help="Show what would happen; no write.")
@graph_options
def revert(session: Session, commit_id: str, branch: str | None, **how: Any) -> None:  # noqa: ANN401
    """Undo what the commit COMMIT_ID did, as a new commit."""
    choices = _choices(how["resolutions"])
    name, resolutions = session.branch(branch), _resolutions(how, choices)
    graph = session.graph(writing=not how["only_preview"])
    target = graph.branch(name, message=how["message"])
    if how["only_preview"]:
        _show_preview(session, target.preview_revert(commit_id, resolutions=resolutions).to_json())
        return
    with _say_undecided(how["resolutions"], choices):
        done = target.revert(commit_id, resolutions=resolutions)
    commit = None if done.commit is None else done.commit.id
    line = f"reverted {commit_id} by commit {commit}"
    nothing = f"nothing of {commit_id} is left to revert"
    document = {"branch": name, "reverted": commit_id, "commit": commit}
    session.show(document, nothing if commit is None else line)


def _show_preview(session: Session, found: Document) -> None:
    """Show what a revert would do; conflicts exit as those of a merge do."""
    if session.as_json:
        session.show(found)
    else:
        _show_merge(found, only_preview=True)
    if found["merge_conflicts"]:
        click.get_current_context().exit(_CONFLICT)


def _resolutions(how: Mapping[str, Any], choices: Sequence[Document]) -> "Resolutions":
    """Return whose version is taken, as the options say."""
    from omnigraph.merge.conflict import Resolutions, Side

    if how["ours"] and how["theirs"]:
        raise click.UsageError("--ours and --theirs exclude each other")
    side = Side.OURS if how["ours"] else Side.THEIRS if how["theirs"] else None
    return Resolutions.chosen(choices, side)


@contextmanager
def _say_undecided(path: str | None, choices: Sequence[Document]) -> Iterator[None]:
    """Say of a conflict that is left that a file of resolutions does not decide all of them."""
    try:
        yield
    except MergeConflictsError as conflict:
        conflict.hint = _undecided(path, choices) or conflict.hint
        raise


def _undecided(path: str | None, choices: Sequence[Document]) -> str | None:
    """Return how many entries of a file decide something; None when all of them do."""
    decided = sum(_decides(each) for each in choices)
    if path is None or decided == len(choices):
        return None
    return (
        f"{path} decides {decided} of {counted(len(choices), 'conflict')}; "
        "set `take` in each to ours or theirs"
    )


def _decides(choice: Document) -> bool:
    return any(_is_set(choice, key) for key in ("take", "value", "into"))


def _is_set(choice: Document, key: str) -> bool:
    """Whether a choice is made by a key; a value may be null."""
    return key in choice and (key == "value" or choice[key] is not None)


def _next_step(session: Session, source: str, how: Mapping[str, Any], found: Document) -> str:
    """Return what to do with a file of conflicts that was written."""
    path = how["resolutions"]
    if not found["merge_conflicts"]:
        return f"wrote {path}; there is nothing to decide in it"
    words = ["omnigraph", "branch", "merge", source, *session.words, *_again(how)]
    return f"wrote {path}; set `take` in it to ours or theirs, then: {shlex.join(words)}"


def _again(how: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options that a merge has in common with its preview, as far as they were given."""
    for option in click.get_current_context().command.params:
        value = how.get(option.name or "")
        if not isinstance(option, click.Option) or option.name in _OF_PREVIEWS:
            continue
        if value is True:
            yield option.opts[0]
        elif value and value != option.default:
            for each in value if option.multiple else (value,):
                yield from (option.opts[0], each)


def _choices(path: str | None) -> list[Document]:
    """Return the conflicts of a file that a preview wrote; none where no file is given."""
    if path is None:
        return []
    from omnigraph.query.params import parse_json

    try:
        document: Any = parse_json(read_text(path).removeprefix("\ufeff"))
        found: list[Document] = document["merge_conflicts"]
        if isinstance(found, list):
            return found
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    hint = "write one with --preview --write-resolutions"
    raise InputError(f"'{path}' is not a resolutions file written by `--preview`", hint=hint)


def _write_choices(path: str, choices: Sequence[Document], found: Document) -> None:
    """Write the choices that a preview was given, and the conflicts that they leave."""
    decided = [each for each in choices if _decides(each)]
    left = [{**each, "take": None} for each in found["merge_conflicts"]]
    text = json.dumps({"merge_conflicts": [*decided, *left]}, indent=2, ensure_ascii=False)
    write_text(path, f"{text}\n")


def _show_merge(found: Document, only_preview: bool) -> None:
    outcome = found["outcome"].replace("_", " ")
    conflicts = found["merge_conflicts"]
    told = counted(len(conflicts), "conflict") if conflicts else outcome
    would = "would be " if only_preview and not conflicts else ""
    click.echo(f"{found['source']} into {found['target']}: {would}{told}")
    for name, counts in found["stats"].items():
        click.echo(f"  {name}: {_counts(counts)}")
    for conflict in conflicts:
        click.echo("\n".join(conflict_lines(conflict)))
    if found["commit"] is not None:
        click.echo(f"commit {found['commit']}")


def _show_stats(stats: Mapping[str, Mapping[str, int]]) -> None:
    for name, counts in stats.items():
        click.echo(f"{name}: {_counts(counts)}")
    click.echo(counted(sum(sum(counts.values()) for counts in stats.values()), "row"))


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(counted(count, op) for op, count in counts.items() if count)


def _change_line(change: Document) -> str:
    """Return a change as a line for people."""
    what = f"{change['type_name']} {change['id']}"
    if "endpoints" in change:
        ends = change["endpoints"]
        what = f"{ends['src']} -{change['type_name']}-> {ends['dst']}"
    details = [_detail(change, name) for name in change.get("changed", [])]
    if change["op"] == "insert":
        details = [
            f"{name} {shortened(value)}"
            for name, value in change["after"].items()
            if name not in ("id", "from", "to") and value is not None and value != change["id"]
        ]
    return f"{_MARKS[change['op']]} {what}{'  ' if details else ''}{', '.join(details)}"


def _detail(change: Document, name: str) -> str:
    before, after = change["before"], change["after"]
    if name not in after:  # too large to be shown
        return name
    return f"{name} {shortened(before.get(name))} → {shortened(after[name])}"
