"""Fragments of wide rows are folded a few rows at a time, and lose none."""

from pathlib import Path

import numpy as np
import pyarrow as pa

from omnigraph import Graph, init
from omnigraph.storage.table import Table, fold_limits

WIDE, LOADS, ROWS = 2_048, 6, 150
SCHEMA = f"node Doc {{ name: String @key  v: Vector({WIDE}) }}\nnode Tag {{ name: String @key }}"


def _docs(number: int) -> pa.Table:
    numbers = np.random.default_rng(number).standard_normal(ROWS * WIDE, dtype=np.float32)
    names = [f"d{number}-{row}" for row in range(ROWS)]
    return pa.table({"name": names, "v": pa.FixedSizeListArray.from_arrays(numbers, WIDE)})


def _table(graph: Graph, name: str) -> Table:
    return graph.snapshot().table(f"node:{name}")


def test_vectors_that_are_folded_are_all_there(tmp_path: Path) -> None:
    graph = init(tmp_path / "g", SCHEMA, durable=False)
    given = [_docs(number) for number in range(LOADS)]

    for each in given:
        graph.load(each, type="Doc", engine="inline")

    table = _table(graph, "Doc")
    assert len(table.dataset.get_fragments()) < LOADS
    found = table.scan(["name", "v"]).sort_by("name")
    assert found.equals(pa.concat_tables(given).cast(found.schema).sort_by("name"))
    assert graph.fsck().is_sound


def test_only_of_wide_rows_few_are_read_ahead(tmp_path: Path) -> None:
    graph = init(tmp_path / "g", SCHEMA, durable=False)
    graph.load(_docs(0), type="Doc", engine="inline")
    graph.load(pa.table({"name": [f"t{each}" for each in range(5_000)]}), type="Tag")

    limits = {
        name: fold_limits(table, table.dataset.get_fragments())
        for name in ("Doc", "Tag")
        for table in [_table(graph, name)]
    }

    assert limits["Doc"]["fragment_readahead"] == limits["Doc"]["batch_readahead"] == 1
    assert "fragment_readahead" not in limits["Tag"]
    assert limits["Doc"]["batch_size_bytes"] < limits["Tag"]["batch_size_bytes"]
