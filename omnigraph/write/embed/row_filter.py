"""RowFilter: selects the rows that an offline embed fills, by type and by the value of a field."""

import json
from collections.abc import Collection

from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.syntax.problems import suggest
from omnigraph.write.embed.splice import JsonMembers


@dataclass(frozen=True, slots=True)
class Select:
    """`Document:lang="de"`: rows of a type by the value of a field; null matches no field."""

    type: str
    field: str
    value: object

    @staticmethod
    def parsed(text: str) -> "Select":
        """Parse `Type:field=value`; the value is JSON if it parses as JSON, else text."""
        name, colon, rest = text.partition(":")
        field, equals, value = rest.partition("=")
        if not (colon and equals and name and field):
            raise InputError(f"'{text}' selects nothing", hint="write Type:field=value")
        return Select(name, field, _json(value))

    def matches(self, type_name: str, data: JsonMembers) -> bool:
        """Whether a row matches."""
        if type_name != self.type:
            return False
        found = data.value(self.field)
        return _same(None if found is None else _json(found.decode()), self.value)


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Rows of these types that any of `selects` matches; an empty part selects everything."""

    types: frozenset[str] = frozenset()
    selects: tuple[Select, ...] = ()

    def check(self, known: Collection[str]) -> None:
        """Raise InputError when a type is unknown, or selected but not among the types."""
        for name in (*sorted(self.types), *(each.type for each in self.selects)):
            if name not in known:
                raise InputError(f"the spec has no type '{name}'", hint=suggest(name, known))
        for each in self.selects:
            if self.types and each.type not in self.types:
                raise InputError(f"rows of '{each.type}' are selected, but not their type")

    def matches(self, type_name: str, data: JsonMembers) -> bool:
        """Whether a row is selected."""
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
    """Whether two JSON values are equal; true is not 1, although Python says so."""
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
