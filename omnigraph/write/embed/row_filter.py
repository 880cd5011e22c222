"""RowFilter: selects the rows that an offline embed fills, by type and by the value of a field."""

import json
from collections.abc import Collection
from dataclasses import dataclass

from omnigraph.errors import InputError
from omnigraph.syntax.problems import nearest_name
from omnigraph.write.embed.splice import Members


@dataclass(frozen=True, slots=True)
class Select:
    """`Document:lang="de"`: the rows of a type whose field has a value; null is also no field."""

    type: str
    field: str
    value: object

    @staticmethod
    def parsed(text: str) -> "Select":
        """Read `Type:field=value`; the value is JSON when it can be read so, else the text."""
        name, colon, rest = text.partition(":")
        field, equals, value = rest.partition("=")
        if not (colon and equals and name and field):
            raise InputError(f"'{text}' selects nothing", hint="write Type:field=value")
        return Select(name, field, _json(value))

    def matches(self, type_name: str, data: Members) -> bool:
        """Tell whether a row is one of these."""
        if type_name != self.type:
            return False
        found = data.value(self.field)
        return _same(None if found is None else _json(found.decode()), self.value)


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Rows of these types that any of `selects` matches; what is empty does not choose."""

    types: frozenset[str] = frozenset()
    selects: tuple[Select, ...] = ()

    def check(self, known: Collection[str]) -> None:
        """Raise InputError when a type is named that is not known, or not among the types."""
        for name in (*sorted(self.types), *(each.type for each in self.selects)):
            if name not in known:
                near = nearest_name(name, known)
                hint = f"did you mean '{near}'?" if near else None
                raise InputError(f"the spec has no type '{name}'", hint=hint)
        for each in self.selects:
            if self.types and each.type not in self.types:
                raise InputError(f"rows of '{each.type}' are selected, and the type is left out")

    def matches(self, type_name: str, data: Members) -> bool:
        """Tell whether a row is selected."""
        if self.types and type_name not in self.types:
            return False
        return not self.selects or any(each.matches(type_name, data) for each in self.selects)


def _json(text: str) -> object:
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found


def _same(one: object, other: object) -> bool:
    """Tell whether two JSON values are equal; true is not 1, though Python says so."""
    match one, other:
        case bool(), _:
            return one is other
        case _, bool():
            return False
        case list(), list():
            return len(one) == len(other) and all(map(_same, one, other))
        case dict(), dict():
            return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
        case _:
            return one == other
