"""Options: the options of the data source, checked, and the graph and commit that they name."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from omnigraph.errors import CommitNotFoundError, InputError
from omnigraph.frozen import dataclass
from omnigraph.storage.store import CLOUDS, Store, store_at
from omnigraph.syntax.problems import list_names, suggest
from omnigraph.versioning.history import history
from omnigraph.versioning.names import MAIN
from omnigraph.versioning.repository import Repository, open_at
from omnigraph.versioning.snapshot import Snapshot

PLACES = ("branch", "snapshot", "time")
_SCHEMES = ("s3", "gs", "az")
_MEANINGS = {"path": "the URI of the graph", "type": "a node or edge type"}


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options that a user gave, by their names in lower case; unknown ones are refused.

    The store is reached as the process that checked them reaches it, from every process: workers
    need not have its variables. A login can be among the options, so they are not shown.
    """

    given: Mapping[str, str] = field(repr=False)
    store: Store

    @staticmethod
    def of(options: Mapping[str, str], known: Sequence[str]) -> "SourceOptions":
        """Check the options against those that what is asked for knows."""
        given = {name.lower(): value for name, value in options.items()}
        for name in given:
            if name not in known and name not in store_options():
                similar = suggest(name, [*known, *store_options()])
                hint = similar or f"the options are {list_names(known)}"
                raise InputError(f"unknown option '{name}'", hint=hint)
        path = _required(given, "path")
        if "://" not in path and not Path(path).is_absolute():
            hint = "Spark's processes run in other folders"
            raise InputError(f"'{path}' is not an absolute path", hint=hint)
        places = [name for name in PLACES if name in given]
        if {"branch", "snapshot"} <= {*places} or {"snapshot", "time"} <= {*places}:
            raise InputError(f"the options '{places[0]}' and '{places[1]}' exclude each other")
        own = {name.upper(): given[name] for name in store_options() if name in given}
        return SourceOptions(given, store_at(path, {**os.environ, **own}))

    def required(self, name: str) -> str:
        """Return an option that has to be there."""
        return _required(self.given, name)

    def get(self, name: str) -> str | None:
        """Return an option that may be missing."""
        return self.given.get(name)

    @property
    def branch(self) -> str:
        """The branch that is read or written."""
        return self.given.get("branch", MAIN)

    def names(self, name: str) -> list[str] | None:
        """Return the names in an option, which commas separate."""
        found = self.given.get(name)
        return None if found is None else [each.strip() for each in found.split(",")]

    def open(self, *, read_only: bool = True) -> Repository:
        """Open the graph."""
        return open_at(self.store, read_only=read_only)

    def pin(self) -> Snapshot:
        """Pin the commit that the options name: by its id, by a time, or as the branch's newest."""
        repository = self.open()
        if "snapshot" in self.given:
            return repository.pin(repository.commit(self.given["snapshot"]))
        if "time" in self.given:
            return _pin_at(repository, self.branch, self.given["time"])
        return repository.snapshot(self.branch)


def _required(given: Mapping[str, str], name: str) -> str:
    found = given.get(name)
    if not found:
        raise InputError(f"the option '{name}' is missing", hint=f"set it to {_MEANINGS[name]}")
    return found


@cache
def store_options() -> tuple[str, ...]:
    """Return the variables of buckets, in lower case: those that a store asks for."""
    unset = _Unset()
    for scheme in _SCHEMES:
        store_at(f"{scheme}://bucket", unset)
    return tuple(name.lower() for name in unset.asked if name.startswith(CLOUDS))


class _Unset(Mapping[str, str]):
    """Variables of which none is set, and the names of those that were asked for."""

    def __init__(self) -> None:
        self.asked: dict[str, None] = {}

    def __getitem__(self, name: str) -> str:
        self.asked[name] = None
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _pin_at(repository: Repository, branch: str, time: str) -> Snapshot:
    """Pin the newest commit that a branch had at a time."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        hint = "write it as 2026-01-31T12:00:00Z"
        raise InputError(f"the option 'time' is not a time: '{time}'", hint=hint) from None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    for commit in history.log(repository, branch):
        if commit.created_at <= aware.timestamp() * 1_000_000:
            return repository.pin(commit)
    raise CommitNotFoundError(f"'{branch}' had no commit at {time}")
