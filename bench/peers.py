"""Peers: fills Ladybug and DuckDB with the social graph."""

import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

NODES = ("Person", "City", "State", "Country", "Interest")
EDGES = {
    "Follows": ("Person", "Person"),
    "LivesIn": ("Person", "City"),
    "HasInterest": ("Person", "Interest"),
    "CityIn": ("City", "State"),
    "StateIn": ("State", "Country"),
}
_PERSON = "name STRING, gender STRING, birthday DATE, age INT32, is_married BOOL"
_COLUMNS = {"Person": _PERSON, "City": "name STRING, population INT64"}


def write_parquet(tables: Mapping[str, pa.Table], folder: Path) -> None:
    """Write the tables as the peers like them best: nodes and ends of edges are numbers."""
    keys = {name: tables[name][0].cast(pa.string()).combine_chunks() for name in NODES}
    for name in NODES:
        numbers = pa.array(range(len(keys[name])), pa.int64())
        rest = tables[name] if name != "Person" else tables[name].drop(["id_number"])
        pq.write_table(rest.add_column(0, "id", numbers), folder / f"{name}.parquet")
    for name, (source, target) in EDGES.items():
        ends = {
            "source": pc.index_in(tables[name]["from"], keys[source]).cast(pa.int64()),
            "target": pc.index_in(tables[name]["to"], keys[target]).cast(pa.int64()),
        }
        pq.write_table(pa.table(ends), folder / f"{name}.parquet")


def fill_ladybug(root: Path, folder: Path) -> None:
    """Make the database of Ladybug from the Parquet files."""
    import ladybug

    connection = ladybug.Connection(ladybug.Database(str(root)))
    for name in NODES:
        columns = _COLUMNS.get(name, "name STRING")
        connection.execute(f"CREATE NODE TABLE {name}(id INT64, {columns}, PRIMARY KEY(id))")
        connection.execute(f"COPY {name} FROM '{folder / name}.parquet'")
    for name, (source, target) in EDGES.items():
        connection.execute(f"CREATE REL TABLE {name}(FROM {source} TO {target})")
        connection.execute(f"COPY {name} FROM '{folder / name}.parquet'")
    connection.close()


def fill_duckdb(root: Path, folder: Path) -> None:
    """Make the database of DuckDB from the Parquet files."""
    import duckdb

    connection = duckdb.connect(str(root))
    for name in NODES:
        columns = _COLUMNS.get(name, "name STRING")
        connection.execute(f"CREATE TABLE {snake(name)}(id INT64 PRIMARY KEY, {columns})")
        connection.execute(f"INSERT INTO {snake(name)} FROM '{folder / name}.parquet'")
    for name in EDGES:
        files = f"FROM '{folder / name}.parquet' ORDER BY source, target"
        connection.execute(f"CREATE TABLE {snake(name)} AS {files}")
        connection.execute(f"CREATE INDEX {snake(name)}_by_source ON {snake(name)}(source)")
    connection.execute("ANALYZE")
    connection.close()


def snake(name: str) -> str:
    """Return the name of a type as SQL has it."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
