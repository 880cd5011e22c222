"""Faults: breaks chosen calls into Lance, the object store and the disk, before or after them."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Literal, TypeAlias

import lance
import obstore
import pytest
from lance import LanceDataset, LanceOperation
from lance.dataset import MergeInsertBuilder, Transaction
from lance.fragment import LanceFragment

from omnigraph.errors import ConflictError, OutcomeUnknownError, StorageError
from omnigraph.storage import layout, table
from omnigraph.storage.near import workbench

When: TypeAlias = Literal["before", "after"]
Plan: TypeAlias = Callable[["Call"], When | None]
Outcome: TypeAlias = Literal["done", "failed", "unknown"]

_CALLS: tuple[tuple[Any, str], ...] = (
    (LanceDataset, "commit"),
    (LanceDataset, "to_table"),
    (LanceDataset, "count_rows"),
    (LanceDataset, "create_scalar_index"),
    (LanceDataset, "create_index_uncommitted"),
    (LanceDataset, "merge_existing_index_segments"),
    (LanceFragment, "to_table"),
    (MergeInsertBuilder, "execute_uncommitted"),
    (lance, "dataset"),
    (lance, "write_dataset"),
    (table, "write_fragments"),
    (workbench, "write_fragments"),
    (obstore, "put"),
    (obstore, "get"),
    (obstore, "delete"),
    (os, "fsync"),
)


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its place among all calls, what was called, and what it would write.

    `keys` are those of a table that it sets or removes, `path` is the object that it puts. In a
    bucket that is the put of a manifest, which was made on this machine before.
    """

    number: int
    name: str
    keys: tuple[str, ...] = ()
    path: str = ""

    @property
    def flips(self) -> tuple[str, ...]:
        """The keys of heads that it would flip."""
        return tuple(key for key in self.keys if key.startswith("branch/"))

    def decides(self, what: str) -> bool:
        """Tell whether it sets a key, or puts an object whose path ends so."""
        return what in self.keys or self.path.endswith(what)


@dataclass
class Faults:
    """Every call goes through here; the plan says which of them break, and when.

    `done` is told of every call that did its work.
    """

    plan: Plan = lambda _: None
    done: Callable[[Call], None] = lambda _: None
    words: str = "injected"
    seen: list[Call] = field(default_factory=list)
    _made: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def broken(self, plan: Plan, words: str = "injected") -> Iterator[list[Call]]:
        """Break calls by a plan while the block runs; gives the calls made in it."""
        self.seen, self.plan, self.words = [], plan, words
        try:
            yield self.seen
        finally:
            self.plan = _healthy

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Put this in front of every call that storage makes."""
        for owner, name in _CALLS:
            original = getattr(owner, name)
            label = f"{getattr(owner, '__name__', owner)}.{name}"
            wrapped = self._wrapped(original, label)
            is_static = isinstance(vars(owner).get(name), staticmethod)
            patch.setattr(owner, name, staticmethod(wrapped) if is_static else wrapped)

    def _wrapped(self, original: Callable[..., Any], label: str) -> Callable[..., Any]:
        @wraps(original)
        def call(*given: Any, **named: Any) -> Any:
            keys, is_near = _keys([*given, *named.values()]), _is_near(given)
            with self._lock:
                path = given[1] if label == "obstore.put" else ""
                keys = self._made.get(path.rpartition("/")[2], keys) if path else keys
                noted = Call(len(self.seen), label, () if is_near else keys, path)
                self.seen.append(noted)
                when = self.plan(noted)
            if when == "before":
                raise OSError(f"{self.words} before {label}")
            result = original(*given, **named)
            if is_near and isinstance(result, LanceDataset):
                self._made[layout.manifest_name(result.version)] = keys
            self.done(noted)
            if when == "after":
                raise OSError(f"{self.words} after {label}")
            return result

        return call


def at(number: int, when: When) -> Plan:
    """Break one call by its number."""
    return lambda call: when if call.number == number else None


def flip(when: When) -> Plan:
    """Break every call that flips the head of a branch."""
    return lambda call: when if call.flips else None


def once(plan: Plan) -> Plan:
    """Break only the first call that a plan breaks."""
    done = False

    def first(call: Call) -> When | None:
        nonlocal done
        when = None if done else plan(call)
        done = done or when is not None
        return when

    return first


def flip_and_all_later(when: When) -> Plan:
    """Break the first flip, and then everything."""
    down = False

    def plan(call: Call) -> When | None:
        nonlocal down
        if down:
            return "before"
        down = bool(call.flips)
        return when if down else None

    return plan


def outcome(change: Callable[[], object]) -> Outcome:
    """Return what the caller was told about a change."""
    try:
        change()
    except (StorageError, ConflictError):
        return "failed"
    except OutcomeUnknownError:
        return "unknown"
    return "done"


def _is_near(given: tuple[Any, ...]) -> bool:
    """Whether a call is about a table that is made on this machine for a bucket."""
    return bool(given) and "/omnigraph-near-" in str(getattr(given[0], "uri", ""))


def _healthy(_: Call) -> None:
    return None


def _keys(given: list[Any]) -> tuple[str, ...]:
    """Return the keys of a table that a commit sets or removes."""
    every = [each.operation if isinstance(each, Transaction) else each for each in given]
    changes = [each for each in every if isinstance(each, LanceOperation.UpdateConfig)]
    maps = [each.table_metadata_updates for each in changes if each.table_metadata_updates]
    return tuple(key for each in maps for key in (each.updates or {}))
