"""A change looks up the rows that it cannot know by itself, and no others."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.data.values import lookup
from omnigraph.errors import ViolationsError
from omnigraph.storage.reading import batches_where
from omnigraph.storage.table import Table
from tests.changes.statements import city, link, person
from tests.changes.town import do, ends, refused


@pytest.fixture
def looked_up(settled: Graph, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The types in which rows were looked up, in this order."""
    states = settled.snapshot().commit.tables
    names = {state.path: key.partition(":")[2] for key, state in states.items()}
    found: list[str] = []
    read = batches_where

    def noted(
        table: Table,
        columns: Sequence[str],
        where: pc.Expression | str | None,
        *,
        packed: bool = False,
    ) -> object:
        found.append(names[table.path])
        return read(table, columns, where, packed=packed)

    monkeypatch.setattr(lookup, "batches_where", noted)
    return found


def test_an_edge_whose_id_is_made_is_not_looked_for(settled: Graph, looked_up: list[str]) -> None:
    do(settled, link("Knows", "ada", "cy"))

    assert set(looked_up) == {"Person"}
    assert ("ada", "cy") in ends(settled, "Knows")


def test_an_end_that_is_added_with_its_edge_is_not_looked_for(
    settled: Graph, looked_up: list[str]
) -> None:
    do(settled, person("dan"), link("Knows", "dan", "dan"))

    assert looked_up == ["Person"], "whether there is a dan already"
    assert ("dan", "dan") in ends(settled, "Knows")


def test_both_ends_of_an_edge_are_looked_for_at_once(settled: Graph, looked_up: list[str]) -> None:
    do(settled, link("Knows", "bob", "cy"))

    assert looked_up == ["Person"]
    assert ("bob", "cy") in ends(settled, "Knows")


def test_a_new_row_and_what_must_be_unique_in_it_are_looked_for_at_once(
    settled: Graph, looked_up: list[str]
) -> None:
    do(settled, person("dan", email='"dan@x"'))

    assert looked_up == ["Person"]
    do(settled, person("dan", email='"daniel@x"'))
    looked_up.clear()
    do(settled, person("eve", email='"dan@x"'))
    assert looked_up == ["Person"], "what dan no longer has is free"


def test_a_unique_value_that_another_row_holds_is_seen_for_new_and_for_known_rows(
    settled: Graph,
) -> None:
    do(settled, person("dan", email='"dan@x"'), person("eve", email='"eve@x"'))

    for slug in ("flo", "eve"):
        (told,) = refused(settled, person(slug, email='"dan@x"'))
        assert "that of 'dan' already" in told
    do(settled, person("eve", email='"eve@x"', age="30"))
    do(settled, 'update Person set { email: "d@x" } where slug = "dan"')
    do(settled, person("flo", email='"dan@x"'))
    assert "that of 'flo'" in refused(settled, person("gus", email='"dan@x"'))[0]


def test_the_id_of_a_new_row_is_looked_for_once_in_a_table_that_is_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = "node Thing { name: String @key  mark: String @unique  sizes: [U64]? }"
    graph = init(tmp_path / "g", schema, durable=False)
    reads: list[object] = []

    def noted(*given: Any, **more: Any) -> object:
        reads.append(given)
        return batches_where(*given, **more)

    monkeypatch.setattr(lookup, "batches_where", noted)
    graph.mutate('query q() { insert Thing { name: "one" mark: "first" } }')

    assert len(reads) == 2, "its id, and its mark"


def test_an_end_that_is_nowhere_is_missed_beside_one_that_is_added(settled: Graph) -> None:
    added = person("dan"), link("Knows", "dan", "ada")

    assert len(refused(settled, *added, link("Knows", "dan", "nobody"))) == 1
    assert len(refused(settled, *added, link("Knows", "nobody", "dan"))) == 1


def test_several_edges_of_one_change_are_all_there(settled: Graph) -> None:
    before = len(ends(settled, "Knows"))
    do(settled, *(link("Knows", "ada", "bob") for _ in range(3)), link("Knows", "cy", "bob"))

    assert len(ends(settled, "Knows")) == before + 4


def test_an_end_in_a_table_that_did_not_change_is_looked_for_once(
    settled: Graph, looked_up: list[str]
) -> None:
    do(settled, person("dan"), link("Lives", "dan", "rom"))
    assert "City" in looked_up
    looked_up.clear()

    do(settled, person("eve"), link("Lives", "eve", "rom"))

    assert "City" not in looked_up
    assert {("dan", "rom"), ("eve", "rom")} <= {*ends(settled, "Lives")}


def test_an_end_that_goes_or_comes_meanwhile_is_looked_for_again(settled: Graph) -> None:
    other = open_graph(settled.uri, durable=False)
    do(settled, person("dan"), link("Lives", "dan", "rom"))
    assert len(refused(settled, person("eve"), link("Lives", "eve", "oslo"))) == 1

    do(other, 'delete City where slug = "rom"')
    do(other, city("oslo"))

    assert len(refused(settled, person("eve"), link("Lives", "eve", "rom"))) == 1
    do(settled, person("eve"), link("Lives", "eve", "oslo"))
    assert ends(settled, "Lives") == [("ada", "ulm"), ("eve", "oslo")]


@pytest.mark.parametrize(
    "key",
    ["plain", "o'neil", "''", "a\\'b", 'say "x"', "a`b", "--", "x;y", "%", "né", "", "a\nb", "É e"],
)
def test_a_row_is_found_again_whatever_its_key_is(key: str, tmp_path: Path) -> None:
    graph = init(tmp_path / "g", "node Thing { name: String @key  mark: String @unique }")
    add = "query q($n: String, $m: String) { insert Thing { name: $n mark: $m } }"
    graph.mutate(add, n=key, m="one")
    graph.mutate(add, n=key, m=key)
    graph.mutate(add, n="other", m="two")

    with pytest.raises(ViolationsError, match="already"):
        graph.mutate(add, n="third", m=key)
    found = graph.query("query q() { match { $t: Thing } return { $t.name, $t.mark } }")
    assert sorted(map(tuple, (row.values() for row in found))) == sorted(
        [(key, key), ("other", "two")]
    )
