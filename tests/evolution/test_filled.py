"""A column that is added with values has those of its own rows, whichever were deleted."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from omnigraph import init
from omnigraph.storage.evolve import fill_column

ROWS = 20_000


@pytest.mark.parametrize("deleted", ["", "number < 5", "number % 1000 = 7", "number >= 9000"])
def test_every_row_gets_the_value_for_its_id(deleted: str, tmp_path: Path) -> None:
    graph = init(tmp_path / "g", "node N { slug: String @key  number: I64 }", durable=False)
    rows = [{"slug": f"s{at * 7919 % ROWS}", "number": at} for at in range(ROWS)]
    graph.load(rows, type="N", engine="inline")
    if deleted:
        graph.branch().mutate(f"query q() {{ delete N where {deleted} }}")
    table = graph.snapshot().table("node:N")

    field = pa.field("copy", pa.utf8())
    filled = fill_column(table, field, lambda rows: rows["id"].combine_chunks(), lambda: None)

    found = filled.scan(["id", "copy"])
    assert found.num_rows == table.count()
    assert pc.all(pc.equal(found["id"], found["copy"])).as_py()
