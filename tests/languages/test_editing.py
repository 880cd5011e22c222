"""Schemas are completed and laid out, and grammars for editors are made of the table of words."""

import re
from pathlib import Path

import pytest

from omnigraph.errors import SchemaError
from omnigraph.query.editor.complete_schema import complete_schema
from omnigraph.query.editor.textmate import LANGUAGES, grammar, grammar_text
from omnigraph.schema.parsing.layout import format_schema

ROOT = Path(__file__).parents[2]
SCHEMA = "interface Named { name: String }\nnode Person { name: String @key }\n"
QUERY = """\
// people
query friends($who: String, $n: I64?) @description("a \\" b") {
  match { $p: Person { name: $who }  not { $p knows $q }  lower($p.name) != "x" }
  return distinct { $p.name as name, count($p) as n } order { n desc } limit 5
}
"""


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("", ["node", "edge", "interface"]),
        ("no", ["node"]),
        ("node A ", ["implements"]),
        ("node A implements ", ["Named"]),
        ("node A { b: ", None),
        ("node A { b: Str", ["String"]),
        ("node A { b: [I3", ["I32"]),
        ("node A { b: String @k", ["key"]),
        ("node A { b: String @range(", ["b"]),
        ("node A @", ["rename_from", "description", "instruction"]),
        ("edge E: ", ["Person"]),
        ("edge E: Person -> P", ["Person"]),
        ("edge E: Person -> Person @c", ["card"]),
        ('node A { b: String @description("no', []),
        ("// no", []),
        ("/* no", []),
        ("/* no\n", []),
        ('// the "best"\nno', ["node"]),
    ],
)
def test_what_fits_a_place_of_a_schema_is_offered(text: str, labels: list[str] | None) -> None:
    whole = SCHEMA + text
    found = [each.label for each in complete_schema(whole, len(whole)).items]

    if labels is None:
        assert {"String", "I64", "Vector", "enum"} <= set(found)
    else:
        assert found == labels


def test_a_schema_is_laid_out_in_one_way_and_keeps_its_comments() -> None:
    text = (
        '// head\nnode   Person @description( "x" ) implements Named,Other { name:String@key\n'
        " age :I32?   // years\n @range(age , 0 .. 150 ) score: F64 @default( -1.5 )"
        ' tags:[String]  v:Vector( 3 )@embed("name",model="m") mood: enum(calm,very-angry) }\n'
        "edge Knows:Person->Person @card(0..*){since:Date?}\nedge A : Person->Person\n\n"
        "/* block */\ninterface Named{name:String}"
    )
    written = format_schema(text)

    assert written == (
        '// head\nnode Person @description("x") implements Named, Other {\n'
        "  name: String @key\n  age: I32?  // years\n  @range(age, 0..150)\n"
        '  score: F64 @default(-1.5)\n  tags: [String]\n  v: Vector(3) @embed("name", model="m")\n'
        "  mood: enum(calm, very-angry)\n}\n\n"
        "edge Knows: Person -> Person @card(0..*) { since: Date? }\nedge A: Person -> Person\n\n"
        "/* block */\ninterface Named { name: String }\n"
    )
    assert format_schema(written) == written


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*/*.pg")), ids=lambda path: path.name)
def test_the_schemas_of_examples_are_laid_out(path: Path) -> None:
    assert format_schema(path.read_text()) == path.read_text()


def test_a_schema_that_does_not_parse_is_not_laid_out() -> None:
    with pytest.raises(SchemaError):
        format_schema("node {")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_grammar_of_editors_is_the_one_of_the_table(language: str) -> None:
    file = ROOT / f"editors/syntaxes/{language}.tmLanguage.json"
    hint = f"omnigraph lsp --grammar {language} > {file.relative_to(ROOT)}"

    assert file.read_text(encoding="utf-8") == grammar_text(language), hint


@pytest.mark.parametrize(
    ("language", "text", "scopes"),
    [
        (
            "gq",
            QUERY,
            {
                "query": "keyword.control",
                "friends": "entity.name.function",
                "$who": "variable.other",
                "String": "support.type",
                "@description": "storage.type.annotation",
                "match": "keyword.control",
                "Person": "entity.name.type",
                "not": "keyword.operator.word",
                "lower": "support.function",
                "count": "support.function",
                "!=": "keyword.operator",
                "desc": "keyword.control",
                "5": "constant.numeric",
                "// people": "comment.line.double-slash",
            },
        ),
        (
            "pg",
            SCHEMA + "edge Knows: Person -> Person @card(0..1)",
            {
                "interface": "keyword.declaration",
                "node": "keyword.declaration",
                "name": "variable.other.property",
                "String": "support.type",
                "@key": "storage.type.annotation",
                "Person": "entity.name.type",
                "->": "keyword.operator",
            },
        ),
    ],
)
def test_a_grammar_tells_words_apart(language: str, text: str, scopes: dict[str, str]) -> None:
    found = coloured(language, text)

    assert {word: found.get(word) for word in scopes} == {
        word: f"{scope}.{language}" for word, scope in scopes.items()
    }


def coloured(language: str, text: str) -> dict[str, str]:
    """Return the scope of each piece of a text, by the first rule that matches at its place."""
    rules = [
        (each["name"], re.compile(each.get("match") or _spanning(each), re.MULTILINE))
        for each in grammar(language)["patterns"]
    ]
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        matches = ((name, rule.match(text, at)) for name, rule in rules)
        name, match = next(((n, m) for n, m in matches if m is not None), ("", None))
        if match is None or match.end() == at:
            at += 1
            continue
        found.setdefault(match.group(), name)
        at = match.end()
    return found


def _spanning(rule: dict[str, str]) -> str:
    return rf"{rule['begin']}(?:\\.|[\s\S])*?{rule['end']}"
