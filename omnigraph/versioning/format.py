"""Format: the stamp of the ledger's shape, and the steps that bring an old one forward."""

from collections.abc import Callable

from omnigraph.errors import FormatError, FormatUnreadableError
from omnigraph.storage import layout
from omnigraph.storage.failures import Rejected
from omnigraph.storage.steps import reached
from omnigraph.storage.table import Table, Tables
from omnigraph.versioning.manifest import FORMAT, PRIMARY_KEY, STAMP

_MOST_DIGITS = 9
_SHOWN = 40


def stamp_of(ledger: Table) -> int:
    """Give the format of a ledger; one without a stamp has the first.

    Raises FormatUnreadableError when the stamp is no format.
    """
    stored: bytes = (ledger.schema.metadata or {}).get(STAMP.encode(), b"1")
    if not stored.isdigit() or len(stored) > _MOST_DIGITS or not int(stored):
        shown = stored[:_SHOWN].decode(errors="replace")
        raise FormatUnreadableError(
            f"the graph says '{shown}' where the number of its format should be",
            hint="its ledger was damaged, or written by something else; restore a backup",
        )
    return int(stored)


def check_format(ledger: Table) -> None:
    """Raise FormatError when a newer release wrote the ledger."""
    stamp = stamp_of(ledger)
    if stamp > FORMAT:
        raise FormatError(
            f"the graph has format {stamp}; this release knows up to {FORMAT}",
            hint="upgrade omnigraph first",
        )


def migrate(tables: Tables, ledger: Table) -> Table:
    """Bring a ledger to the present format, one step after the other.

    Every step can be repeated: after a crash in the middle, the next open for writing does the
    rest. Two writers may do the same step at once; the one that loses finds it done.
    """
    while (stamp := stamp_of(ledger)) < FORMAT:
        try:
            ledger = STEPS[stamp](tables, ledger)
        except Rejected:
            ledger = _newest(tables)
    return ledger


def _mark_primary_key(tables: Tables, ledger: Table) -> Table:
    """From 1 to 2: `object_id` carries the mark of a primary key, and the ledger its stamp.

    Lance refuses to set the mark twice, so a step that was cut behind it goes on from there.
    """
    marks = ledger.schema.field("object_id").metadata or {}
    if PRIMARY_KEY.encode() not in marks:
        ledger = tables.mark_column(ledger, "object_id", {PRIMARY_KEY: "true"})
        tables.sync_table(ledger)
        reached("migration: column marked")
    stamped = tables.set_schema_keys(ledger, {STAMP: "2"})
    tables.sync_table(stamped)
    reached("migration: stamped")
    return stamped


STEPS: dict[int, Callable[[Tables, Table], Table]] = {1: _mark_primary_key}


def _newest(tables: Tables) -> Table:
    found = tables.newest(layout.MANIFEST)
    assert found is not None
    return found
