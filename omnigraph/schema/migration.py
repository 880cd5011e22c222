"""Migration: the steps from an accepted schema to a desired one, matched by identity."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import TypeVar

from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import (
    Annotation,
    AnyType,
    Catalog,
    Dropped,
    EdgeType,
    Interface,
    NodeType,
    Property,
    StoredType,
    types_of,
)
from omnigraph.schema.steps import (
    AddConstraint,
    AddProperty,
    AddType,
    AnyConstraint,
    DropConstraint,
    DropInterface,
    DropProperty,
    DropType,
    ExtendEnum,
    IndexConstraint,
    MigrationStep,
    RenameProperty,
    RenameType,
    RestoreProperty,
    RestoreType,
    SchemaMigrationPlan,
    UniqueConstraint,
    UnsupportedChange,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
)
from omnigraph.schema.types import EnumType

_Type = TypeVar("_Type", Interface, NodeType, EdgeType)


def plan_schema_migration(accepted: Catalog, desired: Catalog) -> SchemaMigrationPlan:
    """Plan the steps from an accepted schema to one that was compiled against it."""
    steps: list[MigrationStep] = []
    known = {item.identity: item for _, item in types_of(accepted)}
    wanted = {item.identity: item for _, item in types_of(desired)}
    new_names = {
        each.name: wanted[identity].name for identity, each in known.items() if identity in wanted
    }
    for kind, item in types_of(desired):
        before, names = known.get(item.identity), new_names
        if before is None and item.identity in accepted.dropped_types:
            before = dropped = accepted.dropped_types[item.identity]
            names = {end: new_names.get(end, end) for end in _same_ends(dropped)}
            steps.append(RestoreType(type_kind=kind, name=before.name))
        if before is None:
            steps.append(AddType(type_kind=kind, name=item.name))
        else:
            had = accepted.dropped_properties(item.identity)
            steps += _TypeMigration(kind, before, item, names, had).steps()
    for kind, item in types_of(accepted):
        if item.identity not in wanted:
            steps.append(DropType(type_kind=kind, name=item.name))
    return SchemaMigrationPlan(tuple(steps))


def fits(kind: str, before: StoredType, after: StoredType) -> bool:
    """Return whether a type that was dropped can be restored as it is declared now."""
    steps = _TypeMigration(kind, before, after, _same_ends(before)).steps()
    return not any(isinstance(each, UnsupportedChange) for each in steps)


def _same_ends(stored: StoredType) -> dict[str, str]:
    """Return the names that the ends of a dropped edge type still have."""
    ends = (stored.source, stored.target) if isinstance(stored, EdgeType) else ()
    return {each: each for each in ends}


def property_fits(before: Property, after: Property) -> bool:
    """Return whether a property that was dropped can be restored as it is declared now."""
    old, new = before.type, after.type
    same_type = old == new
    if isinstance(old, EnumType) and isinstance(new, EnumType):
        same_type = set(old.values) <= set(new.values)
    return same_type and (before.nullable, before.embed) == (after.nullable, after.embed)


def note_dropped(accepted: Catalog, desired: Catalog, commit: str) -> Catalog:
    """Return the desired schema with what it and the accepted one dropped.

    `commit` is the last that has the accepted schema. What is there again is not noted any more.
    """
    noted = [*accepted.dropped]
    noted += [
        Dropped(item=each, owner=each.identity, commit=commit)
        for each in accepted.by_identity.values()
    ]
    # A type that is restored may come back without some of its properties.
    noted += [
        Dropped(item=item, owner=each.owner, commit=each.commit)
        for each in noted
        if not isinstance(each.item, Property) and each.owner in desired.by_identity
        for item in each.item.properties.values()
    ]
    renamed = under_new_names(noted, accepted, desired)
    return replace(desired, dropped=still_dropped(renamed, desired))


def under_new_names(noted: Iterable[Dropped], before: Catalog, after: Catalog) -> Iterator[Dropped]:
    """Yield what was dropped, with the names that its ends and its text have in another schema.

    Without these it would not fit what is declared there, and not come back.
    """
    now = {item.identity: item.name for _, item in types_of(after)}
    names = {item.name: now.get(item.identity, item.name) for _, item in types_of(before)}
    had = {**before.dropped_types, **before.by_identity}
    for each in noted:
        old, new, item = had.get(each.owner), after.by_identity.get(each.owner), each.item
        if isinstance(item, EdgeType):
            ends = [names.get(end, end) for end in (item.source, item.target)]
            item = replace(item, source=ends[0], target=ends[1])
        elif isinstance(item, Property) and item.embed is not None and old and new:
            text = _new_name(item.embed.source, old, new)
            item = replace(item, embed=replace(item.embed, source=text))
        yield replace(each, item=item)


def still_dropped(noted: Iterable[Dropped], catalog: Catalog) -> tuple[Dropped, ...]:
    """Return those of some dropped types and properties that a schema does not have."""
    types = catalog.by_identity
    found: dict[tuple[str, str | None], Dropped] = {}
    for each in noted:
        owner, identity = each.place
        stored = types.get(owner)
        properties = () if stored is None else stored.properties.values()
        is_there = stored is not None if identity is None else False
        if not is_there and all(item.identity != identity for item in properties):
            found[each.place] = each
    return tuple(found.values())


def _new_name(name: str, before: AnyType, after: AnyType) -> str:
    """Return the name that a property of the old type has in the new one."""
    old = before.properties.get(name)
    found = (
        each.name
        for each in after.properties.values()
        if old is not None and each.identity == old.identity
    )
    return next(found, name)


def keep_stored_order(accepted: Catalog, desired: Catalog) -> Catalog:
    """Return the desired schema with its properties in the order of the stored columns.

    Existing properties keep their places; new ones follow them.
    """
    before: dict[str, AnyType] = {**accepted.dropped_types}
    before |= {item.identity: item for _, item in types_of(accepted)}
    return Catalog(
        {
            name: _reorder(before.get(each.identity), each)
            for name, each in desired.interfaces.items()
        },
        {name: _reorder(before.get(each.identity), each) for name, each in desired.nodes.items()},
        {name: _reorder(before.get(each.identity), each) for name, each in desired.edges.items()},
        desired.dropped,
    )


def _reorder(before: AnyType | None, item: _Type) -> _Type:
    if before is None:
        return item
    places = {each.identity: place for place, each in enumerate(before.properties.values())}
    ordered = sorted(
        item.properties.values(), key=lambda each: places.get(each.identity, len(places))
    )
    return replace(item, properties={each.name: each for each in ordered})


@dataclass(frozen=True, slots=True)
class _TypeMigration:
    """One type before and after; `new_names` maps the names of all old types to the new ones.

    `dropped` are the properties that the type had still earlier, by identity.
    """

    kind: str
    before: AnyType
    after: AnyType
    new_names: Mapping[str, str]
    dropped: Mapping[str, Property] = field(default_factory=dict)

    def steps(self) -> Iterator[MigrationStep]:
        """Yield the steps of the type, in the order in which they are taken."""
        yield from self._rename()
        yield from self._ends()
        yield from self._properties()
        yield from self._constraints()
        yield from self._metadata()

    def _rename(self) -> Iterator[MigrationStep]:
        if self.before.name != self.after.name:
            yield RenameType(type_kind=self.kind, from_=self.before.name, to=self.after.name)

    def _ends(self) -> Iterator[MigrationStep]:
        if not (isinstance(self.before, EdgeType) and isinstance(self.after, EdgeType)):
            return
        ends = [self.new_names.get(each) for each in (self.before.source, self.before.target)]
        if ends != [self.after.source, self.after.target]:
            yield self._unsupported("an edge type cannot connect other types")
        if self.before.cardinality != self.after.cardinality:
            yield self._unsupported("the cardinality of an edge type cannot change")

    def _properties(self) -> Iterator[MigrationStep]:
        wanted = {each.identity: each for each in self.after.properties.values()}
        known = {each.identity: each for each in self.before.properties.values()}
        for identity, item in known.items():
            if identity not in wanted:
                yield DropProperty(
                    type_kind=self.kind, type_name=self.after.name, property_name=item.name
                )
            elif wanted[identity].name != item.name:
                yield RenameProperty(
                    type_kind=self.kind,
                    type_name=self.after.name,
                    from_=item.name,
                    to=wanted[identity].name,
                )
        for identity, item in wanted.items():
            if identity in known:
                yield from self._property(known[identity], item)
            else:
                yield self._add(item)

    def _add(self, item: Property) -> MigrationStep:
        if item.identity in self.dropped:
            return RestoreProperty(
                type_kind=self.kind,
                type_name=self.after.name,
                property_name=item.name,
                property_type=_type_text(item),
            )
        if not item.nullable and item.default is None:
            reason = "a new required property needs a @default for existing rows"
            return self._unsupported(reason, item.name)
        return AddProperty(
            type_kind=self.kind,
            type_name=self.after.name,
            property_name=item.name,
            property_type=_type_text(item),
        )

    def _property(self, before: Property, after: Property) -> Iterator[MigrationStep]:
        if before.type != after.type:
            yield self._retype(before, after)
        if before.nullable != after.nullable:
            how = "required" if before.nullable else "nullable"
            yield self._unsupported(f"a property cannot become {how}", after.name)
        if before.default != after.default:
            yield self._unsupported("the default of a property cannot change", after.name)
        if self._embed(before) != (after.embed and (after.embed.source, after.embed.model)):
            reason = "the @embed of a property cannot change"
            yield self._unsupported(reason, after.name)
        if _notes(before) != _notes(after):
            yield UpdatePropertyMetadata(
                type_kind=self.kind,
                type_name=self.after.name,
                property_name=after.name,
                annotations=_metadata_annotations(after),
            )

    def _retype(self, before: Property, after: Property) -> MigrationStep:
        old, new = before.type, after.type
        if isinstance(old, EnumType) and isinstance(new, EnumType):
            if set(old.values) <= set(new.values):
                return ExtendEnum(
                    type_kind=self.kind,
                    type_name=self.after.name,
                    property_name=after.name,
                    values=tuple(each for each in new.values if each not in old.values),
                )
            gone = ", ".join(each for each in old.values if each not in new.values)
            return self._unsupported(f"an enum cannot lose values: {gone}", after.name)
        return self._unsupported(f"its type cannot change from {old} to {new}", after.name)

    def _embed(self, before: Property) -> tuple[str, str | None] | None:
        """Return the source and model of a vector, the source under its new name."""
        if before.embed is None:
            return None
        return self._new_name(before.embed.source), before.embed.model

    def _new_name(self, name: str) -> str:
        return _new_name(name, self.before, self.after)

    def _constraints(self) -> Iterator[MigrationStep]:
        if tuple(map(self._new_name, self.before.key)) != self.after.key:
            yield self._unsupported("the key of a type cannot change")
        old, new = self._rules(self.before, self._new_name), self._rules(self.after, str)
        for rule in old:
            if rule not in new:
                yield DropConstraint(
                    type_kind=self.kind, type_name=self.after.name, constraint=rule
                )
        for rule in new:
            if rule not in old:
                yield AddConstraint(type_kind=self.kind, type_name=self.after.name, constraint=rule)

    @staticmethod
    def _rules(item: AnyType, name: Callable[[str], str]) -> list[AnyConstraint]:
        rules: list[AnyConstraint] = [
            *(UniqueConstraint(properties=tuple(map(name, each))) for each in item.unique),
            *(IndexConstraint(properties=tuple(map(name, each))) for each in item.indexes),
        ]
        if isinstance(item, NodeType):
            rules += [replace(each, property=name(each.property)) for each in item.ranges]
            rules += [replace(each, property=name(each.property)) for each in item.checks]
        return rules

    def _metadata(self) -> Iterator[MigrationStep]:
        before, after = self.before, self.after
        if isinstance(before, Interface) or isinstance(after, Interface):
            return
        had, has = (
            each.implements if isinstance(each, NodeType) else () for each in (before, after)
        )
        for gone in had:
            if gone not in has:
                yield DropInterface(type_name=after.name, interface=gone)
        kept = tuple(each for each in had if each in has)
        if kept != has or _notes(before) != _notes(after):
            yield UpdateTypeMetadata(
                type_kind=self.kind, name=after.name, annotations=_metadata_annotations(after)
            )

    def _unsupported(self, reason: str, name: str | None = None) -> UnsupportedChange:
        entity = f"{self.kind} {self.after.name}" if name is None else f"{self.after.name}.{name}"
        return UnsupportedChange(entity=entity, reason=reason)


def _notes(item: Property | NodeType | EdgeType) -> tuple[object, ...]:
    instruction = None if isinstance(item, Property) else item.instruction
    return item.description, instruction, item.annotations


def _metadata_annotations(item: Property | NodeType | EdgeType) -> tuple[Annotation, ...]:
    """Return description, instruction and annotations of a type or property as annotations."""
    instruction = None if isinstance(item, Property) else item.instruction
    named = (("description", item.description), ("instruction", instruction))
    notes = [Annotation(name=name, value=value) for name, value in named if value is not None]
    return (*notes, *item.annotations)


def _type_text(item: Property) -> str:
    return f"{item.type}{'?' if item.nullable else ''}"
