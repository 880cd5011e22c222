"""A load writes edges in the order of their starts, and every edge stays what it was."""

from collections import Counter
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from omnigraph import Graph, init
from omnigraph.write.load.order import LEAST_ORDERED, order_by_start

SCHEMA = """
node Person { name: String @key }
edge Knows: Person -> Person { since: I64 }
"""
PEOPLE, EDGES = 400, LEAST_ORDERED + 1_000


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    graph = init(tmp_path / "g", SCHEMA, durable=False)
    graph.load(pa.table({"name": [f"p{each}" for each in range(PEOPLE)]}), type="Person")
    return graph


def _edges(seed: int = 7) -> dict[str, list[object]]:
    chance = Random(seed)
    names: list[object] = [f"p{chance.randrange(PEOPLE)}" for _ in range(2 * EDGES)]
    return {"from": names[:EDGES], "to": names[EDGES:], "since": list(range(EDGES))}


def _stored(graph: Graph) -> dict[str, list[object]]:
    found: dict[str, list[object]] = (
        graph.snapshot().table("edge:Knows").scan(["id", "src", "dst", "since"]).to_pydict()
    )
    return found


def _rows(*columns: list[object]) -> Counter[tuple[object, ...]]:
    return Counter(zip(*columns, strict=True))


def test_edges_lie_in_the_order_of_their_starts(graph: Graph) -> None:
    given = _edges()

    graph.load(pa.table(given), type="Knows", engine="inline")

    stored = _stored(graph)
    assert stored["src"] == sorted(map(str, given["from"]))
    assert _rows(*given.values()) == _rows(stored["src"], stored["dst"], stored["since"])
    assert len(set(stored["id"])) == EDGES
    # Those of one start are in the order of the file, and so are their ids.
    assert stored["since"] == sorted(range(EDGES), key=lambda row: str(given["from"][row]))
    assert graph.fsck().is_sound


def test_ids_that_edges_came_with_stay_theirs(graph: Graph) -> None:
    given = _edges() | {"id": [f"e{row * 31 % EDGES}" for row in range(EDGES)]}

    graph.load(pa.table(given), type="Knows", engine="inline")

    stored = _stored(graph)
    columns = (given[each] for each in ("id", "from", "to", "since"))
    assert _rows(*columns) == _rows(*stored.values())


def test_ids_of_some_edges_stay_theirs(graph: Graph) -> None:
    ids: list[object] = [f"e{row}" if row % 2 else None for row in range(EDGES)]

    graph.load(pa.table(_edges() | {"id": ids}), type="Knows", engine="inline")

    stored = _stored(graph)
    by_id = dict(zip(stored["id"], stored["since"], strict=True))
    assert all(by_id[f"e{row}"] == row for row in range(1, EDGES, 2))


@pytest.mark.parametrize(
    "texts",
    [[""], ["a"], ["", "a", "ab", "abc" * 9, "é", "日本", "a\0", "a"], ["p1", "p10", "p2", "p"]],
)
def test_any_starts_are_ordered(texts: list[str]) -> None:
    chance = Random(len(texts))
    starts = [chance.choice(texts) for _ in range(EDGES)]
    whole = pa.table({"id": [str(row) for row in range(EDGES)], "src": starts, "n": range(EDGES)})
    rows = pa.concat_tables([whole.slice(3, 5_000), whole.slice(5_003)])

    found = order_by_start(rows)

    assert found.schema == rows.schema
    assert found["id"] == rows["id"]
    numbers = found["n"].to_pylist()
    assert sorted(numbers) == list(range(3, EDGES))
    assert [starts[each] for each in numbers] == found["src"].to_pylist()
    last: dict[str, int] = {}
    for text, number in zip(found["src"].to_pylist(), numbers, strict=True):
        assert last.get(text, -1) < number
        last[text] = number
