"""Combine: the three-way merge of schemas, or all conflicts between the two sides."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, TypeAlias

from omnigraph.errors import SchemaConflictError, SchemaError
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import (
    EDGE_COLUMNS,
    Catalog,
    Dropped,
    Interface,
    NodeType,
    Property,
)
from omnigraph.schema.codec import IR_VERSION, catalog_json, decode_catalog
from omnigraph.schema.compile import compile_schema
from omnigraph.schema.migration import (
    keep_stored_order,
    plan_schema_migration,
    still_dropped,
    under_new_names,
)
from omnigraph.schema.printer import print_schema
from omnigraph.schema.steps import UnsupportedChange

# A type or property of the stored JSON, in which identities replace names.
_Entry: TypeAlias = dict[str, Any]

_KINDS = ("interfaces", "nodes", "edges")
# Both sides may add to these and take from them.
_LISTS = ("unique", "indexes", "ranges", "checks", "implements", "annotations")
_PROPERTIES = "properties"
# Read only while the rename is applied, so it can never conflict.
_PASSING = "renamed_from"


def combine_schemas(base: Catalog, ours: Catalog, theirs: Catalog) -> Catalog:
    """Merge their changes since `base` into our schema; raise SchemaConflictError."""
    merger = _Merger()
    sides = [_neutral(each) for each in (base, ours, theirs)]
    found = _without_past_renames(merger.merge(*sides))
    names = {identity: entry["name"] for identity, entry in found.items()}
    merger.note_twins("", found)
    merger.note_lost(found, sides[0])
    if merger.conflicts:
        raise SchemaConflictError(merger.conflicts)
    known = _catalog(found, names)
    dropped = _noted(base, ours, theirs, known)
    merged = _compile(replace(known, dropped=still_dropped(dropped, known)))
    if refused := [*_begun_anew(found, merged, (ours, theirs))] or _unfit(merged, (ours, theirs)):
        raise SchemaConflictError(refused)
    merged = keep_stored_order(ours, merged)
    return replace(merged, dropped=still_dropped(dropped, merged))


def _compile(catalog: Catalog) -> Catalog:
    """Compile the merged schema; two changes may break a rule only together."""
    try:
        return compile_schema(print_schema(catalog), accepted=catalog)
    except SchemaError as broken:
        raise SchemaConflictError([each.message for each in broken.problems]) from None


def _noted(base: Catalog, ours: Catalog, theirs: Catalog, merged: Catalog) -> list[Dropped]:
    """Return what either side dropped.

    Each entry is that of the side that dropped it since the base; if both did, ours.
    """
    was = {each.place: each.commit for each in base.dropped}
    mine, yours = (
        {each.place: each for each in under_new_names(side.dropped, side, merged)}
        for side in (ours, theirs)
    )
    kept = {
        place: each
        for place, each in mine.items()
        if place not in yours or each.commit != was.get(place)
    }
    return [*{**yours, **kept}.values()]


def _begun_anew(
    entries: Mapping[str, _Entry], merged: Catalog, sides: Iterable[Catalog]
) -> Iterator[str]:
    """Yield properties that a type would get empty from an interface, though a side has them."""
    for node in merged.nodes.values():
        own = entries[node.identity][_PROPERTIES]
        for interface in map(merged.interfaces.__getitem__, node.implements):
            for item in interface.properties.values():
                is_new = node.properties[item.name].identity not in own
                if is_new and any(_has(each, node, interface, item) for each in sides):
                    yield (
                        f"{node.name} implements {interface.name}, "
                        f"whose '{item.name}' one side renamed or dropped"
                    )


def _has(side: Catalog, node: NodeType, interface: Interface, item: Property) -> bool:
    """Whether a type of a side has a property of an interface, under whatever name."""
    there = side.by_identity.get(node.identity)
    if not isinstance(there, NodeType):
        return False
    shared = side.interfaces[interface.name] if interface.name in there.implements else None
    known = () if shared is None else shared.properties.values()
    return item.name in there.properties or item.identity in {each.identity for each in known}


def _unfit(merged: Catalog, sides: Iterable[Catalog]) -> list[str]:
    """Return what no schema may change, whatever rows there are.

    Whether these have values for what a type gets is asked when they are brought to it, as it is of
    a property that comes back.
    """
    back = [
        Dropped(item=item, owner=each.identity, commit="")
        for each in merged.by_identity.values()
        for item in each.properties.values()
    ]
    # Interfaces have no rows of their own.
    bare = (replace(each, interfaces={}, dropped=(*each.dropped, *back)) for each in sides)
    steps = [step for each in bare for step in plan_schema_migration(each, merged).steps]
    return [*dict.fromkeys(str(each) for each in steps if isinstance(each, UnsupportedChange))]


@dataclass(slots=True)
class _Merger:
    """Merges two sides and notes where they contradict each other."""

    conflicts: list[str] = field(default_factory=list)

    def merge(
        self, base: Mapping[str, _Entry], ours: Mapping[str, _Entry], theirs: Mapping[str, _Entry]
    ) -> dict[str, _Entry]:
        """Return all types by identity, ours first."""
        found: dict[str, _Entry] = {}
        for identity in dict.fromkeys([*ours, *theirs]):
            mine, yours = ours.get(identity), theirs.get(identity)
            if mine is None or yours is None:
                kept = self._one_sided("", base.get(identity), mine, yours)
                found |= {} if kept is None else {identity: kept}
            elif identity not in base and mine != yours:
                self.conflicts.append(f"both sides added {mine['name']} differently")
            else:
                found[identity] = self._type(base.get(identity, mine), mine, yours)
        return found

    def _type(self, base: _Entry, mine: _Entry, yours: _Entry) -> _Entry:
        name = mine["name"]
        found = self._entry(name, base, mine, yours)
        properties: dict[str, _Entry] = {}
        for identity in dict.fromkeys([*mine[_PROPERTIES], *yours[_PROPERTIES]]):
            ours, theirs = mine[_PROPERTIES].get(identity), yours[_PROPERTIES].get(identity)
            old = base[_PROPERTIES].get(identity)
            if ours is None or theirs is None:
                kept = self._one_sided(f"{name}.", old, ours, theirs)
                properties |= {} if kept is None else {identity: kept}
                continue
            where = f"{name}.{ours['name']}"
            properties[identity] = self._entry(where, old or {}, ours, theirs)
        self.note_twins(f"{name}.", properties)
        return {**found, _PROPERTIES: properties}

    def _one_sided(
        self, scope: str, base: _Entry | None, mine: _Entry | None, yours: _Entry | None
    ) -> _Entry | None:
        """Return what only one side has: it is new there, or the other side dropped it."""
        kept = mine or yours
        if base is None or kept is None:
            return kept
        if _lasting(kept) != _lasting(base):
            dropping, changing = ("our", "theirs") if mine is None else ("their", "ours")
            name = f"{scope}{base['name']}"
            self.conflicts.append(
                f"{name} was dropped on {dropping} side and changed on {changing}"
            )
        return None

    def note_lost(self, entries: Mapping[str, _Entry], base: Mapping[str, _Entry]) -> None:
        """Note what one side added for something that the other side dropped."""
        for entry in entries.values():
            name, own = entry["name"], entry[_PROPERTIES]
            ends = [entry[each] for each in ("source", "target") if each in entry]
            for end in dict.fromkeys(each for each in ends if each not in entries):
                was = base[end]["name"] if end in base else end
                self.conflicts.append(f"{name} connects {was}, which one side dropped")
            for each in sorted(_named(entry) - own.keys() - {*EDGE_COLUMNS}):
                self.conflicts.append(f"{name} has a rule for '{each}', which one side dropped")

    def _entry(self, where: str, base: _Entry, mine: _Entry, yours: _Entry) -> _Entry:
        """Return each field as the side that changed it has it."""
        found: _Entry = {}
        for name in mine:
            old, our, their = base.get(name), mine[name], yours[name]
            found[name] = our
            if name in _LISTS:
                found[name] = _joined(old or [], our, their)
            elif name in (_PROPERTIES, _PASSING) or their in (our, old):
                continue
            elif our == old:
                found[name] = their
            elif name == "type" and (both := _join_enums(old, our, their)) is not None:
                found[name] = both
            else:
                said = f"{json.dumps(our)} on our side and {json.dumps(their)} on theirs"
                self.conflicts.append(f"{where}: its {name} is {said}")
        return found

    def note_twins(self, scope: str, entries: Mapping[str, _Entry]) -> None:
        """Note different things that ended up with the same name."""
        seen: dict[str, str] = {}
        for identity, entry in entries.items():
            if seen.setdefault(entry["name"], identity) != identity:
                self.conflicts.append(f"two different things are called {scope}{entry['name']}")


def _without_past_renames(entries: Mapping[str, _Entry]) -> dict[str, _Entry]:
    """Return all types without `renamed_from` where something else has that name now."""
    names = {entry["name"] for entry in entries.values()}
    properties = {
        each["name"] for entry in entries.values() for each in entry[_PROPERTIES].values()
    }
    return {
        identity: {
            **_forget(names, entry),
            _PROPERTIES: {
                each: _forget(properties, item) for each, item in entry[_PROPERTIES].items()
            },
        }
        for identity, entry in entries.items()
    }


def _forget(names: Collection[str], entry: _Entry) -> _Entry:
    return {**entry, _PASSING: None} if entry.get(_PASSING) in names else entry


def _joined(old: list[Any], our: list[Any], their: list[Any]) -> list[Any]:
    """Return a list with what either side added, and without what either side took."""
    kept = [each for each in our if each in their or each not in old]
    return [*kept, *(each for each in their if each not in our and each not in old)]


def _lasting(entry: _Entry) -> _Entry:
    """Return an entry without what never conflicts."""
    return {
        name: {each: _lasting(item) for each, item in value.items()}
        if name == _PROPERTIES
        else value
        for name, value in entry.items()
        if name != _PASSING
    }


def _named(entry: _Entry) -> set[str]:
    """Return the properties that the rules and vectors of a type name."""
    found = {*entry["key"]}
    found |= {each for columns in (*entry["unique"], *entry["indexes"]) for each in columns}
    found |= {each["property"] for name in ("ranges", "checks") for each in entry.get(name, ())}
    embeds = (each["embed"] for each in entry[_PROPERTIES].values())
    return found | {each["source"] for each in embeds if each is not None}


def _join_enums(old: object, our: str, their: str) -> str | None:
    """Return the enum with the values of both sides, or None if one removed a value."""
    values = [_enum_values(each) for each in (old, our, their)]
    if any(each is None for each in values):
        return None
    before, mine, yours = (set(each or ()) for each in values)
    if not before <= mine & yours:
        return None
    return f"enum({', '.join(sorted(mine | yours))})"


def _enum_values(text: object) -> list[str] | None:
    if not isinstance(text, str) or not text.startswith("enum("):
        return None
    return [each.strip() for each in text.removeprefix("enum(").removesuffix(")").split(",")]


def _neutral(catalog: Catalog) -> dict[str, _Entry]:
    """Return the types of a schema by identity, references by identity too."""
    stored: _Entry = catalog_json(catalog)
    types = {each["name"]: each["stable_type_id"] for kind in _KINDS for each in stored[kind]}
    found: dict[str, _Entry] = {}
    for kind in _KINDS:
        for item in stored[kind]:
            own = {each["name"]: each["stable_property_id"] for each in item[_PROPERTIES]}
            entry = _translate(item, own, types)
            properties = {each["stable_property_id"]: each for each in entry[_PROPERTIES]}
            found[item["stable_type_id"]] = {**entry, "kind": kind, _PROPERTIES: properties}
    return found


def _catalog(entries: Mapping[str, _Entry], types: Mapping[str, str]) -> Catalog:
    stored: _Entry = {"ir_version": IR_VERSION, **{kind: [] for kind in _KINDS}}
    for entry in entries.values():
        own = {identity: each["name"] for identity, each in entry[_PROPERTIES].items()}
        plain = {**entry, _PROPERTIES: list(entry[_PROPERTIES].values())}
        kind = plain.pop("kind")
        stored[kind].append(_translate(plain, own, types))
    return decode_catalog(json.dumps(stored))


def _translate(item: _Entry, own: Mapping[str, str], types: Mapping[str, str]) -> _Entry:
    """Return an entry with its references translated by `own` and `types`."""
    found = dict(item)
    found["key"] = [own.get(each, each) for each in item["key"]]
    for name in ("unique", "indexes"):
        found[name] = [[own.get(each, each) for each in columns] for columns in item[name]]
    for name in ("ranges", "checks"):
        if name in item:
            found[name] = [{**each, "property": own[each["property"]]} for each in item[name]]
    for name in ("source", "target"):
        if name in item:
            found[name] = types.get(item[name], item[name])
    found[_PROPERTIES] = [
        {
            **each,
            "embed": each["embed"] and {**each["embed"], "source": own[each["embed"]["source"]]},
        }
        for each in item[_PROPERTIES]
    ]
    return found
