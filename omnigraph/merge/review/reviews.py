"""Reviews: what was said about a branch, kept beside the graph and never in its history.

Each event is an object of its own that never changes, so that many may write at once. The objects
of a branch go with it when it is renamed or deleted.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from omnigraph.errors import InputError, OmniGraphError, OutcomeUnknownError, StorageError
from omnigraph.merge.review.record import (
    COMMENT,
    Review,
    ReviewedEntity,
    ReviewEvent,
    ReviewState,
    review_of,
)
from omnigraph.storage import layout
from omnigraph.syntax.names import fold, normalize_name
from omnigraph.versioning.notes import check_notes
from omnigraph.versioning.once import write_once
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.ulid import time_of
from omnigraph.versioning.unknown_outcome import unknown_outcome

MOST_EVENTS = 10_000
_LOOK = "look at the review before saying it again"


def find_review(repository: Repository, branch: str) -> Review | None:
    """Return the review of a branch; None when nobody said anything about it."""
    folder = _folder(branch)
    paths = [f"{folder}/{name}" for name in sorted(repository.store.objects.names(folder))]
    events = (_read(repository, path) for path in paths)
    return review_of(normalize_name(branch), tuple(each for each in events if each is not None))


def review_states(repository: Repository, branches: Iterable[str]) -> dict[str, ReviewState]:
    """Return the states of the reviews of some branches, from the names of the objects alone."""
    last: dict[str, str] = {}
    for name in sorted(repository.store.objects.names(layout.REVIEWS)):
        folder, _, event = name.partition("/")
        kind = event.removesuffix(".json").partition("-")[2]
        if kind != COMMENT or folder not in last:
            last[folder] = ReviewState.OPEN if kind == COMMENT else kind
    names = {each: last.get(_digest(each)) for each in branches}
    return {name: ReviewState(state) for name, state in names.items() if state is not None}


def add_event(
    repository: Repository,
    branch: str,
    *,
    into: str,
    head: str,
    actor: str | None,
    message: str | None,
    state: ReviewState | None = None,
    entity: ReviewedEntity | None = None,
    commit: str | None = None,
    new_id: str | None = None,
) -> ReviewEvent:
    """Record a comment, or a state with what was said about it.

    An event with the id `new_id` that is there already is returned as it is.
    """
    repository.check_writable()
    check_notes(actor=actor, message=message)
    folder = _folder(branch)
    if new_id is not None and (said := find_event(repository, branch, new_id)) is not None:
        return said
    if len(repository.store.objects.names(folder)) >= MOST_EVENTS:
        raise InputError(f"the review of '{branch}' has {MOST_EVENTS:,} events already")
    event = ReviewEvent(
        id=new_id or repository.clock.ulid(),
        at=repository.clock.time() if new_id is None else time_of(new_id),
        actor_id=actor,
        state=state,
        message=message,
        into=into,
        head=head,
        entity=entity,
        commit=commit,
    )
    path = f"{folder}/{event.id}-{state or COMMENT}.json"
    is_new = write_once(repository.tables, path, json.dumps(event.to_json()).encode(), _LOOK)
    return event if is_new else _read(repository, path) or event


def find_event(repository: Repository, branch: str, event_id: str) -> ReviewEvent | None:
    """Return what was said about a branch under an id; None when nothing was."""
    folder = _folder(branch)
    names = repository.store.objects.names(folder)
    name = next((each for each in names if each.startswith(f"{event_id}-")), None)
    return None if name is None else _read(repository, f"{folder}/{name}")


def left_over(repository: Repository, branch: str) -> list[str]:
    """Return the objects of a branch of this name, which may be one that is gone."""
    folder = _folder(branch)
    return [f"{folder}/{name}" for name in repository.store.objects.names(folder)]


def drop(repository: Repository, paths: Iterable[str]) -> None:
    """Remove objects of reviews."""
    found = list(paths)
    if found:
        repository.store.objects.delete_many(found)


@contextmanager
def renaming(repository: Repository, branch: str, new_name: str) -> Iterator[None]:
    """Let a branch take its review along while the block renames it.

    The review is copied before, so that the branch never stands without it, and removed under
    the old name afterwards, or under the new one when the block fails.
    """
    wanted = normalize_name(new_name)
    # Listed before it is known that nobody has the name, so that it is of no branch made since.
    left = left_over(repository, wanted)
    at = repository.manifest.newest()
    is_same = fold(normalize_name(branch)) == fold(wanted)
    if is_same or repository.manifest.twin(wanted, at) is not None:
        yield  # a name that is taken is refused, and its review stays as it is
        return
    drop(repository, left)
    old = left_over(repository, branch)
    new = [f"{_folder(wanted)}/{path.rpartition('/')[2]}" for path in old]
    for source, target in zip(old, new, strict=True):
        data = repository.store.objects.read(source)
        if data is not None:
            repository.store.objects.write(target, data)
    repository.tables.sync(new)
    try:
        yield
    except OutcomeUnknownError:
        raise
    except OmniGraphError:
        # A branch that is made under the new name gets none of it; the failure of the block counts.
        with suppress(OmniGraphError):
            drop(repository, new)
        raise
    told = f"'{branch}' was renamed, but its review is left under the old name as well"
    with unknown_outcome(told, "delete the branch of the old name if somebody makes one"):
        drop(repository, old)


def _read(repository: Repository, path: str) -> ReviewEvent | None:
    data = repository.store.objects.read(path)
    if data is None:
        return None  # the branch was renamed or deleted meanwhile
    try:
        return ReviewEvent.from_json(json.loads(data))
    except (ValueError, TypeError, KeyError, RecursionError) as failed:
        hint = "remove this file; the other events of the review stay"
        raise StorageError(f"the event of a review, {path}, cannot be read", hint=hint) from failed


def _digest(branch: str) -> str:
    return hashlib.sha256(fold(normalize_name(branch)).encode()).hexdigest()


def _folder(branch: str) -> str:
    return f"{layout.REVIEWS}/{_digest(branch)}"
