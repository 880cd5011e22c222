"""The language server answers a real client: problems, completion, hover, layout, declarations."""

import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from omnigraph.lsp.schemas import SchemaFinder
from omnigraph.query.layout import format_queries
from tests.lsp.client import Editor, edit

SCHEMA = """\
interface Named { name: String }

// People we know.
node Person implements Named {
  name: String @key
  age: I32? @description("in years")
}

edge Knows: Person -> Person { since: Date? }
"""
QUERIES = """\
query friends($who: String) @description("é𝄞") {
  match { $p: Person { name: $who }  $p knows $f }
  return { $f.name as name, count($p) as n }
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.pg").write_text(SCHEMA)
    (tmp_path / "friends.gq").write_text(QUERIES)
    return tmp_path


def test_problems_are_those_of_the_compilers_and_follow_what_is_typed(folder: Path) -> None:
    async def script(editor: Editor) -> None:
        editor.open("friends.gq")
        assert await editor.told("friends.gq") == []

        wrong = QUERIES.replace("$p: Person", "$p: Persn")
        editor.change("friends.gq", wrong)
        (problem, *_) = await editor.told("friends.gq")
        assert problem.code == "T1"
        assert problem.message == "unknown type 'Persn'\nhint: did you mean 'Person'?"
        assert problem.severity is lsp.DiagnosticSeverity.Error
        assert problem.range.start == lsp.Position(1, 14)
        assert problem.range.end == lsp.Position(1, 19)

        editor.change("friends.gq", 'query x() { insert Person { name: "a" } }', 3)
        (warning,) = await editor.told("friends.gq")
        assert warning.severity is lsp.DiagnosticSeverity.Warning
        assert warning.range.start == lsp.Position(0, 6)

        editor.change("friends.gq", "query x( {", 4)
        assert [each.code for each in await editor.told("friends.gq")] == ["Q000"]

    edit(folder, script)


def test_a_schema_that_is_not_saved_is_the_one_that_queries_are_checked_with(folder: Path) -> None:
    async def script(editor: Editor) -> None:
        editor.open("friends.gq")
        assert await editor.told("friends.gq") == []

        editor.open("people.pg", SCHEMA.replace("edge Knows", "edge Likes"))
        assert await editor.told("people.pg") == []
        assert [each.code for each in await editor.told("friends.gq")] == ["T3"]

        editor.change("people.pg", SCHEMA.replace("I32", "I33"))
        (problem,) = await editor.told("people.pg")
        assert problem.message.startswith("expected a type, found 'I33'")

    edit(folder, script)


def test_a_schema_that_is_closed_unsaved_counts_as_it_was_saved(folder: Path) -> None:
    async def script(editor: Editor) -> None:
        editor.open("friends.gq")
        assert await editor.told("friends.gq") == []
        editor.open("people.pg", SCHEMA.replace("edge Knows", "edge Likes"))
        assert await editor.told("people.pg") == []
        assert [each.code for each in await editor.told("friends.gq")] == ["T3"]

        editor.close("people.pg")
        assert await editor.told("people.pg") == []
        assert await editor.told("friends.gq") == []

    edit(folder, script)


def test_completion_is_that_of_the_schema_and_replaces_what_is_begun(folder: Path) -> None:
    async def script(editor: Editor) -> None:
        editor.open("friends.gq", 'query q() @description("𝄞") { match { $p: Per')
        found = await editor.ask("completion", "friends.gq", (0, 46))
        (item,) = found.items
        assert (item.label, item.kind) == ("Person", lsp.CompletionItemKind.Class)
        assert item.text_edit.range.start == lsp.Position(0, 43)
        assert item.text_edit.new_text == "Person"

        editor.change("friends.gq", "query q() { match { $p: Person $p ")
        found = await editor.ask("completion", "friends.gq", (0, 34))
        assert "knows" in [each.label for each in found.items]

        editor.open("people.pg", SCHEMA + "node City { name: S")
        found = await editor.ask("completion", "people.pg", (9, 19))
        assert [each.label for each in found.items] == ["String"]

    edit(folder, script)


def test_hover_says_what_a_word_means(folder: Path) -> None:
    async def script(editor: Editor) -> None:
        editor.open("friends.gq")
        editor.open("people.pg")
        told = {}
        for name, line, character in (
            ("Person", 1, 15),
            ("knows", 1, 41),
            ("$f", 1, 46),
            ("name", 2, 15),
            ("count", 2, 30),
            ("match", 1, 4),
            ("$who", 0, 16),
        ):
            found = await editor.ask("hover", "friends.gq", (line, character))
            assert found is not None, name
            told[name] = found.contents.value
        assert "node Person implements Named {" in told["Person"]
        assert "edge Knows: Person -> Person" in told["knows"]
        assert "$f: Person" in told["$f"]
        assert "Person.name: String" in told["name"]
        assert "how many rows" in told["count"]
        assert "match { $p: Person }" in told["match"]
        assert "$who: String" in told["$who"]

        key = await editor.ask("hover", "people.pg", (4, 17))
        assert "what identifies a row" in key.contents.value

    edit(folder, script)


def test_declarations_are_found_in_the_schema_and_in_the_query(folder: Path) -> None:
    async def script(editor: Editor) -> None:
        editor.open("friends.gq")
        for place, file, line, character in (
            ((1, 15), "people.pg", 3, 5),
            ((1, 41), "people.pg", 8, 5),
            ((2, 15), "people.pg", 4, 2),
            ((2, 11), "friends.gq", 1, 46),
            ((1, 31), "friends.gq", 0, 14),
        ):
            found = await editor.ask("definition", "friends.gq", place)
            assert found is not None, place
            assert found.uri.endswith(file)
            assert found.range.start == lsp.Position(line, character), place
        editor.change("friends.gq", 'match { $p: Person $p.query = "a" } return { $p.name }')
        found = await editor.ask("definition", "friends.gq", (0, 46))
        assert found.range.start == lsp.Position(0, 8)
        editor.open("people.pg")
        found = await editor.ask("definition", "people.pg", (8, 13))
        assert found.range.start == lsp.Position(3, 5)
        assert await editor.ask("definition", "people.pg", (2, 4)) is None

    edit(folder, script)


def test_texts_are_laid_out_as_the_command_does(folder: Path) -> None:
    async def script(editor: Editor) -> None:
        editor.open("friends.gq")
        (change,) = await editor.ask("formatting", "friends.gq")
        assert change.new_text == format_queries(QUERIES)

        editor.change("friends.gq", change.new_text)
        assert not await editor.ask("formatting", "friends.gq")
        editor.change("friends.gq", "query (", 3)
        assert await editor.ask("formatting", "friends.gq") is None

        editor.open("people.pg", "node  Person{name:String@key}")
        (change,) = await editor.ask("formatting", "people.pg")
        assert change.new_text == "node Person { name: String @key }\n"

    edit(folder, script)


def test_a_text_lists_its_queries_or_types(folder: Path) -> None:
    async def script(editor: Editor) -> None:
        editor.open("friends.gq")
        editor.open("people.pg")
        queries = await editor.ask("document_symbol", "friends.gq")
        types = await editor.ask("document_symbol", "people.pg")
        assert [each.name for each in queries] == ["friends"]
        assert [each.name for each in types] == ["Named", "Person", "Knows"]

    edit(folder, script)


def test_the_schema_can_be_given(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "lone.gq").write_text("match { $p: Person } return { $p.nme }")

    async def script(editor: Editor) -> None:
        editor.open("lone.gq")
        assert [each.code for each in await editor.told("lone.gq")] == ["T2"]

    edit(other, script, "--schema", str(folder / "people.pg"))


def test_the_schema_of_a_file_is_that_of_its_deployment_or_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "queries").mkdir()
    (tmp_path / "more").mkdir()
    for name in ("a.pg", "b.pg", "queries/x.gq", "more/b.gq", "more/y.gq"):
        (tmp_path / name).write_text("")
    finder = SchemaFinder(roots=(tmp_path,))

    assert finder.find(tmp_path / "queries/x.gq") is None
    assert finder.find(tmp_path / "more/b.gq") == tmp_path / "b.pg"
    (tmp_path / "cluster.yaml").write_text(
        "version: 1\nmetadata: {name: n}\ngraphs:\n"
        "  one: {schema: a.pg, queries: queries/}\n  two: {schema: b.pg, queries: [more/y.gq]}\n"
    )
    assert finder.find(tmp_path / "queries/x.gq") == tmp_path / "a.pg"
    assert finder.find(tmp_path / "more/y.gq") == tmp_path / "b.pg"
    assert (
        SchemaFinder(given=tmp_path / "b.pg").find(tmp_path / "queries/x.gq") == tmp_path / "b.pg"
    )
    (tmp_path / "cluster.yaml").write_text("not: [right")
    assert finder.find(tmp_path / "queries/x.gq") is None


def test_the_server_says_what_is_missing_where_pygls_is_not_installed() -> None:
    program = (
        "import sys; sys.modules['pygls'] = None; sys.modules['lsprotocol'] = None\n"
        "from omnigraph.cli.main import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "lsp"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )

    assert done.returncode == 1
    assert "pip install 'omnigraph[lsp]'" in done.stderr
