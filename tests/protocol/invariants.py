"""Invariants: what has to hold in every state of the model."""

from tests.protocol.facts import ancestors, graves, is_cleaned, is_published, is_readable
from tests.protocol.model import MAIN, TAG, Operation, World

SECRET = "b1"


def violation(world: World) -> str | None:
    """Return what is wrong in a state, or None."""
    return (
        world.broken
        or _unreadable(world)
        or _unmarked(world)
        or _done_twice(world)
        or _named_twice(world)
        or next((told for each in sorted(world.promises) if (told := _unkept(each, world))), None)
    )


def _unreadable(world: World) -> str | None:
    """A head, or a commit that is not told as cleaned up, lacks a file."""
    manifest, commits = world.manifest, world.manifest.commits()
    for name, head in manifest.heads().items():
        if not is_readable(commits[head], world.files):
            return f"{name} stands at {head}, which cannot be read"
    for commit in commits.values():
        if is_readable(commit, world.files) or not is_published(commit.id, manifest):
            continue
        if not is_cleaned(commit, manifest):
            return f"commit {commit.id} is not told as cleaned up and cannot be read"
    return None


def _unmarked(world: World) -> str | None:
    """The notes of a cleanup count that was never marked, and so removes nothing."""
    for grave in graves(world.manifest):
        if (grave.cleanup, grave.writer) not in world.marks:
            return f"{grave.version[1]} is told as cleaned up, by a cleanup that was never marked"
    return None


def _done_twice(world: World) -> str | None:
    """Two published commits were made for one operation."""
    made: dict[str, str] = {}
    for each in world.manifest.rows_of(Operation):
        if is_published(each.commit, world.manifest):
            other = made.setdefault(each.id, each.commit)
            if other != each.commit:
                return f"operation {each.id} made the commits {other} and {each.commit}"
    return None


def _named_twice(world: World) -> str | None:
    """A branch and a tag have the same name."""
    heads = world.manifest.heads()
    return next((f"{each} is a branch and a tag" for each in heads if TAG + each in heads), None)


def _unkept(promise: tuple[str, ...], world: World) -> str | None:
    """Return what is wrong with a promise, or None."""
    manifest = world.manifest
    match promise:
        case "commit", commit if not is_published(commit, manifest):
            return f"the acknowledged commit {commit} is gone"
        case "on", branch, commit:
            head = manifest.heads().get(branch)
            if head is not None and commit not in ancestors(head, manifest):
                return f"the acknowledged write {commit} vanished from {branch}"
        case "never", commit if commit in ancestors(manifest.heads()[MAIN], manifest):
            return f"{commit} is on main, though its run was aborted"
        case "allowed", commit if SECRET in ancestors(commit, manifest):
            return f"an actor used {commit}, which it may not read"
        case "answers", commit, request:
            found = manifest.commits()[commit].request
            if found != request:
                return f"request {request} was answered with the commit of {found}"
    return None
