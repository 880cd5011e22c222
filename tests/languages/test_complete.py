"""What is offered at a place of a query, whether or not the text parses."""

import pytest

from omnigraph.query.editing.complete import complete
from omnigraph.schema.compile import compile_schema

CATALOG = compile_schema(
    """
    interface Named { name: String }
    node Person implements Named { name: String @key  age: I32?  mood: enum(calm, "very-angry") }
    node Company implements Named { name: String @key  founded: Date? }
    node City { name: String @key }
    edge Knows: Person -> Person { since: Date? }
    edge WorksAt: Person -> Company
    edge LiesIn: Company -> City
    """
)


def offered(text: str, *, catalog: bool = True) -> dict[str, str]:
    """Return the labels and kinds at the place of the last `|`, or of `¦`."""
    mark = "¦" if "¦" in text else "|"
    found = complete(text.replace(mark, "", 1), text.index(mark), CATALOG if catalog else None)
    return {each.label: str(each.kind) for each in found.items}


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("|", {"query": "keyword", "match": "keyword"}),
        ("qu|", {"query": "keyword"}),
        ("query |", {}),
        ("query a(|", {}),
        ("query a($n: S|", {"String": "type"}),
        ("query a($n: [I|", {"I32": "type", "I64": "type"}),
        ("query a() @|", {"description": "keyword", "instruction": "keyword"}),
        ("query a() { m|", {"match": "keyword"}),
        (
            "query a() { match { $p: |",
            dict.fromkeys(["Person", "Company", "City", "Named"], "type"),
        ),
        ("query a() { match { $p: Pe|", {"Person": "type"}),
        (
            "query a() { match { $p: Person { |",
            dict.fromkeys(["name", "age", "mood", "id"], "property"),
        ),
        ("query a() { match { $p: Person { name: $x, a|", {"age": "property"}),
        ("query a() { match { $p: Person $p.a|", {"age": "property"}),
        ("query a() { match { $p: Person $p |", {"knows": "edge", "worksAt": "edge"}),
        ("query a() { match { $c: City $c |", {"liesIn": "edge"}),
        ("query a() { match { $p: Person $p knows|w¦", {"worksAt": "edge"}),
        ("query a() { match { $p: Person $p worksAt $c $c.|", {"name", "founded", "id"}),
        ("query a() { match { $p: Person $p $e:knows $q $e.s|", {"since": "property"}),
        (
            "query a() { match { $p: Person $p.mood = |",
            {'"calm"': "keyword", '"very-angry"': "keyword"},
        ),
        ("query a($n: String) { match { $p: Person { name: $|", {"$p", "$n"}),
        ("query a($n: String) { match { $p: Person } return { $p.n|", {"name": "property"}),
        ("query a() { match { $p: Person } |", {"return", "insert", "replace", "set", "match"}),
        ("query a() { match { $p: Person } ret|", {"return": "keyword"}),
        ("query a() { match { $p: Person } return { co|", {"count", "collect", "coalesce"}),
        (
            "query a() { match { $p: Person } return { $p.name as who } |",
            {"having", "order", "skip", "limit"},
        ),
        ("query a() { match { $p: Person } return { $p.name as who } order { w|", {"who"}),
        ("query a() { match { $p: Person } return { $p.name as who } order { who d|", {"desc"}),
        ("query a() { insert |", {"Person", "Company", "City", "Knows", "WorksAt", "LiesIn"}),
        ("query a() { insert Knows { |", {"from", "to", "since"}),
        ("query a() { insert Knows { from: $a, |", {"to", "since"}),
        ("query a() { update Person |", {"set": "keyword"}),
        ("query a() { update Person set { ag|", {"age": "property"}),
        ("query a() { update Person set { age: 1 } where n|", {"name", "not"}),
        ("query a() { delete Person where mood = |", {'"calm"', '"very-angry"'}),
        ("query a() { match { $p: Person } set $|", {"$p": "variable"}),
        ("query a() { match { $p: Person } set $p { mo|", {"mood": "property"}),
        ("match { $p: Person } return { $p.na|", {"name": "property"}),
        ("match { $p: Person } re|", {"return": "keyword", "replace": "keyword"}),
        ("query a() { match { $p: Person } return { $p } } |", {"query", "match"}),
        ('query a() { match { $p: Person { name: "a|', {}),
        ("query a() { // a comm|", {}),
        ("query a() { match { $p: Person $p knows { 1|", {}),
    ],
)
def test_what_fits_a_place_is_offered(text: str, labels: dict[str, str] | set[str]) -> None:
    found = offered(text)

    if isinstance(labels, set):
        assert labels <= set(found), found
    elif all(each in ("edge", "keyword") for each in labels.values()):
        assert labels.items() <= found.items(), found
        assert not [each for each, kind in found.items() if kind == "edge" and each not in labels]
    else:
        assert found == labels


def test_names_behind_the_place_are_known_as_well() -> None:
    found = offered("query a() { match { $q.| $q: Company } return { $q } }")

    assert found == dict.fromkeys(["name", "founded", "id"], "property")


def test_an_item_says_what_it_is_and_what_is_written() -> None:
    text = "query a() { insert Person { na"
    (item,) = complete(text, len(text), CATALOG).items

    assert item.to_json() == {
        "label": "name",
        "kind": "property",
        "detail": "String",
        "insert": "name: ",
    }


def test_the_word_that_is_begun_is_replaced() -> None:
    text = "query a() { match { $p: Pers"

    assert complete(text, len(text), CATALOG).start == text.index("Pers")
    assert complete("", 10, None).start == 0


def test_without_a_schema_words_and_variables_are_offered() -> None:
    assert offered("query a() { match { $p: |", catalog=False) == {}
    assert "return" in offered("query a() { match { $p: Person } |", catalog=False)
    assert "$p" in offered("query a() { match { $p: Person } return { $|", catalog=False)


def test_no_place_of_no_text_fails() -> None:
    texts = [
        'query a($n: enum(x, y)?, $m: [I64]) @description("d") { match { $p: Person { name: $n } '
        "not { $p $e:<knows>|worksAt{1,3} $q } $p.age + 1 > 2 } return distinct { $p.*, "
        "collect({ a: $p.name } order { $p.name desc } limit 3) as all } having { all is null } }",
        "} ) ] { ( [ $ . : @ | < > , query query query ( match { $",
        'match { "unclosed',
        "/* open",
        "query é() { match { $p: Pérson } }",
    ]
    for text in texts:
        for position in range(len(text) + 1):
            found = complete(text, position, CATALOG)
            assert 0 <= found.start <= position
