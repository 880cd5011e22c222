"""The example in examples/people is consistent, and its demonstration runs."""

import json
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from omnigraph import Catalog, Source, compile_schema, lint_queries
from omnigraph.schema.catalog import EDGE_ENDS, EdgeType, NodeType, StoredType
from omnigraph.schema.constraints import pattern_found
from omnigraph.schema.identity import key_id
from omnigraph.schema.values import Value, coerce
from tests.docs.blocks import EXAMPLE
from tests.docs.test_docs_run import run_command

RECORDS: list[dict[str, Any]] = [
    json.loads(line) for line in (EXAMPLE / "people.jsonl").read_text().splitlines()
]


def test_the_queries_have_neither_errors_nor_warnings() -> None:
    report = lint_queries(Source("people.gq", (EXAMPLE / "people.gq").read_text()), catalog())
    assert report.findings == ()
    assert len(report.results) >= 12


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: json.dumps(record)[:60])
def test_a_record_fits_its_type(record: dict[str, Any]) -> None:
    stored = type_of(record)
    unknown = set(record["data"]) - set(stored.properties)
    missing = [
        item.name
        for item in stored.properties.values()
        if not item.nullable and item.default is None and item.name not in record["data"]
    ]
    assert not unknown
    assert not missing
    values_of(record)


def test_every_node_has_an_id_of_its_own() -> None:
    ids = [(record["type"], id_of(record)) for record in nodes()]
    assert len(ids) == len(set(ids))


def test_every_edge_joins_nodes_that_exist() -> None:
    ids = {(record["type"], id_of(record)) for record in nodes()}
    for record in edges():
        edge = catalog().edges[record["edge"]]
        assert (edge.source, record["from"]) in ids, record
        assert (edge.target, record["to"]) in ids, record


def test_values_keep_the_ranges_and_checks() -> None:
    for record in nodes():
        node, values = catalog().nodes[record["type"]], values_of(record)
        for bounds in node.ranges:
            value = values.get(bounds.property)
            assert value is None or within(value, bounds.minimum, bounds.maximum), record
        for check in node.checks:
            assert pattern_found(check.pattern, str(values[check.property])), record


def test_what_is_unique_stands_once() -> None:
    seen: Counter[tuple[object, ...]] = Counter()
    for record in RECORDS:
        stored = type_of(record)
        row = values_of(record) | {column: record.get(end) for end, column in EDGE_ENDS.items()}
        for columns in filter(None, (stored.key, *stored.unique)):
            seen[stored.name, *columns, *(row.get(column) for column in columns)] += 1
    assert [tuple_ for tuple_, count in seen.items() if count > 1] == []


def test_every_source_has_as_many_edges_as_its_cardinality_allows() -> None:
    leaving = Counter((record["edge"], record["from"]) for record in edges())
    for edge in catalog().edges.values():
        for record in nodes():
            if record["type"] == edge.source:
                count = leaving[edge.name, id_of(record)]
                assert within(count, edge.cardinality.minimum, edge.cardinality.maximum), record


def test_the_demonstration_runs_from_any_folder(tmp_path: Path) -> None:
    printed = run_command(f"sh '{EXAMPLE / 'demo.sh'}'; echo \"exit $?\"", tmp_path)
    assert printed[-1] == "exit 0"
    assert any("error[T3]" in line for line in printed)
    assert any("into main (spark)" in line for line in printed)
    assert "5 violations; nothing was written" in printed


def test_the_demonstration_is_a_valid_script() -> None:
    subprocess.run(["sh", "-n", EXAMPLE / "demo.sh"], check=True)


@cache
def catalog() -> Catalog:
    return compile_schema(Source("people.pg", (EXAMPLE / "people.pg").read_text()))


def nodes() -> list[dict[str, Any]]:
    return [record for record in RECORDS if "type" in record]


def edges() -> list[dict[str, Any]]:
    return [record for record in RECORDS if "edge" in record]


def type_of(record: dict[str, Any]) -> StoredType:
    kinds: dict[str, NodeType | EdgeType] = {**catalog().nodes, **catalog().edges}
    return kinds[record.get("type") or record["edge"]]


def values_of(record: dict[str, Any]) -> dict[str, Value]:
    """Return the values of a record as their types hold them; raises BadValue."""
    kinds = type_of(record).properties
    return {name: coerce(value, kinds[name].type) for name, value in record["data"].items()}


def id_of(record: dict[str, Any]) -> str:
    """Return the id of a node, which is its key."""
    node, values = catalog().nodes[record["type"]], values_of(record)
    return key_id([values[name] for name in node.key], [node.properties[n].type for n in node.key])


def within(value: Any, least: float | None, most: float | None) -> bool:
    return (least is None or value >= least) and (most is None or value <= most)
