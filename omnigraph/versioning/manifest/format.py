"""Format: the format stamp of the manifest, and the steps that bring an old one up to date."""

from collections.abc import Callable

from omnigraph.errors import FormatError
from omnigraph.storage import layout
from omnigraph.storage.failures import CommitRejectedError
from omnigraph.storage.steps import reached
from omnigraph.storage.table import Table
from omnigraph.storage.tables import Tables
from omnigraph.versioning.manifest.records import FORMAT, PRIMARY_KEY, STAMP, stamp_of


def check_format(at: Table) -> None:
    """Raise FormatError when a newer release wrote the manifest."""
    stamp = stamp_of(at)
    if stamp > layout.NEWEST_FORMAT:
        raise FormatError(
            f"the graph has format {stamp}; this release knows up to {layout.NEWEST_FORMAT}",
            hint="upgrade omnigraph first",
        )


def migrate(tables: Tables, at: Table) -> Table:
    """Bring a manifest to the current format, step by step.

    Every step can be repeated: after a crash, the next open for writing does the rest. Two writers
    may do the same step at once; the one that loses finds it done.
    """
    while (stamp := stamp_of(at)) < FORMAT:
        try:
            at = STEPS[stamp](tables, at)
        except CommitRejectedError:
            at = _newest(tables)
    return at


def _mark_primary_key(tables: Tables, at: Table) -> Table:
    """From 1 to 2: mark `object_id` as the primary key, and stamp the manifest.

    Lance refuses to set the mark twice, so a step that was interrupted after it continues there.
    """
    marks = at.schema.field("object_id").metadata or {}
    if PRIMARY_KEY.encode() not in marks:
        at = tables.mark_column(at, "object_id", {PRIMARY_KEY: "true"})
        tables.sync_table(at)
        reached("migration: column marked")
    stamped = tables.set_schema_keys(at, {STAMP: "2"})
    tables.sync_table(stamped)
    reached("migration: stamped")
    return stamped


def _stamp_models(tables: Tables, at: Table) -> Table:
    """From 2 to 3: commits may name the models that filled vector properties; those here do not."""
    stamped = tables.set_schema_keys(at, {STAMP: "3"})
    tables.sync_table(stamped)
    reached("migration: stamped")
    return stamped


STEPS: dict[int, Callable[[Tables, Table], Table]] = {1: _mark_primary_key, 2: _stamp_models}


def _newest(tables: Tables) -> Table:
    found = tables.newest(layout.MANIFEST)
    assert found is not None
    return found
