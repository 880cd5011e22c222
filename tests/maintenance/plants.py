"""Plants: damage of every kind, done to a graph that was sound."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import lance
import pyarrow as pa

from omnigraph.api.graph import Graph
from omnigraph.api.graph import open as open_graph
from omnigraph.merge.run_record import RunRecord
from omnigraph.storage import layout
from omnigraph.versioning.branches import delete_system_branch
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.damage import Damage
from omnigraph.versioning.heads.head import Head
from omnigraph.versioning.manifest import fresh
from omnigraph.versioning.manifest.records import commit_rows
from omnigraph.versioning.writes import Append, DeleteRows
from tests.sample import COMPANY, KNOWS, PERSON, knows, new_graph, people, write


@dataclass(frozen=True, slots=True)
class Plant:
    """A damage, what does it to the folder of a graph, and the kind under which it is told."""

    name: str
    kind: Damage
    do: Callable[[Path], object]


def sound_graph(root: Path) -> None:
    """Make a graph with a history, a branch, a tag, deleted rows, two runs and an operation."""
    graph = new_graph(root)
    write(graph, {PERSON: (Append(people({f"p{n}": n for n in range(50)})),)})
    write(graph, {KNOWS: (Append(knows([("p1", "p2"), ("p2", "p3")])),)})
    graph.create_tag("first")
    graph.optimize()
    graph.create_branch("draft")
    graph.create_branch("spare")
    write(graph, {PERSON: (Append(people({"spare": 1})),)}, "spare")
    graph.delete_branch("spare")
    write(graph, {PERSON: (Append(people({"q": 7})),)}, "draft")
    write(graph, {PERSON: (DeleteRows(pa.array(["p30", "p31"])),)})
    insert = 'query add() { insert Person { slug: "z", name: "Zoe" } }'
    graph.branch(operation_id="once").mutate(insert)
    graph.begin_run()
    graph.publish_run(graph.begin_run("draft").run_id)
    manifest = graph.repository.manifest
    with patch.object(fresh, "MOST_FRESH", 0):  # plants take rows away
        manifest.fold(manifest.newest())


# The graph, as plants see it.


def _graph(root: Path) -> Graph:
    return open_graph(root, read_only=True)


def _head(root: Path, branch: str = "main") -> Commit:
    return _graph(root).snapshot(branch).commit


def _row(commit: Commit) -> str:
    return f"commit:{commit.id}"


def _table(root: Path, key: str = PERSON) -> Path:
    return root / _head(root).tables[key].path


def _version_file(root: Path, key: str = PERSON) -> Path:
    state = _head(root).tables[key]
    return root / state.path / "_versions" / layout.manifest_name(state.version)


def _data(root: Path, key: str = PERSON, target: str = "main") -> Path:
    files = sorted(_graph(root).snapshot(target).table(key).files())
    return root / next(each for each in files if "/data/" in each)


def _index(root: Path, column: str = "age", key: str = PERSON) -> Path:
    dataset = _graph(root).snapshot().table(key).dataset
    found = next(each for each in dataset.describe_indices() if column in each.field_names)
    return _table(root, key) / "_indices" / str(found.segments[0].uuid)


# How rows of the manifest are damaged.


def _manifest_table(root: Path) -> lance.LanceDataset:
    return lance.dataset(str(root / layout.MANIFEST))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _drop(object_id: Callable[[Path], str]) -> Callable[[Path], object]:
    return lambda root: _manifest_table(root).delete(f"object_id = {_text(object_id(root))}")


def _set(object_id: Callable[[Path], str], **values: str) -> Callable[[Path], object]:
    def do(root: Path) -> None:
        where = f"object_id = {_text(object_id(root))}"
        assert _manifest_table(root).update(dict(values), where)["num_rows_updated"]

    return do


def _recorded(
    change: Callable[[Path, dict[str, Any]], None], **row: str
) -> Callable[[Path], object]:
    """Change the record of the head of main, and columns of its row."""

    def do(root: Path) -> None:
        commit = _head(root)
        where = f"object_id = {_text(_row(commit))}"
        text = (
            _manifest_table(root)
            .to_table(columns=["metadata"], filter=where)["metadata"][0]
            .as_py()
        )
        record = json.loads(text)
        change(root, record)
        values = {"metadata": _text(json.dumps(record)), **row}
        assert _manifest_table(root).update(values, where)["num_rows_updated"] == 1

    return do


def _add(**row: object) -> Callable[[Path], object]:
    def do(root: Path) -> None:
        rows = pa.Table.from_pylist([row], schema=_manifest_table(root).schema)
        lance.write_dataset(rows, _manifest_table(root), mode="append")

    return do


def _twice(root: Path) -> None:
    """Add a second row of a commit, which says something else."""
    table, where = _manifest_table(root), f"object_id = {_text(_row(_head(root)))}"
    (row,) = table.to_table(filter=where).to_pylist()
    other = row | {"table_branch": "elsewhere"}
    lance.write_dataset(pa.Table.from_pylist([other], table.schema), table, mode="append")


def _key(value: Callable[[Path], str], name: str = "draft") -> Callable[[Path], object]:
    def do(root: Path) -> None:
        tables = open_graph(root).repository.tables
        newest = tables.newest(layout.MANIFEST)
        assert newest is not None
        tables.set_keys(newest, {f"branch/{name}": value(root)})

    return do


def _encoded(root: Path, **other: object) -> str:
    commit = _head(root, "draft")
    values: dict[str, Any] = {"name": "draft", "commit": commit.id, "version": commit.version}
    return Head(**{**values, "fragment": 0, **other}).encoded()


def _bury_head(root: Path) -> None:
    manifest = open_graph(root).repository.manifest
    version = _head(root).tables[PERSON].version
    cleanup, begun = manifest.begin_cleanup(manifest.newest(), "c1")
    manifest.bury(begun, cleanup, [(PERSON, version)])
    manifest.mark_cleaning(manifest.newest(), cleanup)
    _version_file(root).unlink()


def _lose_commit(root: Path) -> None:
    repository = open_graph(root).repository
    repository.tables.set_keys(repository.manifest.newest(), {"branch/draft": None})


def _state(key: str, change: Callable[[list[Any]], None]) -> Callable[[Path, dict[str, Any]], None]:
    return lambda _, record: change(record["tables"][key])


def _swap_tables(_: Path, record: dict[str, Any]) -> None:
    record["tables"][COMPANY] = record["tables"][KNOWS]


def _rename_table(_: Path, record: dict[str, Any]) -> None:
    record["tables"]["node:Nobody"] = record["tables"].pop(COMPANY)


# How files are damaged.


def _unlink(path: Callable[[Path], Path]) -> Callable[[Path], object]:
    return lambda root: path(root).unlink()


def _cut(path: Callable[[Path], Path]) -> Callable[[Path], object]:
    def do(root: Path) -> None:
        found = path(root)
        found.write_bytes(found.read_bytes()[: found.stat().st_size // 2])

    return do


def _grow(path: Callable[[Path], Path]) -> Callable[[Path], object]:
    return lambda root: path(root).write_bytes(path(root).read_bytes() + b"more")


def _blank(path: Callable[[Path], Path]) -> Callable[[Path], object]:
    return lambda root: path(root).write_bytes(b"")


def _zero(path: Callable[[Path], Path]) -> Callable[[Path], object]:
    return lambda root: path(root).write_bytes(bytes(path(root).stat().st_size))


def _write(path: str, text: str) -> Callable[[Path], object]:
    return lambda root: (root / path).write_text(text)


def _first(folder: Callable[[Path], Path]) -> Callable[[Path], Path]:
    return lambda root: sorted(folder(root).iterdir())[0]


def _schema(root: Path) -> Path:
    return root / layout.schema_path(_head(root).schema)


def _deletions(root: Path) -> Path:
    return next((_table(root) / "_deletions").iterdir())


def _old_deletions(root: Path) -> tuple[Path, Path]:
    """Return the file of deletions of a commit at which nothing stands, and that of the head."""
    graph = open_graph(root, durable=False)
    found: list[Path] = []
    folder = _deletions(root).parent
    for name in ("p32", "p33"):
        before = set(folder.iterdir())
        write(graph, {PERSON: (DeleteRows(pa.array([name])),)})
        found += set(folder.iterdir()) - before
    old, new = found
    return old, new


def _swap_deletions(root: Path) -> None:
    old, new = _old_deletions(root)
    shutil.copyfile(new, old)


def _respell_commit(root: Path) -> None:
    """Add a row of a commit that is a key, which says something else."""
    graph = open_graph(root, durable=False)
    commit = write(graph, {PERSON: (Append(people({"key": 1})),)})
    manifest = graph.repository.manifest
    at = manifest.newest()
    other = replace(commit, message="another")
    graph.repository.tables.add_rows(at, commit_rows(other, (), at.schema))


def _cut_commit_key(root: Path) -> None:
    graph = open_graph(root, durable=False)
    commit = write(graph, {PERSON: (Append(people({"key": 1})),)})
    repository = graph.repository
    at = repository.manifest.newest()
    written = repository.tables.add_rows(at, commit_rows(commit, (), at.schema))
    repository.tables.set_keys(written, {f"{fresh.FRESH_KEY}{commit.id}": "{"})


def _newest_manifest(root: Path) -> Path:
    return sorted((root / layout.MANIFEST / "_versions").glob("*.manifest"))[0]


def _remove_manifest_versions(root: Path) -> None:
    shutil.rmtree(root / layout.MANIFEST / "_versions")


def _remove_manifest_data(root: Path) -> None:
    shutil.rmtree(root / layout.MANIFEST / "data")


def _run(root: Path, status: str) -> RunRecord:
    return next(each for each in _graph(root).runs() if each.status == status)


def _lose_run_branch(root: Path) -> None:
    delete_system_branch(open_graph(root).repository, _run(root, "running").run_branch)


# How rows of tables are damaged: by changes that nobody checks.


def _append(key: str, rows: pa.Table) -> Callable[[Path], object]:
    return lambda root: write(open_graph(root, durable=False), {key: (Append(rows),)})


def _parent(root: Path) -> str:
    parent = _head(root).parent
    assert parent is not None
    return f"commit:{parent}"


def _first_commit(root: Path) -> str:
    return _row(list(_graph(root).log())[-1])


def _version_row(root: Path) -> str:
    return f"version:{PERSON}@{_head(root).tables[PERSON].version}"


def _head_row(root: Path) -> str:
    return _row(_head(root))


def _draft_row(root: Path) -> str:
    return _row(_head(root, "draft"))


PLANTS = (
    Plant("a commit's parent is gone", Damage.PARENT_MISSING, _drop(_parent)),
    Plant("the head's commit is gone", Damage.HEAD_MISSING, _drop(_head_row)),
    Plant("the head's commit of a branch is gone", Damage.HEAD_MISSING, _drop(_draft_row)),
    Plant("the first commit is gone", Damage.FIRST_COMMIT_MISSING, _drop(_first_commit)),
    Plant("a record is no JSON", Damage.COMMIT_UNREADABLE, _set(_head_row, metadata="'{'")),
    Plant("a record is null", Damage.COMMIT_UNREADABLE, _set(_head_row, metadata="NULL")),
    Plant(
        "a record lacks a field",
        Damage.COMMIT_UNREADABLE,
        _recorded(lambda _, record: record.pop("tables")),
    ),
    Plant(
        "a record has an unknown kind",
        Damage.COMMIT_UNREADABLE,
        _recorded(lambda _, record: record.update(kind="wish")),
    ),
    Plant("a row has another version", Damage.COMMIT_DISAGREES, _set(_head_row, table_version="9")),
    Plant("a row has another place", Damage.COMMIT_DISAGREES, _set(_head_row, location="'x'")),
    Plant(
        "a row has other parents",
        Damage.COMMIT_DISAGREES,
        _set(_head_row, base_objects="make_array('commit:x')"),
    ),
    Plant(
        "a record has another id",
        Damage.COMMIT_DISAGREES,
        _recorded(lambda _, record: record.update(id="01K9ZZZZZZZZZZZZZZZZZZZZZZ")),
    ),
    Plant("a key and a row of a commit differ", Damage.COMMIT_DISAGREES, _respell_commit),
    Plant("a key of a commit that has a row is no JSON", Damage.COMMIT_UNREADABLE, _cut_commit_key),
    Plant("a branch is gone without a note", Damage.COMMIT_LOST, _lose_commit),
    Plant("a commit is there twice", Damage.ROW_TWICE, _twice),
    Plant(
        "a row is of no known type",
        Damage.ROW_UNKNOWN,
        _add(object_id="what", object_type="riddle"),
    ),
    Plant(
        "an operation led nowhere",
        Damage.ROW_DANGLING,
        _add(object_id="operation:x", object_type="operation", metadata="x"),
    ),
    Plant(
        "a deleted branch stood nowhere",
        Damage.ROW_DANGLING,
        _add(object_id="retired:x@y", object_type="table_tombstone", table_key="commit:y"),
    ),
    Plant(
        "a commit skips versions",
        Damage.PARENT_ORDER,
        _recorded(
            lambda _, record: record.update(version=77),
            table_version="77",
            location="'history/00000000000000000077'",
        ),
    ),
    Plant("a version has no row", Damage.VERSION_ROW_MISSING, _drop(_version_row)),
    Plant(
        "a version's row counts other rows",
        Damage.VERSION_ROW_DISAGREES,
        _set(_version_row, row_count="4"),
    ),
    Plant(
        "a version's row names another folder",
        Damage.VERSION_ROW_DISAGREES,
        _set(_version_row, location="'nodes/0'"),
    ),
    Plant("a head is no JSON", Damage.HEAD_UNREADABLE, _key(lambda _: "{")),
    Plant("a head has too few parts", Damage.HEAD_UNREADABLE, _key(lambda _: '["draft"]')),
    Plant(
        "a head names no commit",
        Damage.HEAD_MISSING,
        _key(lambda root: _encoded(root, commit="01K9ZZZZZZZZZZZZZZZZZZZZZZ")),
    ),
    Plant(
        "a head has another version",
        Damage.HEAD_DISAGREES,
        _key(lambda root: _encoded(root, version=3)),
    ),
    Plant(
        "a head has another name",
        Damage.HEAD_DISAGREES,
        _key(lambda root: _encoded(root, name="other")),
    ),
    Plant("a branch stands at what was cleaned up", Damage.HEAD_CLEANED, _bury_head),
    Plant(
        "a commit counts other rows",
        Damage.ROW_COUNT,
        _recorded(_state(PERSON, lambda state: state.__setitem__(2, 3))),
    ),
    Plant(
        "a commit names a version that never was",
        Damage.VERSION_MISSING,
        _recorded(_state(COMPANY, lambda state: state.__setitem__(1, (1 << 63) + 5))),
    ),
    Plant("a commit has a table of no type", Damage.TABLE_UNKNOWN, _recorded(_rename_table)),
    Plant("a commit lacks a table", Damage.TABLE_MISSING, _recorded(_rename_table)),
    Plant("a commit has the wrong table", Damage.TABLE_SCHEMA, _recorded(_swap_tables)),
    Plant("the newest manifest is cut", Damage.LEDGER_UNREADABLE, _cut(_newest_manifest)),
    Plant("the manifest has no versions", Damage.LEDGER_UNREADABLE, _remove_manifest_versions),
    Plant("the manifest has no data", Damage.LEDGER_UNREADABLE, _remove_manifest_data),
    Plant("a schema is gone", Damage.SCHEMA_MISSING, _unlink(_schema)),
    Plant("a schema was edited", Damage.SCHEMA_DAMAGED, _grow(_schema)),
    Plant("a schema is empty", Damage.SCHEMA_DAMAGED, _blank(_schema)),
    Plant(
        "the readable schema was edited",
        Damage.SCHEMA_FILE_DIFFERS,
        _write(layout.SCHEMA_SOURCE, "node Other { x: String }"),
    ),
    Plant(
        "the readable catalog is gone",
        Damage.SCHEMA_FILE_DIFFERS,
        _unlink(lambda root: root / layout.SCHEMA_IR),
    ),
    Plant("a version is gone", Damage.VERSION_MISSING, _unlink(_version_file)),
    Plant(
        "a version of a branch is gone",
        Damage.VERSION_MISSING,
        _unlink(
            lambda root: (
                _table(root)
                / "_versions"
                / layout.manifest_name(_head(root, "draft").tables[PERSON].version)
            )
        ),
    ),
    Plant("a version is cut", Damage.VERSION_UNREADABLE, _cut(_version_file)),
    Plant("a version is empty", Damage.VERSION_UNREADABLE, _blank(_version_file)),
    Plant("a data file is gone", Damage.DATA_MISSING, _unlink(_data)),
    Plant(
        "a data file of an old commit is gone",
        Damage.DATA_MISSING,
        _unlink(lambda root: _data(root, PERSON, "first")),
    ),
    Plant("a data file is cut", Damage.DATA_SIZE, _cut(_data)),
    Plant("a data file has grown", Damage.DATA_SIZE, _grow(_data)),
    Plant("a data file is all zeros", Damage.ROWS_UNREADABLE, _zero(_data)),
    Plant("a file of deletions is gone", Damage.DELETIONS_MISSING, _unlink(_deletions)),
    Plant(
        "a file of deletions of an old commit is empty",
        Damage.ROWS_UNREADABLE,
        _blank(lambda root: _old_deletions(root)[0]),
    ),
    Plant("a file of deletions has those of another", Damage.ROW_COUNT, _swap_deletions),
    Plant(
        "an index is gone",
        Damage.INDEX_MISSING,
        lambda root: shutil.rmtree(_index(root)),
    ),
    Plant("a file of an index is gone", Damage.INDEX_SIZE, _unlink(_first(_index))),
    Plant("a file of an index is cut", Damage.INDEX_SIZE, _cut(_first(_index))),
    Plant("a file of an index is all zeros", Damage.INDEX_WRONG, _zero(_first(_index))),
    Plant(
        "a file of a text index is gone",
        Damage.INDEX_SIZE,
        _unlink(_first(lambda root: _index(root, "name"))),
    ),
    Plant("an id is there twice", Damage.ID_TWICE, _append(PERSON, people({"p1": 1}))),
    Plant("an edge ends nowhere", Damage.END_MISSING, _append(KNOWS, knows([("p1", "nobody")]))),
    Plant(
        "the record of a run is no JSON",
        Damage.RUN_UNREADABLE,
        lambda root: _write(f"_runs/{_run(root, 'published').run_id}/ended.json", "{")(root),
    ),
    Plant(
        "the record of a run that goes on has no branch",
        Damage.RUN_UNREADABLE,
        lambda root: _write(
            f"_runs/{_run(root, 'running').run_id}/begun.json", '{"status": "running"}'
        )(root),
    ),
    Plant("the branch of a run is gone", Damage.RUN_BRANCH_MISSING, _lose_run_branch),
)
