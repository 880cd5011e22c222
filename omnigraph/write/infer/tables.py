"""Tables: files, folders, frames and networkx graphs as tables by name."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph.data.result import missing_package
from omnigraph.data.values.soundness import check_sound_table
from omnigraph.errors import InputError, UnreadableError
from omnigraph.frozen import dataclass
from omnigraph.write.load.sources.files import LONGEST_LINE, refuse_encoding
from omnigraph.write.load.sources.records import JSON_SPACE, RecordObject
from omnigraph.write.load.sources.rows import is_network
from omnigraph.write.load.sources.spool import is_frame, to_stream

_JSON_SPACE = JSON_SPACE.decode()
_EDGE = frozenset(("edge", "from", "to"))
FILE_ENDINGS = (".csv", ".parquet", ".jsonl", ".ndjson", ".json", ".graphml")


@dataclass(frozen=True, slots=True)
class GivenTable:
    """Rows under a name; texts of CSV files may still stand for numbers.

    `ends` are the tables that the columns `from` and `to` of an edge refer to, where that is known.
    """

    name: str
    rows: pa.Table
    is_text: bool = False
    ends: "tuple[GivenTable, GivenTable] | None" = None


def tables_of(data: object) -> list[GivenTable]:
    """Return the tables of a file, a folder of them, a networkx graph, or frames by name."""
    if isinstance(data, str | Path):
        return _at(Path(data))
    if is_network(data):
        return list(_network(data))
    if isinstance(data, Mapping):
        return [GivenTable(str(name), _frame(each)) for name, each in data.items()]
    hint = "pass a path, a networkx graph, or frames by the names of their types"
    raise InputError(f"no schema can be inferred from a {type(data).__name__}", hint=hint)


def _frame(data: Any) -> pa.Table:  # noqa: ANN401 - of any library
    if isinstance(data, list) and all(isinstance(each, Mapping) for each in data):
        return _from_rows("<rows>", data)
    if not is_frame(data):
        raise InputError(f"a {type(data).__name__} is not a frame")
    table = to_stream(data).read_all()
    if len(set(table.column_names)) < table.num_columns:
        raise InputError("the frame has two columns of one name")
    return table


def _at(path: Path) -> list[GivenTable]:
    if path.is_dir():
        files = sorted(each for each in path.iterdir() if each.name.lower().endswith(FILE_ENDINGS))
        if not files:
            hint = f"files end in {', '.join(FILE_ENDINGS)}"
            raise UnreadableError(f"'{path}' holds no file to import", hint=hint)
        return [table for each in files for table in _file(each)]
    return _file(path)


def _file(path: Path) -> list[GivenTable]:
    try:
        match path.suffix.lower():
            case ".csv":
                return [GivenTable(path.stem, _csv(path), is_text=True)]
            case ".parquet":
                return [GivenTable(path.stem, _parquet(path))]
            case ".json" | ".jsonl" | ".ndjson":
                return list(_json(path))
            case ".graphml":
                return list(_graphml(path))
    except OSError as failed:
        reason = failed.strerror or type(failed).__name__
        raise UnreadableError(f"cannot read '{path}': {reason}") from None
    except (pa.ArrowException, UnicodeError, MemoryError) as bad:
        raise UnreadableError(f"'{path}' cannot be read: {bad}") from None
    hint = f"files end in {', '.join(FILE_ENDINGS)}"
    raise UnreadableError(f"'{path}' has no format that can be imported", hint=hint)


def _parquet(path: Path) -> pa.Table:
    table = pq.read_table(path)
    check_sound_table(table)
    return table


def _csv(path: Path) -> pa.Table:
    """Return the texts of a CSV file; an empty field is null."""
    refuse_encoding(path.read_bytes()[:4], str(path))
    csv.field_size_limit(LONGEST_LINE)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, strict=True)
        try:
            names = next(rows, [])
            columns: list[list[str | None]] = [[] for _ in names]
            for row in rows:
                if not row:
                    continue
                if len(row) != len(names):
                    reason = f"line {rows.line_num} has {len(row)} fields"
                    message = f"'{path}': {reason}, and the header has {len(names)}"
                    raise UnreadableError(message)
                for column, text in zip(columns, row, strict=True):
                    column.append(text or None)
        except csv.Error as bad:
            raise UnreadableError(f"'{path}' is not CSV: {bad}") from None
    if len(set(names)) != len(names):
        raise UnreadableError(f"'{path}' has two columns of one name")
    return pa.table({n: pa.array(c, pa.utf8()) for n, c in zip(names, columns, strict=True)})


def _json(path: Path) -> Iterator[GivenTable]:
    """Yield the tables of JSON: a list of objects, lists by name, lines of objects or records."""
    text = path.read_text(encoding="utf-8-sig")
    try:
        found = _decoded(text, str(path))
    except (ValueError, RecursionError):
        found = list(_lines(path, text))
    if isinstance(found, Mapping) and found and all(isinstance(e, list) for e in found.values()):
        for name, rows in found.items():
            yield GivenTable(name, _from_rows(f"{path}: {name}", rows))
        return
    rows = found if isinstance(found, list) else [found]
    if rows and all(_is_record(each) for each in rows):
        yield from _records(path, rows)
    else:
        yield GivenTable(path.stem, _from_rows(str(path), rows))


def _lines(path: Path, text: str) -> Iterator[object]:
    for number, line in enumerate(text.split("\n"), 1):
        begin = line.lstrip(_JSON_SPACE)
        if begin and not begin.startswith("//"):
            try:
                yield _decoded(line, f"{path}:{number}")
            except (ValueError, RecursionError) as bad:
                raise UnreadableError(f"{path}:{number} is not JSON: {bad}") from None


def _decoded(text: str, place: str) -> object:
    """Return a JSON value; raise UnreadableError for an object with two fields of one name."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = RecordObject.of(pairs)
        for name in found.repeated:
            raise UnreadableError(f"{place}: {name!r} is given twice in one object")
        return found

    return json.loads(text, object_pairs_hook=once)


def _is_record(row: object) -> bool:
    if not isinstance(row, Mapping):
        return False
    return row.keys() == {"type", "data"} or _EDGE <= row.keys() <= {*_EDGE, "data"}


def _records(path: Path, rows: list[Mapping[str, Any]]) -> Iterator[GivenTable]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        data = row.get("data") or {}
        if not isinstance(data, Mapping):
            raise UnreadableError(f'{path}: "data" of a record is no object')
        if "edge" in row:
            data = _beside({"from": row["from"], "to": row["to"]}, data)
        groups.setdefault(str(row.get("type") or row.get("edge")), []).append(data)
    for name, group in groups.items():
        yield GivenTable(name, _from_rows(f"{path}: {name}", group))


def _from_rows(place: str, rows: Iterable[object]) -> pa.Table:
    """Return objects as a table; what a JSON value cannot be in a column is kept as its text."""
    every = list(rows)
    for number, row in enumerate(every, 1):
        if not isinstance(row, Mapping):
            raise UnreadableError(f"{place}: row {number} is not an object")
    names = list(dict.fromkeys(name for row in every for name in row))  # type: ignore[attr-defined]
    _check_names(place, names)
    columns = {}
    for name in names:
        try:
            columns[name] = _array([_plain(row.get(name)) for row in every])  # type: ignore[attr-defined]
        except UnicodeEncodeError:
            message = f"{place}: '{name}' has half of a surrogate pair, which is invalid Unicode"
            raise UnreadableError(message) from None
        except (TypeError, ValueError, RecursionError) as bad:
            raise UnreadableError(
                f"{place}: '{name}' has a value that is not JSON: {bad}"
            ) from None
    return pa.table(columns)


def _check_names(place: str, names: Iterable[object]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise UnreadableError(f"{place}: the name of a column is {name!r}, not a text")
        if name.encode(errors="ignore").decode() != name:
            reason = "has half of a surrogate pair, which is invalid Unicode"
            raise UnreadableError(f"{place}: the name of a column {reason}")


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    if type(value).__name__ == "NaTType":  # of pandas, where it stands for null
        return None
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value


def _array(values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except UnicodeEncodeError:
        raise
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        texts = [
            v if v is None or isinstance(v, str) else json.dumps(v, default=str) for v in values
        ]
        return pa.array(texts, pa.utf8())


def _graphml(path: Path) -> Iterator[GivenTable]:
    try:
        import networkx
    except ImportError:
        raise missing_package("networkx") from None
    try:
        graph = networkx.read_graphml(path)
    except OSError:
        raise
    except Exception as bad:  # networkx raises whatever its conversions do
        raise UnreadableError(f"'{path}' is not GraphML: {bad}") from None
    yield from _network(graph)


def _network(graph: Any) -> Iterator[GivenTable]:  # noqa: ANN401 - networkx
    """Yield the nodes of a graph by their attribute `type` or `label`, and the edges likewise."""
    kinds: dict[object, str] = {}
    nodes: dict[str, list[dict[str, Any]]] = {}
    for node, values in graph.nodes(data=True):
        row = dict(values)
        own, name = node if isinstance(node, tuple) and len(node) == 2 else (None, node)
        kinds[node] = str(own or row.pop("type", None) or row.pop("label", None) or "Node")
        nodes.setdefault(kinds[node], []).append(_beside({"id": str(name)}, row))
    tables = {kind: GivenTable(kind, _from_rows(kind, rows)) for kind, rows in nodes.items()}
    yield from tables.values()
    edges: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for source, target, values in graph.edges(data=True):
        row = dict(values)
        name = str(row.pop("type", None) or row.pop("label", None) or "Edge")
        ends = {"from": _name(source), "to": _name(target)}
        edges.setdefault((name, kinds[source], kinds[target]), []).append(_beside(ends, row))
    names = [name for name, _, _ in edges]
    for (name, source, target), rows in edges.items():
        own = name if names.count(name) == 1 else f"{source}{name}{target}"
        yield GivenTable(own, _from_rows(own, rows), ends=(tables[source], tables[target]))


def _beside(own: Mapping[str, Any], attributes: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return what a node or edge is called, with its attributes, of which some get other names."""
    found = dict(own)
    for given, value in attributes.items():
        name = given
        while str(name).lower() in own or name in found:
            name = f"p_{name}"
        found[name] = value
    return found


def _name(node: object) -> str:
    return str(node[1] if isinstance(node, tuple) and len(node) == 2 else node)
