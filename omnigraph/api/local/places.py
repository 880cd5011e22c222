"""Places: which snapshot an operation reads, and what the policy says to that."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from omnigraph.api.access import Access
from omnigraph.api.backend import CallOptions
from omnigraph.api.operation import Operation
from omnigraph.policy.actions import Action
from omnigraph.versioning.publish import head_moved
from omnigraph.versioning.snapshot import Snapshot

Function: TypeAlias = Callable[[Access, Any, CallOptions], Any]
# What runs each operation of a family.
Functions: TypeAlias = Mapping[type[Operation[Any]], Function]


def snapshot_of(
    access: Access, place: str, options: CallOptions, action: Action = Action.READ
) -> Snapshot:
    """Return the snapshot that is pinned, or else that of a place, if the actor may do this."""
    if options.pinned is None:
        return access.pin(place, action)
    access.repository.check_open()
    access.check_place(options.pinned.commit.id, action)
    return options.pinned


def check_standing(branch: str, head: Snapshot, expect: str | None) -> None:
    """Raise HeadMovedError when a branch does not stand where it is expected to."""
    if expect is not None and head.commit.id != expect:
        raise head_moved(branch, expect, head.commit.id)
