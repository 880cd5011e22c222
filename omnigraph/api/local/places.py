"""Places: which snapshot an operation reads, and what the policy says to that."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from omnigraph.api.access import Access
from omnigraph.api.backend import CallOptions
from omnigraph.api.operation import Operation
from omnigraph.policy.actions import Action
from omnigraph.versioning.snapshot import Snapshot

# What runs each operation of a family.
Functions: TypeAlias = Mapping[type[Operation[Any]], Callable[[Access, Any, CallOptions], Any]]


def snapshot_of(
    access: Access, place: str, options: CallOptions, action: Action = Action.READ
) -> Snapshot:
    """Return the snapshot that is pinned, or else that of a place, if the actor may do this."""
    if options.pinned is None:
        return access.pin(place, action)
    access.repository.check_open()
    access.check_place(options.pinned.commit.id, action)
    return options.pinned
