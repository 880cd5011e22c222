"""Texts that are not UTF-8 are refused in words; a mark at the begin does no harm."""

import gzip
import json
from io import BytesIO
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph
from omnigraph.api.lines import lines_of
from omnigraph.errors import InputError
from tests.pipeline.loads import broken, person
from tests.sample import new_graph

CSV = "slug,name\nann,Änn\n"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return new_graph(tmp_path / "graph")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.jsonl", "t.jsonl.gz"])
def test_another_encoding_is_named(graph: Graph, tmp_path: Path, name: str, encoding: str) -> None:
    is_csv = "csv" in name
    data = (CSV if is_csv else f"{person('ann')}\n").encode(encoding)
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)

    with pytest.raises(InputError) as refused:
        graph.load(path, type="Person" if is_csv else None, engine="inline")

    named = encoding.removesuffix("-le").removesuffix("-be").upper()
    assert refused.value.code == InputError.code
    assert refused.value.message == f"{path} is {named}; expected UTF-8"
    assert refused.value.hint == f"convert it: iconv -f {named} -t UTF-8"


def test_a_table_in_latin_1_is_refused_by_line(graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(CSV.encode("latin-1"))
    assert broken(graph, path, type_name="Person", engine="inline") == [
        "error[V1]: t.csv:2: Person: is not UTF-8"
    ]
    path.write_bytes("slug,nämé\nann,Ann\n".encode("latin-1"))
    assert broken(graph, path, type_name="Person", engine="inline") == [
        "error[V1]: t.csv:1: Person: is not UTF-8"
    ]


def test_a_text_with_a_mark_loads_as_a_file_with_one_does(graph: Graph, tmp_path: Path) -> None:
    line = "\ufeff" + person("ann")
    assert graph.load(line, mode="merge").nodes == {"Person": 1}
    path = tmp_path / "marked.jsonl"
    path.write_text(line)
    assert graph.load(path, mode="merge").nodes == {"Person": 1}


def test_files_with_marks_are_sent_to_a_server_without_them(graph: Graph, tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, name in zip(paths, ("ann", "bob"), strict=True):
        path.write_text("\ufeff" + person(name))
    sent = b"".join(lines_of(paths, None, lambda: graph.catalog))
    assert sent == f"{person('ann')}\n{person('bob')}\n".encode()

    for path, name in zip(paths, ("ann", "bob"), strict=True):
        path.write_text("\ufeff" + json.dumps({"slug": name, "name": name}))
    plain = b"".join(lines_of(paths, "Person", lambda: graph.catalog))
    assert graph.load(BytesIO(plain)).nodes == {"Person": 2}


@pytest.mark.parametrize("text", ["c.csv", "data/people.jsonl", "people"])
def test_a_text_that_looks_like_the_name_of_a_file_is_told_so(graph: Graph, text: str) -> None:
    with pytest.raises(InputError) as refused:
        graph.load(text)
    assert refused.value.message == f"a str has to hold JSON lines; found '{text}'"
    assert refused.value.hint == f"if it is the name of a file, pass Path('{text}')"


def test_a_very_long_text_is_shown_in_part(graph: Graph) -> None:
    with pytest.raises(InputError) as refused:
        graph.load("x" * 10_000)
    assert len(refused.value.message) < 120
