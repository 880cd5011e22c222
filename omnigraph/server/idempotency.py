"""Idempotency: answers to writes that carried a key, kept beside the graph for a repeat."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta

import msgspec

from omnigraph.errors import InputError, OmniGraphError, OutcomeUnknownError, StorageError
from omnigraph.server.call import Answer, KeyedRequest, WholeAnswer
from omnigraph.storage import layout
from omnigraph.versioning.repository import Repository

_PERIOD_SECONDS = layout.OPERATIONS_AGE // 2 // timedelta(seconds=1)
_BEGUN = "begun"
_ANSWERED = "answered"


class Note(msgspec.Struct, frozen=True):
    """What is known of a key: the digest of what was asked, and the answer once there was one.

    `id` is what a key begins with, for what is made under it.
    """

    request: str
    answer: str | None = None
    id: str | None = None


class AnswerLog:
    """The notes of one graph. A key is known for at least a week, and for less than two."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._busy: set[str] = set()
        self._free = threading.Condition()

    def answered(
        self, actor: str | None, keyed: KeyedRequest, run: Callable[[KeyedRequest], Answer]
    ) -> Answer:
        """Return the answer of a key that was given before, or run and keep what comes of it.

        Of what fails nothing is kept, so that it can be tried again. What was begun and never
        answered, because the server died or the store did not tell, is run as a repetition; so is
        what another server is doing at this moment.
        """
        name = keyed.name_for(actor)
        with self._alone(name):
            note, is_new = self._read(name, _ANSWERED), False
            if note is None:
                note, is_new = self._begin(name, keyed.request)
            if note.request != keyed.request:
                raise InputError(
                    "the Idempotency-Key was given to another request",
                    hint="give each request a key of its own",
                )
            if note.answer is not None:
                return WholeAnswer(note.answer.encode())
            return self._ran(name, replace(keyed, repeats=not is_new, id=note.id), run)

    def sweep(self) -> None:
        """Forget the keys that are too old."""
        objects = self._repository.store.objects
        oldest = min(_periods())
        for path in objects.names(layout.OPERATIONS):
            period = path.partition("/")[0]
            if period.isdecimal() and int(period) < oldest:
                objects.delete(f"{layout.OPERATIONS}/{path}")

    def _begin(self, name: str, request: str) -> tuple[Note, bool]:
        """Return what a key was begun with, and whether this begins it; of two servers one does."""
        own = Note(request, id=self._repository.clock.ulid())
        while (found := self._read(name, _BEGUN)) is None:
            path = _path(_periods()[0], name, _BEGUN)
            if self._repository.store.objects.create(path, msgspec.json.encode(own)):
                self._repository.tables.sync([path])
                return own, True
        return found, False

    def _ran(self, name: str, keyed: KeyedRequest, run: Callable[[KeyedRequest], Answer]) -> Answer:
        try:
            answer = run(keyed)
        except OutcomeUnknownError:
            raise
        except OmniGraphError:
            if not keyed.repeats:  # else what began before this may have been done
                self._forget(name)
            raise
        assert isinstance(answer, WholeAnswer)
        # It is done, so that a note that cannot be written must not make it a failure.
        with suppress(OmniGraphError):
            self._keep(name, Note(keyed.request, answer.body.decode()))
        return answer

    def _forget(self, name: str) -> None:
        with suppress(OmniGraphError):
            for period in _periods():
                self._repository.store.objects.delete(_path(period, name, _BEGUN))

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        """Wait until no other request of this server has the same key."""
        with self._free:
            self._free.wait_for(lambda: name not in self._busy)
            self._busy.add(name)
        try:
            yield
        finally:
            with self._free:
                self._busy.discard(name)
                self._free.notify_all()

    def _read(self, name: str, kind: str) -> Note | None:
        for period in _periods():
            data = self._repository.store.objects.read(_path(period, name, kind))
            if data is not None:
                return _note(data)
        return None

    def _keep(self, name: str, note: Note) -> None:
        path = _path(_periods()[0], name, _ANSWERED)
        self._repository.store.objects.write(path, msgspec.json.encode(note))
        self._repository.tables.sync([path])


def _note(data: bytes) -> Note:
    """Return what a file says of a key; raise StorageError for one that is damaged.

    Whether the request was done is not known then, so it must not be done again.
    """
    try:
        return msgspec.json.decode(data, type=Note)
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise StorageError("what is known of an Idempotency-Key cannot be read") from None


def _periods() -> tuple[int, int]:
    """Return the numbers of this period and of the one before."""
    now = int(time.time()) // _PERIOD_SECONDS
    return now, now - 1


def _path(period: int, name: str, kind: str) -> str:
    return f"{layout.OPERATIONS}/{period}/{name}.{kind}"
