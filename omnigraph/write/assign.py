"""Assign: values of one property for rows by their ids, as one commit."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array
from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, StoredType, find_type
from omnigraph.schema.types import FLOATS, INTEGERS
from omnigraph.syntax.problems import suggest
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent, Proposal, transact
from omnigraph.write.checked import check_draft
from omnigraph.write.counts import RowCounts
from omnigraph.write.draft import Draft
from omnigraph.write.noted import note, noted, receipt
from omnigraph.write.receipt import Receipt
from omnigraph.write.upsert import with_column


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A property, the types that get values of it, and the type of these values.

    `made` returns a table with the columns `type`, `id` and `column`; `asked` is what they stand
    for, for a change that is repeated.
    """

    name: str
    property: str
    types: tuple[str, ...]
    column: str
    kind: pa.DataType
    made: Callable[[], pa.Table]
    asked: Mapping[str, object]


def publish_assignment(repository: Repository, given: Assignment, intent: Intent) -> Receipt:
    """Set a property of rows of a branch, as one commit.

    A row that is not there is left out, one that has its value already stays as it is, and when
    all do there is no commit. Raises InputError for a property that cannot hold the values, and
    ViolationsError with every rule that they break.
    """
    check_assignable(repository.snapshot(intent.branch).catalog, given)
    values = given.made()
    if intent.operation_id is not None:
        told = json.dumps([intent.branch, given.property, given.asked], sort_keys=True)
        intent = replace(intent, request=sha256(told.encode()).hexdigest())

    def propose(snapshot: Snapshot) -> Proposal[RowCounts]:
        check_assignable(snapshot.catalog, given)
        draft = Draft(snapshot)
        for name in given.types:
            _put(draft, name, given, values.filter(pc.equal(values["type"], name)))
        write_set, counts = check_draft(draft)
        if write_set is None:
            return Proposal(None, counts)
        request = note(intent.request, counts.to_json())
        message = f"{given.name} as '{given.property}'"
        return Proposal(replace(write_set, message=message, request=request), counts)

    done = transact(repository, intent, propose)
    counts = done.finding
    if counts is None:
        earlier = noted(intent, done.commit)
        assert earlier is not None
        counts = RowCounts.from_json(earlier)
    return receipt(given.name, counts, intent, done.commit)


def check_assignable(catalog: Catalog, given: Assignment) -> None:
    """Raise InputError for a type that lacks the property, or whose property cannot hold it."""
    for name in given.types:
        stored = find_type(name, catalog)
        found = stored.properties.get(given.property)
        if found is None:
            hint = suggest(given.property, stored.properties)
            raise InputError(f"{name} has no property '{given.property}'", hint=hint)
        if given.property in stored.key:
            raise InputError(f"'{given.property}' is of the key of {name}, which stays")
        wanted = FLOATS if pa.types.is_floating(given.kind) else INTEGERS
        if found.type not in wanted:
            kinds = " or ".join(sorted(map(str, wanted)))
            raise InputError(
                f"'{given.property}' of {name} is {found.type}, and {given.name} is {kinds}",
                hint="declare a property of that type",
            )


def _put(draft: Draft, name: str, given: Assignment, values: pa.Table) -> None:
    """Put the rows of a type into a draft, each with its new value."""
    stored = draft.change(name).stored
    rows = draft.committed(name, to_array(values["id"]))
    places = pc.index_in(to_array(rows["id"]), value_set=to_array(values["id"]))
    fitting = _fitted(stored, given, to_array(values[given.column]).take(places), rows)
    draft.put(name, with_column(rows, given.property, fitting))


def _fitted(stored: StoredType, given: Assignment, values: pa.Array, rows: pa.Table) -> pa.Array:
    kind = rows.schema.field(given.property).type
    try:
        return values.cast(kind, safe=not pa.types.is_floating(kind))
    except pa.ArrowInvalid:
        found = stored.properties[given.property].type
        message = f"a value of {given.name} does not fit '{given.property}', which is {found}"
        raise InputError(message, hint="declare it as I64") from None
