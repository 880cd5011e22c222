"""What a change reads depends on what it changes, not on how much there is."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.api.graph import open as open_graph
from omnigraph.schema.arrow import arrow_schema
from omnigraph.storage.reading import Meter, metered
from omnigraph.versioning.publish import publish
from omnigraph.versioning.writes import Append, WriteSet, stage
from omnigraph.write.receipt import Receipt
from tests.changes.town import column, counts, do, rows, violations

SCHEMA = """
node Person {
  slug: String @key  name: String  age: I32? @index  email: String? @unique  badge: U64? @unique
}
node City { slug: String @key }
edge Knows: Person -> Person @card(0..50) { weight: F64? }
edge Lives: Person -> City @card(0..1)
"""
ROWS = 200_000
MIDDLE = f"p{ROWS // 2:07}"
# All rows of one column are more than a megabyte.
MOST_ROWS_READ = 4_000
MOST_FILE_BYTES = 1_000_000
# Seconds; were every statement to cost what all before it did, it would take many times that.
LONGEST = 8


@dataclass(slots=True)
class Read:
    """How many bytes of rows were looked at, and how many this process read from any file."""

    rows: Meter
    file_bytes: int = 0


@contextmanager
def reading() -> Iterator[Read]:
    with metered() as meter:
        read, before = Read(meter), _file_bytes()
        yield read
        read.file_bytes = _file_bytes() - before


def _file_bytes() -> int:
    counted = Path("/proc/self/io")
    return int(counted.read_text().split()[1]) if counted.exists() else 0


def filled(folder: Path, count: int) -> Graph:
    """Make a graph of so many people, each of whom knows the next."""
    graph = init(folder / "g", SCHEMA, durable=False)
    ids = pa.array([f"p{number:07}" for number in range(count)])
    people = [ids, ids, pa.repeat("a name of some length", count), pa.repeat(7, count)]
    people += [pa.array([f"{number}@x" for number in range(count)]), pa.array(range(count))]
    ends = [ids, ids, pa.concat_arrays([ids[1:], ids[:1]]), pa.repeat(0.5, count)]
    catalog = graph.catalog
    writes = {
        stored.identity: (Append(_table(columns, arrow_schema(stored))),)
        for stored, columns in (
            (catalog.nodes["Person"], people),
            (catalog.edges["Knows"], ends),
        )
    }
    write_set = WriteSet(base=graph.snapshot(), writes=writes)
    publish(graph.repository, "main", stage(write_set, "main"))
    return graph


def _table(columns: list[pa.Array], schema: pa.Schema) -> pa.Table:
    cast = [column.cast(kind) for column, kind in zip(columns, schema.types, strict=True)]
    return pa.table(cast, schema=schema)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Graph:
    return filled(tmp_path_factory.mktemp("crowd"), ROWS)


@pytest.mark.parametrize(
    ("statement", "affected"),
    [
        (f'update Person set {{ name: "new" }} where slug = "{MIDDLE}"', (1, 0)),
        (f'update Person set {{ age: 8 }} where id = "{MIDDLE}"', (1, 0)),
        (f'update Person set {{ age: 9 }} where slug = "{MIDDLE}" and age < 9', (1, 0)),
        (f'update Person set {{ email: "new@x" }} where slug = "{MIDDLE}"', (1, 0)),
        (f'insert Person {{ slug: "{MIDDLE}", name: "replaced" }}', (1, 0)),
        ('insert Person { slug: "new", name: "New", email: "new@y" }', (1, 0)),
        ('insert Knows { from: "p0000001", to: "p0100001" }', (0, 1)),
        ('update Knows set { weight: 1.5 } where from = "p0000002"', (0, 1)),
        ('delete Knows where to = "p0000300"', (0, 1)),
        ('delete Person where slug = "p0000400"', (1, 2)),
        ('delete Person where slug = "nobody"', (0, 0)),
    ],
)
def test_a_change_of_one_row_reads_few_rows_of_many(
    crowd: Graph, statement: str, affected: tuple[int, int]
) -> None:
    fresh = open_graph(crowd.uri, durable=False)
    with reading() as read:
        receipt: Receipt = do(fresh, statement)
    assert counts(receipt) == affected
    assert read.rows.bytes < MOST_ROWS_READ
    assert read.file_bytes < MOST_FILE_BYTES


def test_the_validator_looks_up_what_an_edge_needs_and_no_more(crowd: Graph) -> None:
    with reading() as read:
        violations(crowd, 'insert Knows { from: "p0000001", to: "nobody" }')
        violations(crowd, 'insert Person { slug: "x", name: "X", email: "5@x" }')
    assert read.rows.bytes < MOST_ROWS_READ
    assert read.file_bytes < MOST_FILE_BYTES


def test_the_meter_sees_what_a_condition_without_an_index_reads(crowd: Graph) -> None:
    with reading() as read:
        do(crowd, 'update Person set { age: 1 } where name = "nobody at all"')
    assert read.rows.bytes > ROWS * 10


def test_thousands_of_rows_are_changed_and_removed_at_once(tmp_path: Path) -> None:
    graph = filled(tmp_path, 5_000)
    do(graph, 'insert City { slug: "ulm" }', 'insert Lives { from: "p0000007", to: "ulm" }')

    assert counts(do(graph, 'update Person set { age: 8 } where slug >= "p0000100"')) == (4_900, 0)
    ages = column(graph, "Person", "age")
    assert (len(ages), sum(age == 8 for age in ages.values())) == (5_000, 4_900)

    assert counts(do(graph, 'update Knows set { weight: 0.5 } where from > ""')) == (0, 0)
    assert counts(do(graph, 'delete Person where slug < "p0004990"')) == (4_990, 4_992)
    assert len(rows(graph, "Knows")) == 9
    assert rows(graph, "Lives") == []


def test_thousands_of_statements_are_one_query(tmp_path: Path) -> None:
    graph = init(tmp_path / "g", SCHEMA, durable=False)
    started = time.process_time()
    do(graph, *(f'insert City {{ slug: "c{number}" }}' for number in range(1_000)))
    assert len(rows(graph, "City")) == 1_000
    assert time.process_time() - started < LONGEST, "each statement costs what the first one did"
