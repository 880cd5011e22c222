"""What is true of every schema: it prints, encodes, hashes and keeps its identities."""

import pickle
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph import SchemaError, compile_schema
from omnigraph.schema.catalog import Cardinality, Catalog, EdgeType, NodeType, Property
from omnigraph.schema.codec import content_hash, decode_catalog, encode_catalog
from omnigraph.schema.printer import print_schema
from omnigraph.schema.types import DATE
from tests.properties.schemas import schema_pieces, schema_texts, spaced

Change = Callable[[Catalog], Catalog]


@settings(max_examples=100)
@given(schema_texts())
def test_a_printed_schema_compiles_back_to_the_same_catalog(text: str) -> None:
    catalog = compile_schema(text)

    again = compile_schema(print_schema(catalog))

    assert again == catalog
    assert repr(again) == repr(catalog)
    assert content_hash(again) == content_hash(catalog)
    assert print_schema(again) == print_schema(catalog)


@settings(max_examples=40)
@given(schema_texts())
def test_an_encoded_and_a_pickled_catalog_come_back_the_same(text: str) -> None:
    catalog = compile_schema(text)

    assert repr(decode_catalog(encode_catalog(catalog))) == repr(catalog)
    assert decode_catalog(encode_catalog(catalog)) == catalog
    assert pickle.loads(pickle.dumps(catalog)) == catalog


@settings(max_examples=40)
@given(st.data())
def test_white_space_and_comments_do_not_change_the_hash(data: st.DataObject) -> None:
    pieces = data.draw(schema_pieces())
    text = data.draw(spaced(pieces))

    assert content_hash(compile_schema(text)) == content_hash(compile_schema(" ".join(pieces)))


@settings(max_examples=40)
@given(schema_texts())
def test_every_real_change_changes_the_hash(text: str) -> None:
    catalog = compile_schema(text)
    for change in CHANGES:
        changed = change(catalog)
        if changed != catalog:
            assert content_hash(changed) != content_hash(catalog)
            assert content_hash(compile_schema(print_schema(changed))) == content_hash(changed)


@settings(max_examples=40)
@given(schema_texts())
def test_compiling_again_over_the_accepted_schema_keeps_every_identity(text: str) -> None:
    catalog = compile_schema(text)

    assert repr(compile_schema(text, accepted=catalog)) == repr(catalog)


@settings(max_examples=40)
@given(schema_texts())
def test_a_renamed_node_type_keeps_its_identity_and_those_of_its_properties(text: str) -> None:
    accepted = compile_schema(text)
    old = next(iter(accepted.nodes.values()))

    renamed = compile_schema(print_schema(_rename_node(accepted, old)), accepted=accepted)

    new = renamed.nodes["Renamed"]
    assert new.identity == old.identity
    assert _identities(new) == _identities(old)
    others = [each.identity for each in accepted.nodes.values()]
    assert [each.identity for each in renamed.nodes.values()] == others


@settings(max_examples=40)
@given(schema_texts())
def test_a_property_renamed_twice_keeps_its_identity(text: str) -> None:
    first = compile_schema(text)
    node, item = _own_property(first)
    if item is None:
        return

    second = compile_schema(_renamed_property(first, node, item.name, "once"), accepted=first)
    third = compile_schema(_renamed_property(second, node, "once", "twice"), accepted=second)

    assert third.nodes[node].properties["twice"].identity == item.identity
    assert _identities(third.nodes[node]) == _identities(first.nodes[node])


def test_an_inherited_property_keeps_its_identity_when_its_node_type_is_renamed() -> None:
    first = compile_schema("interface Named { title: String } node Person implements Named { }")
    second = compile_schema(
        'interface Named { name: String @rename_from("title") } node Person implements Named { }',
        accepted=first,
    )
    third = compile_schema(
        "interface Named { name: String } node Human @rename_from(Person) implements Named { }",
        accepted=second,
    )

    assert second.nodes["Person"].properties["name"].identity == "title"
    assert third.nodes["Human"].properties["name"].identity == "title"


def test_an_inherited_property_does_not_take_the_identity_of_a_dropped_one() -> None:
    first = compile_schema("node Person { old: String }")
    second = compile_schema('node Person { new: String @rename_from("old") }', accepted=first)
    third = compile_schema(
        "interface Aged { old: String } node Person implements Aged { }", accepted=second
    )

    dropped = second.nodes["Person"].properties["new"].identity
    assert third.nodes["Person"].properties["old"].identity != dropped


def test_a_default_from_an_interface_has_to_fit_the_range_in_the_node() -> None:
    text = (
        "interface Aged { age: I32 @default(-5) } node Person implements Aged { @range(age, 0..) }"
    )

    with pytest.raises(SchemaError, match="@range"):
        compile_schema(text)


def test_the_order_of_properties_is_no_part_of_the_hash() -> None:
    one = compile_schema("node A { a: I32 b: I32 }")
    other = compile_schema("node A { b: I32 a: I32 }")

    assert content_hash(one) == content_hash(other)


def test_a_property_named_true_can_be_indexed_and_printed() -> None:
    catalog = compile_schema("node A { true: I32 @index }")

    assert compile_schema(print_schema(catalog)) == catalog


def test_a_rename_in_an_interface_clashes_with_a_property_of_the_node() -> None:
    text = (
        'interface Aged { age: I32 @rename_from("years") }'
        " node Person implements Aged { years: I32 }"
    )

    with pytest.raises(SchemaError, match="declared here"):
        compile_schema(text)


def _first_node(catalog: Catalog, change: Callable[[NodeType], NodeType]) -> Catalog:
    node = next(iter(catalog.nodes.values()))
    return replace(catalog, nodes={**catalog.nodes, node.name: change(node)})


def _first_edge(catalog: Catalog, change: Callable[[EdgeType], EdgeType]) -> Catalog:
    for edge in catalog.edges.values():
        return replace(catalog, edges={**catalog.edges, edge.name: change(edge)})
    return catalog


def _with_property(node: NodeType) -> NodeType:
    added = Property(name="added", identity="added", type=DATE, nullable=True)
    return replace(node, properties={**node.properties, "added": added})


CHANGES: tuple[Change, ...] = (
    lambda catalog: _first_node(catalog, _with_property),
    lambda catalog: _first_node(catalog, lambda node: replace(node, description="another")),
    lambda catalog: _first_node(catalog, lambda node: replace(node, instruction="another")),
    lambda catalog: _first_node(catalog, lambda node: replace(node, annotations=())),
    lambda catalog: _first_node(catalog, lambda node: replace(node, checks=())),
    lambda catalog: _first_node(catalog, lambda node: replace(node, ranges=())),
    lambda catalog: _first_edge(catalog, lambda edge: replace(edge, cardinality=Cardinality())),
    lambda catalog: _first_edge(catalog, lambda edge: replace(edge, key=())),
    lambda catalog: _first_edge(catalog, lambda edge: replace(edge, indexes=(), unique=())),
    lambda catalog: replace(catalog, edges={}),
)


def _rename_node(catalog: Catalog, old: NodeType) -> Catalog:
    nodes = {
        ("Renamed" if name == old.name else name): (
            replace(node, name="Renamed", renamed_from=old.name) if name == old.name else node
        )
        for name, node in catalog.nodes.items()
    }
    ends = {old.name: "Renamed"}
    edges = {
        name: replace(
            edge,
            source=ends.get(edge.source, edge.source),
            target=ends.get(edge.target, edge.target),
        )
        for name, edge in catalog.edges.items()
    }
    return replace(catalog, nodes=nodes, edges=edges)


def _own_property(catalog: Catalog) -> tuple[str, Property | None]:
    """Return a property that no interface declares, and the node type that has it."""
    for node in catalog.nodes.values():
        for item in node.properties.values():
            interfaces = [catalog.interfaces[name] for name in node.implements]
            if not any(item.name in interface.properties for interface in interfaces):
                return node.name, item
    return "", None


def _renamed_property(catalog: Catalog, type_name: str, old: str, new: str) -> str:
    node = catalog.nodes[type_name]

    def now(name: str) -> str:
        return new if name == old else name

    def changed(item: Property) -> Property:
        embed = item.embed and replace(item.embed, source=now(item.embed.source))
        renamed_from = old if item.name == old else item.renamed_from
        return replace(item, name=now(item.name), embed=embed, renamed_from=renamed_from)

    renamed = replace(
        node,
        properties={now(name): changed(item) for name, item in node.properties.items()},
        key=tuple(map(now, node.key)),
        unique=tuple(tuple(map(now, columns)) for columns in node.unique),
        indexes=tuple(tuple(map(now, columns)) for columns in node.indexes),
        ranges=tuple(replace(each, property=now(each.property)) for each in node.ranges),
        checks=tuple(replace(each, property=now(each.property)) for each in node.checks),
    )
    return print_schema(replace(catalog, nodes={**catalog.nodes, type_name: renamed}))


def _identities(node: NodeType) -> list[str]:
    return [item.identity for item in node.properties.values()]
