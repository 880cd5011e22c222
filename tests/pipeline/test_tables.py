"""Rows of CSV, Parquet and frames are rows like those of records, and so are their violations."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.api.graph import Graph, init
from omnigraph.errors import Code, InputError, UnreadableError
from omnigraph.write.load.sources import splits as sources
from omnigraph.write.load.sources import tabular
from tests.pipeline.loads import broken, engine, history, node, refused, rows
from tests.templates import fresh_graph

__all__ = ["engine"]

if TYPE_CHECKING:
    pass

SCHEMA = """
node Person {
  slug: String @key
  name: String
  nick: String?
  age: I32?
  score: F64?
  fit: Bool?
  born: Date?
  seen: DateTime?
  tags: [String]?
  spot: Vector(2)?
  status: enum(active, idle) @default("idle")
  @range(age, 0..150)
}
node Note { text: String }
edge Knows: Person -> Person { since: Date? }
"""
PERSON, NOTE, KNOWS = "node:Person", "node:Note", "edge:Knows"
BLANK: dict[str, object] = dict.fromkeys(
    ("nick", "age", "score", "fit", "born", "seen", "tags", "spot")
)


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fresh_graph(tmp_path / "graph", SCHEMA)


@pytest.fixture
def csv(tmp_path: Path) -> Callable[[str], Path]:
    def write(content: str) -> Path:
        path = tmp_path / "people.csv"
        path.write_bytes(content.encode())
        return path

    return write


@pytest.fixture
def parquet(tmp_path: Path) -> Callable[..., Path]:
    def write(columns: dict[str, Any], **how: Any) -> Path:
        path = tmp_path / "people.parquet"
        pq.write_table(pa.table(columns), path, **how)
        return path

    return write


def expected(slug: str, **more: object) -> dict[str, object]:
    """Return the row of a person with these values."""
    return {"id": slug, "slug": slug, "name": "n", **BLANK, "status": "idle", **more}


def times(graph: Graph) -> dict[str, str | None]:
    """Return when each person was seen, in UTC."""
    table = graph.snapshot().table(PERSON).scan(["id", "seen"])
    seen = table["seen"].combine_chunks().view(pa.timestamp("ms")).cast(pa.string())
    return dict(zip(table["id"].to_pylist(), seen.to_pylist(), strict=True))


def test_text_becomes_values_of_the_types(
    graph: Graph, csv: Callable[[str], Path], engine: str
) -> None:
    path = csv(
        "slug,name,nick,age,score,fit,born,tags,spot,status\n"
        'ann,n,"A, ""the first""",30,1.5,true,2024-01-31,"[""a"",""b""]","[1, 0.5]",active\n'
        "bob,n,,,,,,,,idle\n"
    )

    loaded = graph.load(path, type="Person", engine=engine)

    assert loaded.nodes == {"Person": 2}
    ann = expected(
        "ann",
        nick='A, "the first"',
        age=30,
        score=1.5,
        fit=True,
        tags=["a", "b"],
        spot=[1, 0.5],
    )
    born = datetime(2024, 1, 31, tzinfo=UTC).date()
    assert rows(graph, PERSON) == [{**ann, "born": born, "status": "active"}, expected("bob")]


def test_an_empty_field_is_null_or_an_empty_text_where_a_text_is_required(
    graph: Graph, csv: Callable[[str], Path]
) -> None:
    graph.load(csv('slug,name,nick\nann,,\nbob,"",""\n'), type="Person", engine="inline")

    held = [(row["name"], row["nick"]) for row in rows(graph, PERSON)]
    assert held == [("", None), ("", None)]


@pytest.mark.parametrize(
    "content",
    [
        "slug,name\r\nann,n\r\nbob,n\r\n",
        "\ufeffslug,name\nann,n\nbob,n\n",
        "slug,name\nann,n\n\nbob,n",
        '"slug","name"\n"ann","n"\n"bob","n"\n',
        "name,slug\nn,ann\nn,bob\n",
    ],
)
def test_line_ends_quotes_and_the_order_of_columns_do_not_matter(
    graph: Graph, csv: Callable[[str], Path], content: str
) -> None:
    graph.load(csv(content), type="Person", engine="inline")

    assert rows(graph, PERSON) == [expected("ann"), expected("bob")]


def test_a_violation_stands_at_the_line_where_its_row_begins(
    graph: Graph, csv: Callable[[str], Path], engine: str
) -> None:
    content = (
        "slug,name,age\n"
        'ann,"two\nlines",151\n'
        "bob,n,x\n"
        "\n"
        'cleo,"three\n\nlines",1\n'
        "dan,n\n"
        "eve,n,1,2\n"
        "fay,n,-1\n"
    )

    assert broken(graph, csv(content), type_name="Person", engine=engine) == [
        "error[V9]: people.csv:2: Person.age: 151 is outside 0..150",
        'error[V7]: people.csv:4: Person.age: expected I32, got "x"',
        "error[V2]: people.csv:9: Person: has 2 fields, and the header has 3",
        "error[V2]: people.csv:10: Person: has 4 fields, and the header has 3",
        "error[V9]: people.csv:11: Person.age: -1 is outside 0..150",
    ]


def test_lines_are_counted_through_all_blocks(
    graph: Graph, csv: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tabular, "_CSV_ROWS", 3)
    people = [f'p{number},"a\nb",{number}\n' for number in range(20)]
    people[13] = people[13].replace("13\n", "151\n")

    found = refused(
        graph, csv("slug,name,age\n" + "".join(people)), type_name="Person", engine="inline"
    )

    assert [each.line for each in found.violations] == [28]


def test_text_that_is_no_value_of_the_type_is_refused_with_its_reason(
    graph: Graph, csv: Callable[[str], Path]
) -> None:
    content = (
        "slug,name,age,score,fit,born,seen,tags,spot,status\n"
        "a,n,1.0,NaN,True,19000,2024-01-31T12:00:00,a,[1],x\n"
        'b,n,"""1""",1_0,1,2024-1-1,0,[null],"[1,2,3]",idle\n'
    )

    assert broken(graph, csv(content), type_name="Person", engine="inline") == [
        "error[V7]: people.csv:2: Person.age: expected I32, got 1.0",
        'error[V7]: people.csv:2: Person.score: expected F64, got "NaN"',
        'error[V7]: people.csv:2: Person.fit: expected Bool, got "True"',
        'error[V7]: people.csv:2: Person.born: "19000" is not a date; write YYYY-MM-DD',
        'error[V7]: people.csv:2: Person.seen: "2024-01-31T12:00:00" is not an RFC 3339 time;'
        " write 2024-01-31T12:00:00Z",
        'error[V7]: people.csv:2: Person.tags: expected a list, got "a"',
        "error[V7]: people.csv:2: Person.spot: expected 2 numbers, got 1",
        'error[V8]: people.csv:2: Person.status: "x" is not one of active, idle',
        'error[V7]: people.csv:3: Person.age: expected I32, got "1"',
        'error[V7]: people.csv:3: Person.score: expected F64, got "1_0"',
        "error[V7]: people.csv:3: Person.fit: expected Bool, got 1",
        'error[V7]: people.csv:3: Person.born: "2024-1-1" is not a date; write YYYY-MM-DD',
        'error[V7]: people.csv:3: Person.seen: "0" is not an RFC 3339 time;'
        " write 2024-01-31T12:00:00Z",
        "error[V7]: people.csv:3: Person.tags: item 0 is null",
        "error[V7]: people.csv:3: Person.spot: expected 2 numbers, got 3",
    ]


def test_times_are_read_with_any_offset(graph: Graph, csv: Callable[[str], Path]) -> None:
    content = "slug,name,seen\na,n,2024-01-31T12:00:00.1239+02:00\nb,n,\n"

    graph.load(csv(content), type="Person", engine="inline")

    assert times(graph) == {"a": "2024-01-31 10:00:00.123", "b": None}


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("slug,name,hat", ["V4]: people.csv:1: Person.hat: no such field"]),
        (
            "slug,name,nik",
            ["V4]: people.csv:1: Person.nik: no such field; did you mean 'nick'?"],
        ),
        ("slug", ["V6]: people.csv:1: Person.name: has no column"]),
        ("slug,name,age,age", ["V5]: people.csv:1: Person.age: is given twice"]),
        ("slug,name,", ["V4]: people.csv:1: Person.: no such field"]),
    ],
)
def test_the_header_names_every_column_once_and_all_that_are_required(
    graph: Graph, csv: Callable[[str], Path], header: str, told: list[str]
) -> None:
    fields = "1," * header.count(",") + "1"

    found = broken(graph, csv(f"{header}\n{fields}\n"), type_name="Person", engine="inline")

    assert [each.removeprefix("error[") for each in found] == told


def test_an_empty_file_has_no_header(graph: Graph, csv: Callable[[str], Path]) -> None:
    found = broken(graph, csv(""), type_name="Person", engine="inline")

    assert [each[:9] for each in found] == ["error[V6]"] * 2


def test_a_header_without_rows_makes_no_commit(graph: Graph, csv: Callable[[str], Path]) -> None:
    assert graph.load(csv("slug,name\n"), type="Person", engine="inline").commit is None


def test_a_quote_that_never_ends_is_told_where_it_begins(
    graph: Graph, csv: Callable[[str], Path]
) -> None:
    found = broken(
        graph, csv('slug,name\nann,n\nbob,"n\ncleo,n\n'), type_name="Person", engine="inline"
    )

    assert found == ["error[V1]: people.csv:3: Person: is not CSV: unexpected end of data"]


def test_text_that_is_not_utf8_is_an_error(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"slug,name\nann,n\nbob,\xff\n")

    assert broken(graph, path, type_name="Person", engine="inline") == [
        "error[V1]: people.csv:3: Person: is not UTF-8"
    ]


def test_edges_have_columns_for_their_ends_and_may_have_ids(
    graph: Graph, csv: Callable[[str], Path]
) -> None:
    graph.load(csv("slug,name\nann,n\nbob,n\n"), type="Person", engine="inline")

    graph.load(
        csv("from,to,since,id\nann,bob,2024-01-31,k1\nbob,ann,,\n"),
        type="Knows",
        engine="inline",
    )

    found = {(row["src"], row["dst"]): row["id"] for row in rows(graph, KNOWS)}
    assert found["ann", "bob"] == "k1"
    assert len(found["bob", "ann"]) == 26
    assert broken(graph, csv("from,to\nann,\n,bob\n"), type_name="Knows", engine="inline") == [
        "error[V6]: people.csv:2: Knows.to: is required",
        "error[V6]: people.csv:3: Knows.from: is required",
    ]
    assert broken(graph, csv("from,since\nann,\n"), type_name="Knows", engine="inline") == [
        "error[V6]: people.csv:1: Knows.to: has no column"
    ]


def test_rules_between_rows_name_the_lines_of_the_table(
    graph: Graph, csv: Callable[[str], Path]
) -> None:
    content = 'slug,name\nann,"a\nb"\nbob,n\nann,n\n'

    assert broken(graph, csv(content), type_name="Person", engine="inline") == [
        "error[V11]: people.csv:5: Person.id: 'ann' is given already in people.csv:2"
    ]


def test_row_groups_are_read_in_parts_and_rows_keep_their_numbers(
    graph: Graph,
    parquet: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
) -> None:
    monkeypatch.setattr(sources, "_LEAST_SPLIT", 1000)
    slugs = [f"p{number:04}" for number in range(1000)]
    columns = {"slug": slugs, "name": ["n"] * 1000, "age": [n % 100 for n in range(1000)]}
    path = parquet(columns, row_group_size=100)
    assert len(sources.splits_of([_source(path)], 1)) > 1

    graph.load(path, type="Person", engine=engine)
    bad = {**columns, "age": [200 if n in (0, 555, 999) else 1 for n in range(1000)]}
    error = refused(graph, parquet(bad, row_group_size=100), type_name="Person", engine=engine)

    assert [row["id"] for row in rows(graph, PERSON)] == slugs
    assert [each.line for each in error.violations] == [1, 556, 1000]


def test_values_of_any_width_and_encoding_are_taken_when_they_fit(
    graph: Graph, parquet: Callable[..., Path]
) -> None:
    columns = {
        "slug": pa.array(["a", "b"], pa.large_string()),
        "name": pa.array(["n", "n"]).dictionary_encode(),
        "age": pa.array([1, None], pa.uint64()),
        "score": pa.array([1, 2], pa.int16()),
        "tags": pa.array([["x"], []], pa.large_list(pa.large_string())),
        "spot": pa.array([[1.0, 2.0], None], pa.list_(pa.float64(), 2)),
        "nick": pa.nulls(2),
        "status": pa.array(["active", None]).dictionary_encode(),
    }

    graph.load(parquet(columns), type="Person", engine="inline")

    assert rows(graph, PERSON) == [
        expected("a", age=1, score=1.0, tags=["x"], spot=[1, 2], status="active"),
        expected("b", score=2.0, tags=[]),
    ]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_times_of_every_unit_and_zone_are_cut_to_the_millisecond(
    graph: Graph, parquet: Callable[..., Path], unit: str, zone: str
) -> None:
    step = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[unit]
    ticks = [1_706_702_400 * step + (step * 123_999_999) // 10**9, -1, None]
    columns = {
        "slug": ["a", "b", "c"],
        "name": ["n"] * 3,
        "seen": pa.array(ticks, pa.timestamp(unit, zone)),
    }

    graph.load(parquet(columns), type="Person", engine="inline")

    before = "1969-12-31 23:59:59.000" if unit == "s" else "1969-12-31 23:59:59.999"
    fraction = "000" if unit == "s" else "123"
    assert times(graph) == {"a": f"2024-01-31 12:00:00.{fraction}", "b": before, "c": None}


def test_values_that_do_not_fit_are_told_with_the_numbers_of_their_rows(
    graph: Graph, parquet: Callable[..., Path]
) -> None:
    columns = {
        "slug": ["a", "b", None],
        "name": pa.array([1, 2, 3]),
        "age": pa.array([2**31, 1, None], pa.int64()),
        "score": ["1.5", None, None],
        "seen": pa.array([0, None, None], pa.timestamp("ms")),
        "born": pa.array([0, None, None], pa.timestamp("ms", "UTC")),
        "tags": pa.array([[None], ["x"], []], pa.list_(pa.string())),
        "spot": pa.array([[1.0], None, [float("nan"), 1]], pa.list_(pa.float32())),
    }

    assert broken(graph, parquet(columns), type_name="Person", engine="inline") == [
        "error[V7]: people.parquet:1: Person.name: expected String, got 1",
        "error[V7]: people.parquet:1: Person.age: 2147483648 does not fit I32",
        'error[V7]: people.parquet:1: Person.score: expected F64, got "1.5"',
        "error[V7]: people.parquet:1: Person.born: expected Date, got a Python datetime",
        "error[V7]: people.parquet:1: Person.seen: a DateTime needs a time zone;"
        " this datetime has none",
        "error[V7]: people.parquet:1: Person.tags: item 0 is null",
        "error[V7]: people.parquet:1: Person.spot: expected 2 numbers, got 1",
        "error[V7]: people.parquet:2: Person.name: expected String, got 2",
        "error[V7]: people.parquet:3: Person.name: expected String, got 3",
        "error[V7]: people.parquet:3: Person.spot: a Vector takes only finite numbers",
        "error[V6]: people.parquet:3: Person.slug: is required",
    ]


def test_not_a_number_is_a_number_but_lies_in_no_range(tmp_path: Path) -> None:
    graph = init(
        tmp_path / "graph",
        "node T { k: String @key  free: F64?  bound: F64?  @range(bound, 0..) }",
        durable=False,
    )
    nan = float("nan")
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"k": ["a"], "free": [nan], "bound": [nan]}), path)

    assert broken(graph, path, type_name="T", engine="inline") == [
        "error[V9]: t.parquet:1: T.bound: nan is outside 0.."
    ]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"slug,name\nann,n\n" * 100])
def test_what_is_no_parquet_file_is_an_error(graph: Graph, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "people.parquet"
    path.write_bytes(content)

    with pytest.raises(UnreadableError, match=r"people\.parquet' is not a Parquet file"):
        graph.load(path, type="Person", engine="inline")


def test_columns_are_held_to_the_type(graph: Graph, parquet: Callable[..., Path]) -> None:
    found = broken(
        graph, parquet({"slug": ["a"], "nme": ["n"]}), type_name="Person", engine="inline"
    )

    assert found == [
        "error[V4]: people.parquet: Person.nme: no such field; did you mean 'name'?",
        "error[V6]: people.parquet: Person.name: has no column",
    ]


def test_a_file_without_rows_makes_no_commit(graph: Graph, parquet: Callable[..., Path]) -> None:
    path = parquet({"slug": pa.array([], pa.string()), "name": pa.array([], pa.string())})

    assert graph.load(path, type="Person", engine="inline").commit is None


def _source(path: Path) -> sources.LoadSource:
    from omnigraph.write.load.sources.files import files_at

    (file,) = files_at([str(path)])
    return sources.LoadSource(file, sources.Format.PARQUET, "Person")


def test_a_table_of_rows_needs_the_name_of_its_type(
    graph: Graph, csv: Callable[[str], Path], parquet: Callable[..., Path]
) -> None:
    for path in (csv("slug,name\n"), parquet({"slug": ["a"]})):
        with pytest.raises(InputError, match="does not name the type of its rows"):
            graph.load(path, engine="inline")
    with pytest.raises(InputError, match="a frame does not name the type of its rows"):
        graph.load(pa.table({"slug": ["a"]}), engine="inline")


def test_a_type_that_does_not_exist_is_refused_with_the_nearest(
    graph: Graph, csv: Callable[[str], Path]
) -> None:
    for data in (csv("slug,name\n"), pa.table({"slug": ["a"]})):
        with pytest.raises(InputError, match="no type 'Persn'") as raised:
            graph.load(data, type="Persn", engine="inline")
        assert raised.value.hint == "did you mean 'Person'?"


def test_records_may_name_the_type_that_is_given(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    path.write_text(node("Person", slug="a", name="n"))

    graph.load(path, type="Person", engine="inline")

    assert rows(graph, PERSON) == [expected("a")]


def test_frames_by_type_take_no_other_type(graph: Graph) -> None:
    with pytest.raises(InputError, match="frames in a mapping name their types themselves"):
        graph.load({"Person": pa.table({})}, type="Person", engine="inline")


def test_tables_of_one_type_and_several_kinds_are_one_commit(
    graph: Graph, csv: Callable[[str], Path], parquet: Callable[..., Path]
) -> None:
    before = history(graph)["main"]
    text = csv("slug,name\na,n\n")
    binary = parquet({"slug": ["b"], "name": ["n"]})

    graph.load([text, binary], type="Person", engine="inline")

    assert rows(graph, PERSON) == [expected("a"), expected("b")]
    assert len(history(graph)["main"]) == len(before) + 1


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("key", ["@key", ""])
def test_a_node_may_have_properties_that_are_named_like_the_ends_of_edges(
    tmp_path: Path, kind: str, key: str
) -> None:
    schema = f"node Mail {{ subject: String {key}  from: String?  to: String? }}"
    graph = init(tmp_path / "graph", schema, durable=False)
    path = tmp_path / f"mail.{kind}"
    if kind == "csv":
        path.write_text("subject,from,to\ns,ann,bob\n")
    else:
        pq.write_table(pa.table({"subject": ["s"], "from": ["ann"], "to": ["bob"]}), path)

    graph.load(path, type="Mail", engine="inline")

    assert [(row["from"], row["to"]) for row in rows(graph, "node:Mail")] == [("ann", "bob")]


@pytest.mark.parametrize(
    ("name", "ticks", "kind"),
    [
        ("born", 3_000_000, pa.date32()),
        ("born", -800_000, pa.date32()),
        ("seen", 10**15, pa.timestamp("ms", "UTC")),
        ("seen", -(10**15), pa.timestamp("ms", "UTC")),
        ("seen", 10**14, pa.timestamp("s", "UTC")),
    ],
)
def test_days_and_times_outside_the_years_1_to_9999_are_refused(
    graph: Graph, parquet: Callable[..., Path], name: str, ticks: int, kind: pa.DataType
) -> None:
    columns = {"slug": ["a"], "name": ["n"], name: pa.array([ticks], kind)}

    error = refused(graph, parquet(columns), type_name="Person", engine="inline")

    assert [(each.code, each.field, each.line) for each in error.violations] == [
        (Code.VALUE_TYPE, name, 1)
    ]


LISTS = "node N { k: String @key  u: U64?  us: [U64]?  days: [Date]?  times: [DateTime]? }"


def test_whole_decimals_are_integers(tmp_path: Path) -> None:
    graph = fresh_graph(tmp_path / "g", LISTS)
    most, kind = 2**64 - 1, pa.decimal128(20, 0)
    numbers = pa.array([Decimal(most), Decimal(0), None], kind)
    lists = pa.array([[Decimal(most)], [], None], pa.list_(kind))

    graph.load(pa.table({"k": ["a", "b", "c"], "u": numbers, "us": lists}), type="N")

    assert [(row["u"], row["us"]) for row in rows(graph, "node:N")] == [
        (most, [most]),
        (0, []),
        (None, None),
    ]
    for bad in (pa.array([Decimal(2**64), None], kind), pa.array([Decimal("1.0"), None])):
        found = pa.table({"k": ["d", "e"], "u": bad})
        error = refused(graph, found, type_name="N")
        assert [(each.line, each.field) for each in error.violations] == [(1, "u")]


def test_a_list_that_does_not_fit_is_told_and_those_beside_it_are_not(tmp_path: Path) -> None:
    graph = fresh_graph(tmp_path / "g", LISTS)
    days = pa.array([[0], [3_000_000], []], pa.list_(pa.int32())).cast(pa.list_(pa.date32()))
    seconds = pa.array([[0], [], [10**12]], pa.list_(pa.int64()))
    times = seconds.cast(pa.list_(pa.timestamp("s", "UTC")))

    frame = pa.table({"k": ["a", "b", "c"], "days": days, "times": times})
    error = refused(graph, frame, type_name="N")

    assert [(each.line, each.field, each.reason) for each in error.violations] == [
        (2, "days", "day 3000000 is outside the years 1 to 9999"),
        (3, "times", f"{10**15} ms is outside the years 1 to 9999"),
    ]


def test_lists_hold_times_that_the_zone_of_a_column_has_in_another_year(tmp_path: Path) -> None:
    graph = fresh_graph(tmp_path / "g", LISTS)
    seconds = pa.array([[-62_135_596_800], []], pa.list_(pa.int64()))
    times = seconds.cast(pa.list_(pa.timestamp("s", "America/New_York")))

    graph.load(pa.table({"k": ["a", "b"], "times": times}), type="N")

    found = graph.query("match { $n: N } return { $n.times as times }")
    assert [row["times"] for row in found] == [[datetime(1, 1, 1, tzinfo=UTC)], []]


def test_a_wrong_column_of_a_file_in_many_parts_is_told_once(
    graph: Graph, parquet: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_LEAST_SPLIT", 1000)
    columns = {"slug": [f"p{n}" for n in range(1000)], "name": ["n"] * 1000, "x": ["y"] * 1000}

    found = broken(graph, parquet(columns, row_group_size=100), type_name="Person", engine="inline")

    assert found == ["error[V4]: people.parquet: Person.x: no such field"]


def test_a_page_of_parquet_that_is_broken_is_an_error_in_our_words(
    graph: Graph, parquet: Callable[..., Path]
) -> None:
    columns = {"slug": [f"{n:08}" * 8 for n in range(20_000)], "name": ["n"] * 20_000}
    path = parquet(columns, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[5000:9000] = b"\xff" * 4000
    path.write_bytes(content)

    with pytest.raises(UnreadableError, match=r"people\.parquet"):
        graph.load(path, type="Person", engine="inline")


def test_a_text_of_any_length_is_read_from_csv(graph: Graph, csv: Callable[[str], Path]) -> None:
    long = "x" * 200_000

    graph.load(csv(f"slug,name\na,{long}\n"), type="Person", engine="inline")

    assert [row["name"] for row in rows(graph, PERSON)] == [long]


CELLS = st.none() | st.sampled_from(
    ["1", " 2", "1,2", "[3", "4]", '"a', 'b"', "{", "null", "true", "-0", "1e400", "9" * 30, "x"]
)


@given(cells=st.lists(CELLS | st.integers().map(str) | st.floats().map(repr), max_size=6))
def test_cells_of_a_csv_file_mean_the_same_together_and_one_by_one(
    cells: list[str | None],
) -> None:
    alone = [tabular._literals([each])[0] for each in cells]

    assert list(map(repr, tabular._literals(cells))) == list(map(repr, alone))
    numbers = tabular._numbers(alone)
    assert numbers is None or list(map(repr, numbers.to_pylist())) == list(map(repr, alone))


def test_numbers_of_a_csv_file_are_whole_or_reported(tmp_path: Path) -> None:
    schema = "node T { k: String @key  i: I32?  u: U64?  f: F64?  g: F32?  b: Bool? }"
    graph = init(tmp_path / "graph", schema, durable=False)
    most = 2**64 - 1
    lines = ["k,i,u,f,g,b", f"a,1,{most},1.5,0.5,true", "b,-2,,2,3,", "c,,0,,,false"]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    graph.load(path, type="T", engine="inline")

    assert [tuple(row.values())[2:] for row in rows(graph, "node:T")] == [
        (1, most, 1.5, 0.5, True),
        (-2, None, 2.0, 3.0, None),
        (None, 0, None, None, False),
    ]
    path.write_text("k,i,f\nd,2147483648,1\ne,1,1.5\nf,1.0,2")
    error = refused(graph, path, type_name="T", engine="inline")
    assert [(each.line, each.field) for each in error.violations] == [(2, "i"), (4, "i")]
