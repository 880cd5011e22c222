"""Once: makes what is made once, and denies nothing that was made when the store fails."""

from collections.abc import Callable

from omnigraph.errors import OutcomeUnknownError, StorageError
from omnigraph.storage.store import Store
from omnigraph.storage.tables import Tables
from omnigraph.versioning.unknown_outcome import unknown_outcome


def make_new(
    store: Store, make: Callable[[], bool], is_made: Callable[[], bool], doing: str, hint: str
) -> bool:
    """Return whether `make` made something that was not there; no error denies what was made.

    Where the store fails, `is_made` tells whether it was made all the same.
    """
    try:
        return make()
    except StorageError as failed:
        unsure = f"the store failed while {doing}: {failed.message}"
        with unknown_outcome(unsure, hint):
            if is_made():
                return True
        if store.is_local:
            raise
        # The request may still be under way.
        raise OutcomeUnknownError(unsure, hint=hint) from failed


def write_once(tables: Tables, path: str, data: bytes, hint: str) -> bool:
    """Write an object of a graph that never changes; return False if there is one already."""
    objects = tables.store.objects
    is_new = make_new(
        tables.store,
        lambda: objects.create(path, data),
        lambda: objects.read(path) == data,
        f"writing {path}",
        hint,
    )
    with unknown_outcome(f"{path} is written but could not be flushed", hint):
        tables.sync([path])
    return is_new
