"""Build: the syntax tree of a schema to its catalog, checked against every static rule."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TypeVar, cast

from omnigraph.errors import Code
from omnigraph.frozen import dataclass
from omnigraph.schema.annotations import Notes, read_annotations
from omnigraph.schema.catalog import (
    AnyType,
    Catalog,
    EdgeType,
    Embed,
    Interface,
    NodeType,
    Property,
    types_of,
)
from omnigraph.schema.constraints import Constraints
from omnigraph.schema.identity import mint
from omnigraph.schema.parsing import ast
from omnigraph.schema.types import STRING, VectorType
from omnigraph.schema.values import BadValue, Value, coerce_literal
from omnigraph.span import Span
from omnigraph.syntax.literal import Literal, Name
from omnigraph.syntax.problems import Problems

_RESERVED = {
    "node": frozenset(("id",)),
    "interface": frozenset(("id",)),
    "edge": frozenset(("id", "src", "dst", "from", "to")),
}
# Columns that Lance adds to scans and searches.
_NEVER = frozenset(
    (
        "_distance",
        "_relevance_score",
        "_row_created_at_version",
        "_row_last_updated_at_version",
        "_rowaddr",
        "_rowid",
        "_rowoffset",
        "_score",
    )
)


_Stored = TypeVar("_Stored", NodeType, EdgeType)
_Declared = TypeVar("_Declared", ast.Node, ast.Edge)


def build_catalog(schema: ast.Schema, accepted: Catalog | None, problems: Problems) -> Catalog:
    """Build the catalog of a schema; types and properties of `accepted` keep their identity."""
    return _Builder(schema, accepted, problems).build()


@dataclass(frozen=True, slots=True)
class _DeclaredProperty:
    """A property with the annotations it was declared with."""

    property: Property
    notes: Notes
    span: Span


@dataclass(slots=True)
class _Builder:
    schema: ast.Schema
    accepted: Catalog | None
    problems: Problems
    interfaces: dict[str, Interface] = field(default_factory=dict)
    nodes: dict[str, NodeType] = field(default_factory=dict)
    edges: dict[str, EdgeType] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)
    renamed: set[tuple[str, str]] = field(default_factory=set)

    def build(self) -> Catalog:
        declared = self._unique_declarations()
        self.declared = {declaration.name.text for declaration in declared}
        if self.accepted is not None:
            self.taken = {item.identity for _, item in types_of(self.accepted)}
            self.taken |= {*self.accepted.dropped_types}
        for declaration in declared:
            if isinstance(declaration, ast.Interface):
                self.interfaces[declaration.name.text] = self._interface(declaration)
        for declaration in declared:
            if isinstance(declaration, ast.Node):
                self.nodes[declaration.name.text] = self._continued("node", declaration, self._node)
        for declaration in declared:
            if isinstance(declaration, ast.Edge):
                self.edges[declaration.name.text] = self._continued("edge", declaration, self._edge)
        return Catalog(self.interfaces, self.nodes, self.edges)

    def _continued(
        self,
        place: str,
        declaration: _Declared,
        make: Callable[[_Declared, Notes, _Stored | None], _Stored],
    ) -> _Stored:
        """Return a declared type, which continues the accepted one of its name.

        Without one it restores the dropped type of its name, unless that does not fit.
        """
        notes = read_annotations(declaration.annotations, place, self.problems)
        old = self._accepted_type(place, declaration.name, notes.renamed_from)
        known = self._dropped_types(place, declaration.name.text) if old is None else []
        renamed: set[tuple[str, str]] = {*self.renamed}
        for dropped in known:
            from omnigraph.schema.migration import fits

            made = make(declaration, notes, cast(_Stored, dropped))
            if self.problems.total or fits(place, dropped, made):
                return made
            self.renamed = {*renamed}
        return make(declaration, notes, cast("_Stored | None", old))

    def _dropped_types(self, place: str, name: str) -> Sequence[NodeType | EdgeType]:
        """Return the types that were dropped under a name, the last first."""
        kind = NodeType if place == "node" else EdgeType
        known = () if self.accepted is None else self.accepted.dropped_types.values()
        found = [each for each in known if isinstance(each, kind) and each.name == name]
        return found[::-1]

    def _unique_declarations(self) -> list[ast.Declaration]:
        """Return the declarations; report and drop those whose name is taken."""
        seen: dict[str, ast.Declaration] = {}
        twins: dict[str, str] = {}
        for declaration in self.schema.declarations:
            name = declaration.name
            if name.text in seen:
                message = f"'{name.text}' is declared twice"
                self.problems.report(Code.DUPLICATE_TYPE, name.span, message)
                continue
            if isinstance(declaration, ast.Edge):
                twin = twins.setdefault(name.text.casefold(), name.text)
                if twin != name.text:
                    message = f"edges '{name.text}' and '{twin}' differ only in case"
                    hint = "traversals ignore the case of edges; rename one of them"
                    self.problems.report(Code.EDGE_TWINS, name.span, message, hint)
                    continue
            seen[name.text] = declaration
        return list(seen.values())

    def _interface(self, declaration: ast.Interface) -> Interface:
        name = declaration.name.text
        old = None if self.accepted is None else self.accepted.interfaces.get(name)
        members = self._members(declaration.properties, "interface", name, _columns(old))
        constraints = self._constraints("interface", name, members)
        self._check_properties(members, constraints)
        return Interface(
            name=name,
            identity=old.identity if old else self._mint("interface", name),
            properties=_properties(members),
            key=constraints.key,
            unique=tuple(constraints.unique),
            indexes=tuple(constraints.indexes),
        )

    def _node(self, declaration: ast.Node, notes: Notes, old: NodeType | None) -> NodeType:
        name = declaration.name.text
        had = self._dropped_properties(old)
        members = self._members(declaration.properties, "node", name, _columns(old), had)
        implemented = self._implemented(declaration, members, _columns(old), had)
        constraints = self._constraints("node", name, members)
        for constraint in declaration.constraints:
            constraints.body(constraint)
        for interface, span in implemented:
            constraints.inherit(interface, span)
        self._check_properties(members, constraints)
        return NodeType(
            name=name,
            identity=old.identity if old else self._mint("node", name),
            properties=_properties(members),
            implements=tuple(interface.name for interface, _ in implemented),
            key=constraints.key,
            unique=tuple(constraints.unique),
            indexes=tuple(constraints.indexes),
            ranges=tuple(constraints.ranges.values()),
            checks=tuple(constraints.checks),
            renamed_from=_text(notes.renamed_from),
            description=notes.description,
            instruction=notes.instruction,
            annotations=tuple(notes.kept),
        )

    def _edge(self, declaration: ast.Edge, notes: Notes, old: EdgeType | None) -> EdgeType:
        name = declaration.name.text
        had = self._dropped_properties(old)
        members = self._members(declaration.properties, "edge", name, _columns(old), had)
        constraints = self._constraints("edge", name, members)
        for constraint in declaration.constraints:
            constraints.body(constraint)
        self._check_properties(members, constraints)
        for end in (declaration.source, declaration.target):
            self._check_end(end)
        return EdgeType(
            name=name,
            identity=old.identity if old else self._mint("edge", name),
            source=declaration.source.text,
            target=declaration.target.text,
            properties=_properties(members),
            cardinality=notes.cardinality,
            key=constraints.key,
            unique=tuple(constraints.unique),
            indexes=tuple(constraints.indexes),
            renamed_from=_text(notes.renamed_from),
            description=notes.description,
            instruction=notes.instruction,
            annotations=tuple(notes.kept),
        )

    def _dropped_properties(self, old: NodeType | EdgeType | None) -> Sequence[Property]:
        """Return what an accepted type dropped before, the last first."""
        if old is None or self.accepted is None:
            return ()
        return [*self.accepted.dropped_properties(old.identity).values()][::-1]

    def _check_end(self, end: Name) -> None:
        if end.text in self.nodes:
            return
        if end.text in self.interfaces:
            message = f"an edge connects node types; '{end.text}' is an interface"
            self.problems.report(Code.UNDECLARED_TYPE, end.span, message)
            return
        message = f"unknown node type '{end.text}'"
        hint = self.problems.nearest(end.text, self.nodes)
        self.problems.report(Code.UNDECLARED_TYPE, end.span, message, hint)

    def _implemented(
        self,
        declaration: ast.Node,
        members: dict[str, _DeclaredProperty],
        old: Mapping[str, Property],
        had: Sequence[Property],
    ) -> list[tuple[Interface, Span]]:
        """Add the properties of each interface; return the interfaces with their spans."""
        found: dict[str, tuple[Interface, Span]] = {}
        declared = {*members}
        taken = {member.property.identity for member in members.values()}
        taken |= {item.identity for item in (*old.values(), *had)}
        for name in declaration.implements:
            interface = self.interfaces.get(name.text)
            if interface is None:
                message = f"unknown interface '{name.text}'"
                hint = self.problems.nearest(name.text, self.interfaces)
                self.problems.report(Code.UNDECLARED_TYPE, name.span, message, hint)
            elif name.text in found:
                message = f"'{name.text}' is implemented twice"
                self.problems.report(Code.DUPLICATE_TYPE, name.span, message)
            else:
                found[name.text] = (interface, name.span)
                for inherited in interface.properties.values():
                    self._inherit(inherited, name, members, _Before(old, had, taken))
        owners = {name: each.name for each, _ in found.values() for name in each.properties}
        self._check_inherited_renames(members, declared, owners)
        return list(found.values())

    def _inherit(
        self,
        inherited: Property,
        interface: Name,
        members: dict[str, _DeclaredProperty],
        before: "_Before",
    ) -> None:
        own = members.get(inherited.name)
        if own is None:
            added = before.identified(inherited)
            members[added.name] = _DeclaredProperty(added, Notes(embed=added.embed), interface.span)
        elif (own.property.type, own.property.nullable) != (inherited.type, inherited.nullable):
            wanted = f"{inherited.type}{'?' if inherited.nullable else ''}"
            message = f"'{inherited.name}' must be {wanted}, as {interface.text} declares it"
            self.problems.report(Code.INTERFACE_MISMATCH, own.span, message)
        else:
            complete = _complete(own, inherited)
            if own.property.renamed_from is None and inherited.renamed_from in before.old:
                complete = before.identified(complete)
            members[inherited.name] = replace(own, property=complete)

    def _check_inherited_renames(
        self,
        members: Mapping[str, _DeclaredProperty],
        declared: Collection[str],
        owners: Mapping[str, str],
    ) -> None:
        """Report a name that is renamed and still there, or renamed twice, by an interface.

        `owners` are the interfaces of properties. Those `declared` by the type itself were compared
        with each other before.
        """
        first: dict[str, _DeclaredProperty] = {}
        for name, member in members.items():
            old, own = member.property.renamed_from, member.notes.renamed_from
            if old is None:
                continue
            earlier = first.setdefault(old, member)
            if old in members and own is not None and old not in declared:
                message = f"cannot rename from '{old}', which {owners[old]} declares"
                hint = f"remove the @rename_from of '{name}' if that rename has been applied"
                self.problems.report(Code.BAD_RENAME, own.span, message, hint)
            elif old in members and own is None:
                message = f"{owners[name]} renames '{old}', which is declared here"
                self.problems.report(Code.BAD_RENAME, members[old].span, message)
            elif earlier is not member and (own is None or earlier.notes.renamed_from is None):
                message = f"'{old}' is renamed twice"
                self.problems.report(Code.BAD_RENAME, (own or member).span, message)

    def _members(
        self,
        declared: Sequence[ast.Property],
        place: str,
        type_name: str,
        old: Mapping[str, Property],
        had: Sequence[Property] = (),
    ) -> dict[str, _DeclaredProperty]:
        members: dict[str, _DeclaredProperty] = {}
        before = _Before(old, had, {item.identity for item in (*old.values(), *had)})
        names = {item.name.text for item in declared}
        for item in declared:
            name = item.name
            if name.text in members:
                message = f"{type_name} declares '{name.text}' twice"
                self.problems.report(Code.DUPLICATE_PROPERTY, name.span, message)
                continue
            if name.text in _RESERVED[place] or name.text in _NEVER:
                message = f"'{name.text}' is a reserved name"
                self.problems.report(Code.RESERVED_NAME, name.span, message)
                continue
            notes = read_annotations(item.annotations, "property", self.problems)
            self._check_rename(notes.renamed_from, name, names, type_name)
            if old:
                self._check_origin(notes.renamed_from, name, old)
            made = before.identified(_property(item, notes))
            members[name.text] = _DeclaredProperty(made, notes, name.span)
        return members

    def _constraints(
        self, place: str, type_name: str, members: dict[str, _DeclaredProperty]
    ) -> Constraints:
        constraints = Constraints(place, type_name, _properties(members), self.problems)
        for name, member in members.items():
            for kind, annotation in member.notes.flags.items():
                constraints.flag(kind, name, annotation.span)
        return constraints

    def _check_properties(
        self, members: dict[str, _DeclaredProperty], constraints: Constraints
    ) -> None:
        """Check what a property says about itself, and fill in its default."""
        for name, member in members.items():
            if member.notes.embed_annotation is not None and member.property.embed is not None:
                self._check_embed(member, member.property.embed, members, constraints.place)
            if member.notes.default is not None:
                default = self._default(member, member.notes.default, constraints)
                members[name] = replace(member, property=replace(member.property, default=default))
            elif member.property.default is not None:
                self._check_default(member, member.property.default, constraints, member.span)

    def _check_embed(
        self,
        member: _DeclaredProperty,
        embed: Embed,
        members: Mapping[str, _DeclaredProperty],
        place: str,
    ) -> None:
        source = members.get(embed.source)
        hint = None
        if place == "edge":
            message = "@embed is not allowed in an edge type"
        elif not isinstance(member.property.type, VectorType):
            message = f"@embed needs a Vector; '{member.property.name}' is {member.property.type}"
        elif source is None:
            message = f"@embed names the unknown property '{embed.source}'"
            hint = self.problems.nearest(embed.source, members)
        elif source.property.type != STRING:
            message = f"@embed reads a String; '{embed.source}' is {source.property.type}"
        else:
            return
        assert member.notes.embed_annotation is not None
        self.problems.report(Code.BAD_EMBED, member.notes.embed_annotation.span, message, hint)

    def _default(
        self, member: _DeclaredProperty, literal: Literal, constraints: Constraints
    ) -> Value | None:
        try:
            value = coerce_literal(literal.value, member.property.type)
        except BadValue as bad:
            message = f"the default does not fit '{member.property.name}': {bad}"
            self.problems.report(Code.BAD_DEFAULT, literal.span, message)
            return None
        self._check_default(member, value, constraints, literal.span)
        return value

    def _check_default(
        self, member: _DeclaredProperty, value: Value, constraints: Constraints, span: Span
    ) -> None:
        name = member.property.name
        broken = constraints.broken_by(name, value)
        if broken is not None:
            message = f"the default of '{name}' breaks its @{broken}"
            self.problems.report(Code.BAD_DEFAULT, span, message)

    def _accepted_type(
        self, place: str, name: Name, renamed_from: Name | None
    ) -> NodeType | EdgeType | None:
        """Return the accepted type that a declaration continues, under its old or new name."""
        self._check_rename(renamed_from, name, self.declared, place)
        if self.accepted is None:
            return None
        known: Mapping[str, NodeType | EdgeType] = (
            self.accepted.nodes if place == "node" else self.accepted.edges
        )
        self._check_origin(renamed_from, name, known)
        return known.get(name.text) or known.get(_text(renamed_from) or "")

    def _check_origin(self, old: Name | None, name: Name, known: Mapping[str, object]) -> None:
        """Report a rename from an unknown name, or to a name that exists."""
        if old is None or (old.text in known) != (name.text in known):
            return
        message = (
            f"cannot rename '{old.text}' to '{name.text}': the accepted schema has no '{old.text}'"
        )
        hint = self.problems.nearest(old.text, known)
        if old.text in known:
            message = f"cannot rename '{old.text}' to '{name.text}': '{name.text}' already exists"
            hint = None
        self.problems.report(Code.BAD_RENAME, old.span, message, hint)

    def _check_rename(
        self, old: Name | None, name: Name, declared: Collection[str], scope: str
    ) -> None:
        if old is None:
            return
        message, hint = None, None
        if old.text == name.text:
            message = f"'{name.text}' cannot be renamed to itself"
        elif old.text in declared:
            message = f"cannot rename from '{old.text}', which is still declared"
            hint = f"remove the @rename_from of '{name.text}' if that rename has been applied"
        elif (scope, old.text) in self.renamed:
            message = f"'{old.text}' is renamed twice"
        self.renamed.add((scope, old.text))
        if message is not None:
            self.problems.report(Code.BAD_RENAME, old.span, message, hint)

    def _mint(self, kind: str, name: str) -> str:
        identity = mint(f"{kind}:{name}", self.taken)
        self.taken.add(identity)
        return identity


@dataclass(frozen=True, slots=True)
class _Before:
    """The properties of an accepted type, those it had still earlier, and all identities."""

    old: Mapping[str, Property]
    had: Sequence[Property]
    taken: set[str]

    def identified(self, item: Property) -> Property:
        """Return a property with the identity of the one it continues or restores, or a new one."""
        source = self.old.get(item.name) or self.old.get(item.renamed_from or "")
        if source is None:
            source = next(filter(partial(_restores, item), self.had), None)
        identity = mint(item.name, self.taken) if source is None else source.identity
        self.taken.add(identity)
        return replace(item, identity=identity)


def _restores(item: Property, dropped: Property) -> bool:
    from omnigraph.schema.migration import property_fits

    return item.name == dropped.name and property_fits(dropped, item)


def _property(item: ast.Property, notes: Notes) -> Property:
    return Property(
        name=item.name.text,
        identity="",
        type=item.type,
        nullable=item.nullable,
        embed=notes.embed,
        renamed_from=_text(notes.renamed_from),
        description=notes.description,
        annotations=tuple(notes.kept),
    )


def _complete(own: _DeclaredProperty, inherited: Property) -> Property:
    """Return a repeated property completed by what only its interface says about it."""
    return replace(
        own.property,
        default=inherited.default if own.notes.default is None else None,
        embed=own.property.embed or inherited.embed,
        description=own.property.description or inherited.description,
        renamed_from=own.property.renamed_from or inherited.renamed_from,
        annotations=own.property.annotations or inherited.annotations,
    )


def _properties(members: Mapping[str, _DeclaredProperty]) -> dict[str, Property]:
    return {name: member.property for name, member in members.items()}


def _columns(old: AnyType | None) -> Mapping[str, Property]:
    return {} if old is None else old.properties


def _text(name: Name | None) -> str | None:
    return None if name is None else name.text
