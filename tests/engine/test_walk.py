"""Several hops reach exactly the nodes whose shortest distance is within them."""

import pickle
from collections import deque
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph
from omnigraph.query.parsing.ast import Hops
from omnigraph.read.operators import walk
from omnigraph.read.reader import DirectedEdge
from omnigraph.read.spark.walks import held_hops
from omnigraph.read.sparse_reader import SparseReader
from tests.engine.asking import made, rows
from tests.pipeline.loads import edge, node

SCHEMA = """
node P { slug: String @key }
edge Likes: P -> P
edge Sees: P -> P
"""
HOPS = [(0, 1), (0, 3), (0, None), (1, 1), (1, 2), (1, None), (2, 2), (2, 4), (3, None)]
Pairs = set[tuple[str, str]]


def random_graph(folder: Path, seed: int) -> tuple[Graph, dict[str, Pairs]]:
    """Return a graph with loops, cycles, parallel edges and lonely nodes, and its pairs."""
    random = Random(seed)
    slugs = [f"n{number}" for number in range(12)]
    possible = [(a, b) for a in slugs for b in slugs]
    pairs = {name: random.choices(possible, k=13) for name in ("Likes", "Sees")}
    pairs["Likes"] += [("n1", "n1"), ("n0", "n1"), ("n0", "n1")]
    lines = [node("P", slug=slug) for slug in slugs]
    lines += [edge(name, *pair) for name, ends in pairs.items() for pair in ends]
    return made(folder, SCHEMA, *lines), {name: set(ends) for name, ends in pairs.items()}


def shown(least: int, most: int | None) -> str:
    return f"{{{least},{'' if most is None else most}}}"


def reached(pairs: Pairs, least: int, most: int | None) -> set[tuple[str, str]]:
    """Return all pairs within the hops, by a walk from one node after the other."""
    found = set()
    for start in (f"n{number}" for number in range(12)):
        distances = {start: 0}
        queue = deque([start])
        while queue:
            here = queue.popleft()
            for source, target in pairs:
                if source == here and target not in distances:
                    distances[target] = distances[here] + 1
                    queue.append(target)
        if (start, start) in pairs and least == 1:
            found.add((start, start))
        for end, distance in distances.items():
            if least <= distance and (most is None or distance <= most):
                found.add((start, end))
    return found


def turned(pairs: Pairs) -> Pairs:
    return {(target, source) for source, target in pairs}


def asked(graph: Graph, edges: str, hops: str) -> list[tuple[object, ...]]:
    return rows(
        graph, f"match {{ $a: P  $a {edges} {hops} $b }} return {{ $a.slug as a, $b.slug as b }}"
    )


@pytest.mark.parametrize("marks", [None, 12, 40, 1])
@pytest.mark.parametrize("seed", [1, 2])
def test_hops_reach_what_a_walk_from_each_node_reaches(
    seed: int, marks: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, pairs = random_graph(tmp_path, seed)
    both = pairs["Likes"] | pairs["Sees"]
    ways = {
        "likes": pairs["Likes"],
        "<likes>": pairs["Likes"] | turned(pairs["Likes"]),
        "likes|sees": both,
        "<likes>|sees": both | turned(pairs["Likes"]),
    }
    if marks is not None:
        monkeypatch.setattr(walk, "_MOST_MARKS", marks)

    for edges, known in ways.items():
        for least, most in HOPS:
            found = asked(graph, edges, shown(least, most))
            assert len(found) == len(set(found))
            assert set(found) == reached(known, least, most), (edges, least, most)


@pytest.mark.parametrize("marks", [held_hops._MOST_MARKS, 12])
def test_a_task_that_holds_the_edges_reaches_the_same(
    marks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, pairs = random_graph(tmp_path, 3)
    monkeypatch.setattr(held_hops, "_MOST_MARKS", marks)
    reader = SparseReader(graph.snapshot(), {})
    likes = reader.edge("Likes")
    ways = {
        (False,): pairs["Likes"],
        (False, True): pairs["Likes"] | turned(pairs["Likes"]),
    }
    ids, kinds = [f"n{n}" for n in range(12)], pa.array([0] * 12, pa.int32())
    starts = pa.record_batch([pa.array(ids), kinds], names=["id", "kind"])

    for turns, known in ways.items():
        led = [DirectedEdge(likes, each) for each in turns]
        for least, most in HOPS:
            made_walk = held_hops.HeldWalk.along(reader, (led, led), [0], Hops(least, most))
            sent = pickle.loads(pickle.dumps(made_walk))
            rows_found = [row for batch in sent([starts]) for row in batch.to_pylist()]
            found = [(row["start"], row["end"]) for row in rows_found]
            assert len(found) == len(set(found))
            assert set(found) == reached(known, least, most), (turns, least, most)


def test_bound_ends_are_joined_when_they_are_within_the_hops(tmp_path: Path) -> None:
    graph, pairs = random_graph(tmp_path, 3)

    for least, most in HOPS:
        closing = f"$a: P  $b: P  $a.slug <= $b.slug  $a likes {shown(least, most)} $b"
        found = rows(graph, f"match {{ {closing} }} return {{ $a.slug as a, $b.slug as b }}")
        within = reached(pairs["Likes"], least, most)
        assert set(found) == {pair for pair in within if pair[0] <= pair[1]}


def test_a_self_loop_is_one_hop_and_no_way_to_go_round(tmp_path: Path) -> None:
    lines = [node("P", slug="n1"), node("P", slug="n2")]
    graph = made(tmp_path, SCHEMA, *lines, edge("Likes", "n1", "n1"), edge("Likes", "n1", "n2"))

    assert asked(graph, "likes", "{1,3}") == [("n1", "n1"), ("n1", "n2")]
    assert asked(graph, "likes", "{2,}") == []
    assert asked(graph, "likes", "{0,1}") == [("n1", "n1"), ("n1", "n2"), ("n2", "n2")]


def test_a_cycle_ends(tmp_path: Path) -> None:
    slugs = [f"n{number}" for number in range(30)]
    pairs = list(zip(slugs, slugs[1:] + slugs[:1], strict=True))
    lines = [*(node("P", slug=slug) for slug in slugs), *(edge("Likes", *pair) for pair in pairs)]
    graph = made(tmp_path, SCHEMA, *lines)

    assert len(asked(graph, "likes", "{1,}")) == 30 * 29
    assert asked(graph, "likes", "{29}")[0] == ("n0", "n29")
    assert asked(graph, "likes", "{30,}") == []


def test_a_graph_without_rows_is_walked_to_no_end(tmp_path: Path) -> None:
    graph = made(tmp_path, SCHEMA)

    for least, most in HOPS:
        assert asked(graph, "likes", shown(least, most)) == []
