"""Worker: the process that does one piece of work of another and ends with it."""

import json
import os
import sys
import threading
from pathlib import Path

import pyarrow as pa

from omnigraph.read.algorithms.native import NativeTask, run_native
from omnigraph.read.algorithms.network import Links

_ABOUT = b"task"


def write_task(task: NativeTask, path: Path) -> None:
    """Write a task to a file."""
    links = task.links
    about = {
        "name": task.name,
        "count": links.count,
        "directed": task.directed,
        "weighted": task.weighted,
        "settings": dict(task.settings),
    }
    columns = {"sources": links.sources, "targets": links.targets, "weights": links.weights}
    table = pa.table(columns).replace_schema_metadata({_ABOUT: json.dumps(about).encode()})
    _write(table, path)


def read_task(path: Path) -> NativeTask:
    """Return the task of a file."""
    table = _read(path)
    about = json.loads(table.schema.metadata[_ABOUT])
    columns = [column.to_numpy() for column in table.columns]
    links = Links(about["count"], *columns)
    return NativeTask(about["name"], links, about["directed"], about["weighted"], about["settings"])


def read_answer(path: Path) -> "pa.ChunkedArray":
    """Return the numbers that a worker wrote."""
    return _read(path)["values"]


def _write(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _read(path: Path) -> pa.Table:
    with pa.OSFile(str(path), "rb") as source:
        return pa.ipc.open_file(source).read_all()


def _end_with_parent() -> None:
    """End when whoever started this process is gone, and its end of the pipe with it."""
    sys.stdin.buffer.read()
    os._exit(1)


def main() -> None:
    """Do the task of one file and write the answer to another, as the arguments name them."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    task, answer = map(Path, sys.argv[1:3])
    _write(pa.table({"values": run_native(read_task(task))}), answer)
    os._exit(0)
