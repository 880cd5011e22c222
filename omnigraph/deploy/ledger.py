"""Ledger: the revisions of a deployment in its storage, and which one serves.

    <storage>/__cluster/texts/{sha256}           every text of a query, schema or policy
    <storage>/__cluster/revisions/{sha256}.json  every definition that was applied
    <storage>/__cluster/serving/{number}.json    which of them served, the newest number now
    <storage>/__cluster/approvals/{plan}/…       who approved of what in which plan

Nothing is ever changed. The one flip is to create the next number: of two who try, one wins.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import msgspec

from omnigraph.deploy.definition import Definition
from omnigraph.deploy.revision import Revision, canonical, decode, digest_of
from omnigraph.errors import (
    DeploymentMovedError,
    Json,
    RevisionNotFoundError,
    StorageError,
)
from omnigraph.frozen import dataclass
from omnigraph.storage.durable import sync
from omnigraph.storage.failures import report_as
from omnigraph.storage.steps import reached
from omnigraph.storage.store import Store, store_at
from omnigraph.versioning.once import make_new
from omnigraph.versioning.unknown_outcome import unknown_outcome

ROOT = "__cluster"
_SHORTEST = 4
_LOOK = "omnigraph cluster log tells what serves; look before applying again"
_NUMBERED = re.compile(r"([0-9]{1,18})\.json")


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One turn of what serves: its number, the revision, who made it serve, when and by what.

    `removed` are the graphs that were deleted with it, with what stands for all heads of each.
    """

    number: int
    revision: str
    kind: str
    actor: str | None
    at: str
    id: str
    removed: Mapping[str, str | None] = {}

    def to_json(self) -> dict[str, Json]:
        """Return the entry as JSON."""
        found = {name: each for name, each in msgspec.structs.asdict(self).items() if name != "id"}
        return {**found, "removed": sorted(self.removed)}


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a deployment was and is, in its storage."""

    store: Store

    @classmethod
    def at(cls, storage: str) -> "Ledger":
        """Return the ledger of a storage: a folder or a bucket."""
        return cls(store_at(storage))

    def current(self) -> Entry | None:
        """Return the entry that serves; None before the first apply."""
        names = self.store.objects.names(f"{ROOT}/serving")
        numbers = [int(found[1]) for name in names if (found := _NUMBERED.fullmatch(name))]
        return self._entry(max(numbers)) if numbers else None

    def serving(self) -> Entry:
        """Return the entry that serves; raise RevisionNotFoundError before the first apply."""
        found = self.current()
        if found is None:
            message = f"no deployment was applied to {self.store.root}"
            raise RevisionNotFoundError(message, hint="run omnigraph cluster apply first")
        return found

    def newer(self, entry: Entry) -> Entry:
        """Return the entry that serves now, by one small read if it is still the same."""
        while (found := self._entry(entry.number + 1)) is not None:
            entry = found
        return entry

    def entries(self) -> list[Entry]:
        """Return all entries, newest first."""
        newest = self.current()
        count = 0 if newest is None else newest.number
        found = (self._entry(number) for number in range(count, 0, -1))
        return [each for each in found if each is not None]

    def find(self, word: str) -> Entry:
        """Return the newest entry of a number, or of a revision by the start of its digest."""
        for entry in self.entries():
            is_start = len(word) >= _SHORTEST and entry.revision.startswith(word)
            if word == str(entry.number) or is_start:
                return entry
        hint = "omnigraph cluster log lists numbers and revisions"
        raise RevisionNotFoundError(f"no revision '{word}'", hint=hint)

    def definition(self, revision: str) -> Definition:
        """Return what a revision defines; every text is checked against its digest."""
        return decode(self._content(f"{ROOT}/revisions/{revision}.json", revision), self._text)

    def document(self, revision: str) -> bytes:
        """Return the document of a revision."""
        return self._content(f"{ROOT}/revisions/{revision}.json", revision)

    def text(self, digest: str) -> str:
        """Return a recorded text by its digest."""
        return self._text(digest).decode()

    def record(self, revision: Revision) -> None:
        """Write a revision and its texts; nobody sees it before it is published."""
        for digest, text in revision.texts.items():
            self._create(f"{ROOT}/texts/{digest}", text)
        reached("cluster texts")
        self._create(f"{ROOT}/revisions/{revision.digest}.json", revision.document)
        reached("cluster revision")

    def publish(
        self,
        base: Entry | None,
        revision: str,
        *,
        kind: str,
        actor: str | None,
        removed: Mapping[str, str | None],
    ) -> Entry:
        """Let a revision serve, if `base` still does; raise DeploymentMovedError otherwise."""
        entry = Entry(
            number=1 if base is None else base.number + 1,
            revision=revision,
            kind=kind,
            actor=actor,
            at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            id=uuid4().hex,
            removed=removed,
        )
        if not self._flip(entry):
            message = f"revision {entry.number} was published by somebody else meanwhile"
            raise DeploymentMovedError(message, hint="plan again; nothing was published")
        reached("cluster published")
        return entry

    def approve(self, plan: str, resource: str, actor: str | None) -> None:
        """Note that somebody approves of what a plan does to a resource."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        note: Json = {"resource": resource, "plan": plan, "actor": actor, "at": at}
        path = f"{ROOT}/approvals/{plan}/{resource}.json"
        what = f"noting the approval of {resource}"
        self._noted(path, canonical(note), what, lambda: self.is_approved(plan, resource))
        noted = f"the approval of {resource} is noted but could not be flushed"
        with unknown_outcome(noted, "approve again if the machine loses power now"):
            self._flush(path)

    def is_approved(self, plan: str, resource: str) -> bool:
        """Return whether somebody approved of what a plan does to a resource."""
        found = self.store.objects.read(f"{ROOT}/approvals/{plan}/{resource}.json")
        return found is not None

    def _text(self, digest: str) -> bytes:
        return self._content(f"{ROOT}/texts/{digest}", digest)

    def _content(self, path: str, digest: str) -> bytes:
        data = self.store.objects.read(path)
        if data is None or digest_of(data) != digest:
            what = "is missing" if data is None else "does not have the content of its name"
            raise StorageError(f"{path} {what}", hint="apply the deployment again")
        return data

    def _entry(self, number: int) -> Entry | None:
        path = _serving(number)
        data = self.store.objects.read(path)
        if data is None:
            return None
        try:
            return msgspec.json.decode(data, type=Entry)
        except (msgspec.DecodeError, ValueError, RecursionError) as failed:
            raise StorageError(f"{path} cannot be read: {failed}") from None

    def _flip(self, entry: Entry) -> bool:
        """Create an entry; return whether it serves, and no other one of its number."""
        path, number = _serving(entry.number), entry.number
        data, what = canonical(msgspec.structs.asdict(entry)), f"publishing revision {number}"
        if not self._noted(path, data, what, lambda: self._has(entry)):
            # A store may answer "exists" to the retry of a request whose reply was lost.
            with unknown_outcome(f"there is a revision {number}, which cannot be read", _LOOK):
                if not self._has(entry):
                    return False
        visible = f"revision {number} serves but could not be flushed"
        with unknown_outcome(visible, "it is lost if the machine loses power now"):
            self._flush(path)
        return True

    def _noted(self, path: str, data: bytes, what: str, is_there: Callable[[], bool]) -> bool:
        """Create a file; return whether it was, which `is_there` tells when the store does not."""
        store = self.store
        return make_new(store, lambda: store.objects.create(path, data), is_there, what, _LOOK)

    def _has(self, entry: Entry) -> bool:
        found = self._entry(entry.number)
        return found is not None and found.id == entry.id

    def _create(self, path: str, data: bytes) -> None:
        self.store.objects.create(path, data)
        self._flush(path)

    def _flush(self, path: str) -> None:
        if self.store.is_local:
            with report_as(f"cannot flush {path}"):
                sync(Path(self.store.root), [path])


def _serving(number: int) -> str:
    return f"{ROOT}/serving/{number:010d}.json"
