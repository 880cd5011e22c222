"""Conflict: one row that two sides changed incompatibly, and the choices that resolve it."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, Self, TypeAlias, TypeVar

from omnigraph.errors import InputError, Json
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.json_rows import property_from_json, row_from_json
from omnigraph.schema.values import to_json_value
from omnigraph.syntax.problems import parse_choice, shorten, suggest


class Side(StrEnum):
    """Whose version of something is taken."""

    OURS = "ours"
    THEIRS = "theirs"


class ConflictKind(StrEnum):
    """Why two sides cannot be merged."""

    DIVERGENT_INSERT = "DivergentInsert"
    DIVERGENT_UPDATE = "DivergentUpdate"
    DELETE_VS_UPDATE = "DeleteVsUpdate"
    ORPHAN_EDGE = "OrphanEdge"
    UNIQUE = "UniqueViolation"
    CARDINALITY = "CardinalityViolation"
    VALUE = "ValueConstraintViolation"


# A type, the id of a row, and a property.
PropertyKey: TypeAlias = tuple[str, str, str]
_HOW_TO_CHOOSE = (
    "send the conflicts of a preview, with `take` set to ours or theirs, or a `value`, or"
    " `into` with the id of the node that is the same"
)
_DIVERGENT = (ConflictKind.DIVERGENT_INSERT, ConflictKind.DIVERGENT_UPDATE)
# Broken by what both sides gave a property, and settled by taking that property of one of them.
_OF_RULES = (ConflictKind.UNIQUE, ConflictKind.VALUE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One row that two sides changed incompatibly.

    The values are those of the row, or of one named property; None where there is none.
    """

    kind: ConflictKind
    type: str
    table_key: str
    row_id: str | None
    message: str
    property: str | None = None
    base: object = None
    ours: object = None
    theirs: object = None

    @classmethod
    def from_json(cls, document: Mapping[str, Any], catalog: Catalog | None) -> Self:
        """Return a conflict as `Merge.to_json` wrote it; the catalog has the types of values.

        Without a catalog the values stay as JSON has them.
        """
        stored = None if catalog is None else catalog.stored(document["type_name"])
        name = document["property"]

        def value(side: str) -> object:
            found = document[side]
            if stored is None or found is None:
                return found
            if isinstance(found, dict):
                return row_from_json(found, stored)
            return property_from_json(found, stored, name)

        return cls(
            kind=ConflictKind(document["kind"]),
            type=document["type_name"],
            table_key=document["table_key"],
            row_id=document["row_id"],
            message=document["message"],
            property=name,
            base=value("base"),
            ours=value("ours"),
            theirs=value("theirs"),
        )


def _json_of(key: PropertyKey, value: object) -> Json:
    """Return a chosen value as JSON; raises InputError for one that JSON would not hold."""
    try:
        found = to_json_value(value)
    except (TypeError, UnicodeDecodeError):
        found = None
    if found is None and value is not None:
        name, row_id, of = key
        shown = repr(value) if isinstance(value, float) else f"a Python {type(value).__name__}"
        message = f"{name} '{shorten(row_id)}': {of}: {shown} cannot be given as JSON"
        hint = "write base64:… or a URI" if isinstance(value, bytes) else None
        raise InputError(message, hint=hint)
    return found


# The keys of a conflict as a preview writes it, and the choice that is added to it.
CHOICE_KEYS = frozenset(
    (
        *("kind", "table_key", "type_name", "row_id", "property", "message"),
        *("base", "ours", "theirs", "ours_commit", "ours_actor", "theirs_commit", "theirs_actor"),
        *("take", "value", "into"),
    )
)


@dataclass(frozen=True, slots=True)
class Resolutions:
    """Whose version is taken where both sides changed: for all, a type, a row or a property.

    `values` has what a property gets that is neither ours nor theirs, by type, row and property.
    `joined` has nodes that are one with another node, by type and id, with the id that stays.
    `rules` has sides for properties with which both sides together break a rule. Whether they do
    depends on the other choices, so one that nothing needs is not refused.
    """

    default: Side | None = None
    types: Mapping[str, Side] = field(default_factory=dict)
    rows: Mapping[tuple[str, str], Side] = field(default_factory=dict)
    properties: Mapping[PropertyKey, Side] = field(default_factory=dict)
    # Not shown, so that the digest of a merge without values is what it always was.
    values: Mapping[PropertyKey, object] = field(default_factory=dict, repr=False)
    joined: Mapping[tuple[str, str], str] = field(default_factory=dict, repr=False)
    rules: Mapping[PropertyKey, Side] = field(default_factory=dict, repr=False)

    @classmethod
    def parse(cls, given: "Resolutions | Side | str | None") -> "Resolutions":
        """Return the resolutions that an argument means; raise InputError for an unknown side."""
        found = given if isinstance(given, Resolutions) else cls(given)  # type: ignore[arg-type]
        return cls(
            None if found.default is None else parse_choice(Side, found.default),
            {key: parse_choice(Side, side) for key, side in found.types.items()},
            {key: parse_choice(Side, side) for key, side in found.rows.items()},
            {key: parse_choice(Side, side) for key, side in found.properties.items()},
            dict(found.values),
            dict(found.joined),
            {key: parse_choice(Side, side) for key, side in found.rules.items()},
        )

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a request that say whose version is taken."""
        rows: list[dict[str, Any]] = [
            {"type_name": name, "row_id": row_id, "take": str(side)}
            for (name, row_id), side in self.rows.items()
        ]
        rows += [
            {
                "type_name": name,
                "row_id": row_id,
                "property": of,
                "kind": str(kind),
                "take": str(side),
            }
            for kind, sides in (
                (ConflictKind.DIVERGENT_UPDATE, self.properties),
                (ConflictKind.VALUE, self.rules),
            )
            for (name, row_id, of), side in sides.items()
        ]
        rows += [
            {
                "type_name": key[0],
                "row_id": key[1],
                "property": key[2],
                "value": _json_of(key, each),
            }
            for key, each in self.values.items()
        ]
        rows += [
            {"type_name": name, "row_id": row_id, "into": into}
            for (name, row_id), into in self.joined.items()
        ]
        take = None if self.default is None else str(self.default)
        types = {name: str(side) for name, side in self.types.items()}
        return {"take": take, "types": types, "resolutions": rows}

    @classmethod
    def from_json(
        cls,
        take: str | None,
        types: Mapping[str, str] | None,
        resolutions: Iterable[Mapping[str, Any]] | None,
    ) -> "Resolutions":
        """Return the resolutions that the fields of a request mean."""
        try:
            found = cls.chosen(resolutions or (), None if take is None else Side(take))
            sides = {name: Side(side) for name, side in (types or {}).items()}
            return replace(found, types=sides)
        except ValueError:
            raise InputError("the resolutions cannot be read", hint=_HOW_TO_CHOOSE) from None

    @staticmethod
    def chosen(
        choices: Iterable[Mapping[str, object]], default: Side | None = None
    ) -> "Resolutions":
        """Return the choices of conflicts as a preview writes them, with `take`, `value` or `into`.

        Raises InputError for a choice that cannot be read, with what is wrong with it.
        """
        rows: dict[tuple[str, str], Side] = {}
        properties: dict[PropertyKey, Side] = {}
        rules: dict[PropertyKey, Side] = {}
        values: dict[PropertyKey, object] = {}
        joined: dict[tuple[str, str], str] = {}
        if not isinstance(choices, Iterable) or isinstance(choices, str | Mapping):
            raise InputError("the resolutions are a list of conflicts", hint=_HOW_TO_CHOOSE)
        for choice in choices:
            key, name = _row_of(choice), choice.get("property")
            take = choice.get("take")
            if choice.get("into") is not None:
                joined[key] = _into(choice, key)
            elif "value" in choice:
                if take is not None:
                    raise InputError(f"{_shown(key)} has both `take` and `value`", hint="set one")
                if name is None:
                    hint = "choose a side: set `take`"
                    raise InputError(f"{_shown(key)}: no property to set a value of", hint=hint)
                values[*key, str(name)] = choice["value"]
            elif take is None:
                continue
            elif name is not None and choice.get("kind") in _DIVERGENT:
                _choose(properties, (*key, str(name)), take)
            elif name is not None and choice.get("kind") in _OF_RULES:
                _choose(rules, (*key, str(name)), take)
            else:
                _choose(rows, key, take)
        _check_agreement(properties, rules, values)
        return Resolutions(default, {}, rows, properties, values, joined, rules)

    def of(self, type_name: str, row_id: str, name: str | None = None) -> Side | None:
        """Return the side that was chosen for a row or one of its properties, if any.

        A property that gets a value of neither side stays a conflict until the value is set.
        """
        if name is not None and (type_name, row_id, name) in self.values:
            return None
        found = None if name is None else self.of_property((type_name, row_id, name))
        found = found or self.rows.get((type_name, row_id)) or self.types.get(type_name)
        return found or self.default

    @property
    def with_sorted_sides(self) -> "Resolutions":
        """The same choices, the sides sorted by what they are for, so that they read alike."""
        return replace(
            self,
            types=dict(sorted(self.types.items())),
            rows=dict(sorted(self.rows.items())),
            properties=dict(sorted(self.properties.items())),
        )

    def of_property(self, key: PropertyKey) -> Side | None:
        """Return the side that was chosen for a property itself, if any."""
        return self.properties.get(key) or self.rules.get(key)

    def excludes(self, key: PropertyKey, side: Side) -> bool:
        """Whether a property gets a value, or was chosen from the other side."""
        return key in self.values or self.of_property(key) not in (None, side)


def _row_of(choice: Mapping[str, object]) -> tuple[str, str]:
    """Return the type and id of a choice; raise InputError for what is no choice."""
    if not isinstance(choice, Mapping):
        raise InputError("a resolution is not an object", hint=_HOW_TO_CHOOSE)
    _check_keys(choice)
    for name in ("type_name", "row_id"):
        if not isinstance(choice.get(name), str):
            raise InputError(f"a resolution has no '{name}'", hint=_HOW_TO_CHOOSE)
        _check_unicode(choice, name)
    return str(choice["type_name"]), str(choice["row_id"])


_Key = TypeVar("_Key", tuple[str, str], PropertyKey)


def _choose(sides: dict[_Key, Side], key: _Key, take: object) -> None:
    """Note the side of a choice; raise InputError where the other one was chosen as well."""
    side = parse_choice(Side, str(take))
    if sides.setdefault(key, side) is not side:
        raise InputError(f"{_shown(key)} has both ours and theirs", hint="choose one of them")


def _check_agreement(
    properties: Mapping[PropertyKey, Side],
    rules: Mapping[PropertyKey, Side],
    values: Mapping[PropertyKey, object],
) -> None:
    """Raise InputError where the conflicts of one property are resolved in different ways."""
    sides = dict(properties)
    for key, side in rules.items():
        _choose(sides, key, side)
    for key in values:
        if key in sides:
            raise InputError(f"{_shown(key)} has both `take` and `value`", hint="set one")


def _into(choice: Mapping[str, object], key: tuple[str, str]) -> str:
    """Return the id of the node that a node is one with; raise InputError where none is meant."""
    if choice.get("take") is not None or "value" in choice:
        raise InputError(f"{_shown(key)} has `into` and another choice", hint="set one")
    if not isinstance(choice["into"], str):
        raise InputError(f"{_shown(key)}: `into` is the id of a node")
    _check_unicode(choice, "into")
    return choice["into"]


def _check_unicode(choice: Mapping[str, object], name: str) -> None:
    try:
        str(choice[name]).encode()
    except UnicodeEncodeError:
        raise InputError(f"the '{name}' of a resolution contains invalid Unicode") from None


def _shown(key: tuple[str, ...]) -> str:
    row = f"the resolution of {key[0]} '{shorten(key[1])}'"
    return ": ".join((row, *key[2:]))


def _check_keys(choice: Mapping[str, object]) -> None:
    """Raise InputError when a choice has an unknown key, which may be a misspelt `take`."""
    unknown = sorted(set(choice) - CHOICE_KEYS)
    if unknown:
        name = shorten(unknown[0])
        hint = suggest(name, sorted(CHOICE_KEYS))
        raise InputError(f"unknown key '{name}' in the resolutions", hint=hint)
