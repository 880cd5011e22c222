"""Invariants: what has to hold in every state of the model."""

from tests.protocol.facts import ancestors, graves, is_cleaned, is_published, is_readable
from tests.protocol.model import MAIN, Operation, World

SECRET = "b1"


def violation(world: World) -> str | None:
    """Return what is wrong in a state, or None."""
    return (
        world.broken
        or _unreadable(world)
        or _unmarked(world)
        or _done_twice(world)
        or next((told for each in sorted(world.promises) if (told := _unkept(each, world))), None)
    )


def _unreadable(world: World) -> str | None:
    """A head, or a commit that is not told as cleaned up, lacks a file."""
    ledger, commits = world.ledger, world.ledger.commits()
    for name, head in ledger.heads().items():
        if not is_readable(commits[head], world.files):
            return f"{name} stands at {head}, which cannot be read"
    for commit in commits.values():
        if is_readable(commit, world.files) or not is_published(commit.id, ledger):
            continue
        if not is_cleaned(commit, ledger):
            return f"commit {commit.id} is not told as cleaned up and cannot be read"
    return None


def _unmarked(world: World) -> str | None:
    """The notes of a cleanup count that was never marked, and so removes nothing."""
    for grave in graves(world.ledger):
        if grave.cleanup not in world.marks:
            return f"{grave.version[1]} is told as cleaned up, by a cleanup that was never marked"
    return None


def _done_twice(world: World) -> str | None:
    """Two published commits were made for one operation."""
    made: dict[str, str] = {}
    for each in world.ledger.rows_of(Operation):
        if is_published(each.commit, world.ledger):
            other = made.setdefault(each.id, each.commit)
            if other != each.commit:
                return f"operation {each.id} made the commits {other} and {each.commit}"
    return None


def _unkept(promise: tuple[str, ...], world: World) -> str | None:
    """Return what is wrong with a promise, or None."""
    ledger = world.ledger
    match promise:
        case "commit", commit if not is_published(commit, ledger):
            return f"the acknowledged commit {commit} is gone"
        case "on", branch, commit:
            head = ledger.heads().get(branch)
            if head is not None and commit not in ancestors(head, ledger):
                return f"the acknowledged write {commit} vanished from {branch}"
        case "never", commit if commit in ancestors(ledger.heads()[MAIN], ledger):
            return f"{commit} is on main, though its run was aborted"
        case "allowed", commit if SECRET in ancestors(commit, ledger):
            return f"an actor used {commit}, which it may not read"
        case "answers", commit, request:
            found = ledger.commits()[commit].request
            if found != request:
                return f"request {request} was answered with the commit of {found}"
    return None
