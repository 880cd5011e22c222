"""Model: a schema and its rows as plain values, random edits, and what each of them promises."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import TypeAlias

Value: TypeAlias = str | int | bool | None
Row: TypeAlias = dict[int, Value]

KINDS = ("I32", "String", "Bool", "enum")
WORDS = ("ann", "bob", "cleo")
_RETYPED = {"I32": "I64", "String": "U64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A property; its number stays when its name does not. `origin` is the accepted name."""

    number: int
    name: str
    kind: str
    origin: str | None = None
    nullable: bool = True
    default: Value = None
    values: tuple[str, ...] = ("a", "b")
    flags: frozenset[str] = frozenset()

    def text(self) -> str:
        kind = f"enum({', '.join(self.values)})" if self.kind == "enum" else self.kind
        parts = [f"{self.name}: {kind}{'?' if self.nullable else ''}"]
        if self.default is not None:
            parts.append(f"@default({_literal(self.default)})")
        if self.origin not in (None, self.name):
            parts.append(f'@rename_from("{self.origin}")')
        parts += [f"@{each}" for each in sorted(self.flags) if each != "range"]
        body = [" ".join(parts)]
        if "range" in self.flags:
            body.append(f"@range({self.name}, 0..50)")
        return "\n  ".join(body)

    def value(self, random: Random) -> Value:
        """Return a value that the property can hold."""
        if self.nullable and random.random() < 0.3:
            return None
        match self.kind:
            case "I32":
                return random.randrange(0, 60 if "range" not in self.flags else 51)
            case "String":
                return random.choice(WORDS)
            case "Bool":
                return random.random() < 0.5
            case _:
                return random.choice(self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Type:
    """A node type, or an edge type from one node type to another."""

    number: int
    name: str
    properties: tuple[Property, ...]
    origin: str | None = None
    ends: tuple[int, int] | None = None


@dataclass(slots=True)
class Model:
    """Types and rows by the numbers of types; rows have the numbers of properties.

    What was dropped is kept as it was: types with their rows, and properties with the number of
    their type and their values. All copies of a model count together.
    """

    types: dict[int, Type] = field(default_factory=dict)
    rows: dict[int, dict[str, Row]] = field(default_factory=dict)
    dropped_types: dict[int, tuple[Type, dict[str, Row]]] = field(default_factory=dict)
    dropped: dict[int, tuple[int, Property, dict[str, Value]]] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def copy(self) -> "Model":
        rows = {n: {key: dict(row) for key, row in each.items()} for n, each in self.rows.items()}
        dropped = dict(self.dropped_types), dict(self.dropped)
        return Model(dict(self.types), rows, *dropped, self.numbers)

    def next(self) -> int:
        return next(self.numbers)

    def text(self) -> str:
        """Return the schema as it is written."""
        return "".join(self._texts())

    def _texts(self) -> Iterator[str]:
        for each in self.types.values():
            was = "" if each.origin in (None, each.name) else f' @rename_from("{each.origin}")'
            body = "".join(f"\n  {item.text()}" for item in each.properties)
            if each.ends is None:
                yield f"node {each.name}{was} {{\n  key: String @key{body}\n}}\n"
            else:
                source, target = (self.types[end].name for end in each.ends)
                ends = f"{source} -> {target}{was}"
                yield f"edge {each.name}: {ends} {{\n  @key(src, dst){body}\n}}\n"

    def accepted(self, before: "Model") -> "Model":
        """Return the model as that of the accepted schema, with what is dropped since `before`."""
        made = self.copy()
        for number, each in self.types.items():
            items = tuple(replace(item, origin=item.name) for item in each.properties)
            made.types[number] = replace(each, origin=each.name, properties=items)
        for number, each in before.types.items():
            if number not in made.types:
                made.dropped_types[number] = each, before.rows[number]
        had = {n: (each, before.rows[n]) for n, each in before.types.items()} | before.dropped_types
        for number, (each, rows) in had.items():
            there = {item.number for item in self.items(number)}
            for item in each.properties if number in made.types else ():
                if item.number not in there:
                    values = {key: row[item.number] for key, row in rows.items()}
                    made.dropped[item.number] = number, item, values
        for number in made.types:
            made.dropped_types.pop(number, None)
            for item in made.items(number):
                made.dropped.pop(item.number, None)
        return made

    def items(self, number: int) -> tuple[Property, ...]:
        """Return the properties of a type; none when there is no such type."""
        return self.types[number].properties if number in self.types else ()

    def is_back(self, each: Type) -> bool:
        """Tell whether a type is restored by the schema that is being made."""
        return each.number in self.dropped_types

    def stored(self, number: int) -> list[dict[str, Value]]:
        """Return the rows of a type as its table holds them, by id."""
        names = {item.number: item.name for item in self.types[number].properties}
        return [
            {"id": key, **{names[each]: value for each, value in row.items()}}
            for key, row in sorted(self.rows[number].items())
        ]


def first_model(random: Random) -> Model:
    """Return two node types and an edge type with a few properties, and rows."""
    model = Model()
    for _ in range(2):
        add_node(model, random)
    add_edge(model, random)
    return grown(model, random)


def grown(model: Model, random: Random) -> Model:
    """Return the model with a few more rows in every type."""
    made = model.copy()
    for number, each in made.types.items():
        rows = made.rows[number]
        for _ in range(random.randrange(0, 4)):
            key = _new_key(made, each, random)
            if key is None or key in rows:
                continue
            row: Row = {item.number: item.value(random) for item in each.properties}
            if all(not _repeats(rows, item, row[item.number]) for item in each.properties):
                rows[key] = row
    return made


def lines(before: Model, after: Model) -> Iterator[str]:
    """Return records of the rows that only the second has."""
    for number, each in after.types.items():
        names = {item.number: item.name for item in each.properties}
        for key, row in after.rows[number].items():
            if key in before.rows.get(number, {}):
                continue
            data = {names[item]: value for item, value in row.items() if value is not None}
            if each.ends is None:
                yield json.dumps({"type": each.name, "data": {"key": key, **data}})
            else:
                ends = json.loads(key)
                yield json.dumps({"edge": each.name, "from": ends[0], "to": ends[1], "data": data})


def can_become(before: Model, after: Model) -> bool:
    """Tell whether an accepted schema can become another one, with the rows that are there."""
    had = {number: each for number, (each, _) in before.dropped_types.items()} | before.types
    return all(
        _type_can_become(had.get(number), each, list(after.rows[number].values()), before)
        for number, each in after.types.items()
    )


def _type_can_become(before: Type | None, after: Type, rows: list[Row], model: Model) -> bool:
    if before is None:
        return True
    known = {item.number: item for item in before.properties}
    wanted = {item.number: item for item in after.properties}
    for number, item in wanted.items():
        old = known.get(number)
        is_bare = old is None and not item.nullable and item.default is None
        has_all = number in model.dropped and all(row[number] is not None for row in rows)
        if is_bare and not has_all:
            return False
        if old is not None and old.kind != item.kind:
            return False
        new = item.flags - (frozenset() if old is None else old.flags)
        held = [row[number] for row in rows if row[number] is not None]
        if "unique" in new and len(held) != len(set(held)):
            return False
        if "range" in new and not all(0 <= int(value or 0) <= 50 for value in held):
            return False
    return True


def add_node(model: Model, random: Random) -> None:
    number = model.next()
    properties = tuple(_property(model, random) for _ in range(random.randrange(1, 4)))
    model.types[number] = Type(number=number, name=f"T{number}", properties=properties)
    model.rows[number] = {}


def add_edge(model: Model, random: Random) -> None:
    nodes = [each.number for each in model.types.values() if each.ends is None]
    number, ends = model.next(), (random.choice(nodes), random.choice(nodes))
    properties = (_property(model, random),)
    model.types[number] = Type(number=number, name=f"E{number}", properties=properties, ends=ends)
    model.rows[number] = {}


def rename_type(model: Model, random: Random) -> None:
    each = random.choice(list(model.types.values()))
    leading = [other for other in model.types.values() if each.number in (other.ends or ())]
    # A type is restored under its own name and between the names of its ends.
    if not any(model.is_back(other) for other in (each, *leading)):
        model.types[each.number] = replace(each, name=f"R{model.next()}")


def rename_property(model: Model, random: Random) -> None:
    each, item = _any(model, random)
    if item.number not in model.dropped:
        _put(model, each, replace(item, name=f"r{model.next()}"))


def add_nullable(model: Model, random: Random) -> None:
    _add(model, random, replace(_property(model, random), nullable=True))


def add_required(model: Model, random: Random) -> None:
    item = replace(_property(model, random), nullable=False)
    _add(model, random, replace(item, default=item.value(random)))


def add_bare(model: Model, random: Random) -> None:
    _add(model, random, replace(_property(model, random), nullable=False))


def extend_enum(model: Model, random: Random) -> None:
    each, item = _any(model, random)
    values = (*item.values, f"v{model.next()}") if item.kind == "enum" else item.values
    _put(model, each, replace(item, values=values))


def add_index(model: Model, random: Random) -> None:
    each, item = _any(model, random)
    _put(model, each, replace(item, flags=item.flags | {"index"}))


def add_unique(model: Model, random: Random) -> None:
    each, item = _any(model, random)
    if item.kind != "Bool":
        _put(model, each, replace(item, flags=item.flags | {"unique"}))


def add_range(model: Model, random: Random) -> None:
    each, item = _any(model, random)
    fits = item.default is None or (item.kind == "I32" and int(item.default) <= 50)
    if item.kind == "I32" and each.ends is None and fits:
        _put(model, each, replace(item, flags=item.flags | {"range"}))


def turn(model: Model, random: Random) -> None:
    each = random.choice(list(model.types.values()))
    items = random.sample(each.properties, len(each.properties))
    model.types[each.number] = replace(each, properties=tuple(items))


def remove_property(model: Model, random: Random) -> None:
    each, item = _any(model, random)
    kept = tuple(other for other in each.properties if other is not item)
    model.types[each.number] = replace(each, properties=kept)
    for row in model.rows[each.number].values():
        del row[item.number]


def restore_property(model: Model, random: Random) -> None:
    """Put a property back; rows that were there have their values."""
    known = [each for each in model.dropped.values() if each[0] in model.types]
    if not known:
        return
    number, item, values = random.choice(known)
    if item in model.types[number].properties:
        return
    otherwise = None if item.nullable else item.default
    each = model.types[number]
    model.types[number] = replace(each, properties=(*each.properties, item))
    for key, row in model.rows[number].items():
        row[item.number] = values.get(key, otherwise)


def drop_rule(model: Model, random: Random) -> None:
    each, item = _any(model, random)
    _put(model, each, replace(item, flags=frozenset()))


def remove_type(model: Model, random: Random) -> None:
    ends = {end for each in model.types.values() for end in each.ends or ()}
    free = [each for each in model.types.values() if each.number not in ends]
    if len(model.types) > 2 and free:
        gone = random.choice(free)
        del model.types[gone.number], model.rows[gone.number]


def restore_type(model: Model, random: Random) -> None:
    """Put a type back, with its rows; edges only between types that keep their names."""
    known = [each for each in model.dropped_types.values() if each[0].number not in model.types]
    if not known:
        return
    each, rows = random.choice(known)
    ends = [model.types.get(end) for end in each.ends or ()]
    if all(end is not None and end.origin in (None, end.name) for end in ends):
        model.types[each.number] = each
        model.rows[each.number] = {key: dict(row) for key, row in rows.items()}


def retype(model: Model, random: Random) -> None:
    each, item = _any(model, random)
    if model.is_back(each) or item.number in model.dropped:
        return
    is_plain = item.default is None and "range" not in item.flags
    if item.origin is not None and item.kind in _RETYPED and is_plain:
        _put(model, each, replace(item, kind=_RETYPED[item.kind]))


Edit: TypeAlias = Callable[[Model, Random], None]
EDITS: tuple[Edit, ...] = (
    add_node,
    add_edge,
    rename_type,
    rename_property,
    rename_property,
    add_nullable,
    add_nullable,
    add_required,
    add_required,
    extend_enum,
    add_index,
    add_unique,
    add_range,
    turn,
    add_bare,
    remove_property,
    remove_property,
    restore_property,
    restore_property,
    drop_rule,
    remove_type,
    restore_type,
    restore_type,
    retype,
)


def _literal(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _property(model: Model, random: Random) -> Property:
    number = model.next()
    kind = random.choice(KINDS)
    return Property(number=number, name=f"p{number}", kind=kind, nullable=random.random() < 0.7)


def _any(model: Model, random: Random) -> tuple[Type, Property]:
    types = [each for each in model.types.values() if each.properties]
    if not types:
        add_node(model, random)
        types = list(model.types.values())[-1:]
    each = random.choice(types)
    return each, random.choice(each.properties)


def _put(model: Model, each: Type, item: Property) -> None:
    items = tuple(item if other.number == item.number else other for other in each.properties)
    model.types[each.number] = replace(each, properties=items)


def _add(model: Model, random: Random, item: Property) -> None:
    """Put a property somewhere into some type; the rows there are hold what it gives them."""
    each = random.choice(list(model.types.values()))
    if model.is_back(each) and not item.nullable and item.default is None:
        return
    at = random.randrange(len(each.properties) + 1)
    items = (*each.properties[:at], item, *each.properties[at:])
    model.types[each.number] = replace(each, properties=items)
    for row in model.rows[each.number].values():
        row[item.number] = None if item.nullable else item.default


def _new_key(model: Model, each: Type, random: Random) -> str | None:
    if each.ends is None:
        return f"k{model.next()}"
    choices = [list(model.rows[end]) for end in each.ends]
    if not all(choices):
        return None
    return json.dumps([random.choice(keys) for keys in choices], separators=(",", ":"))


def _repeats(rows: dict[str, Row], item: Property, value: Value) -> bool:
    if "unique" not in item.flags or value is None:
        return False
    return any(row[item.number] == value for row in rows.values())
