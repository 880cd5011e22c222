"""Doctor: checks that everything the library needs is installed and works."""

import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.embedding import embedder_for
from omnigraph.errors import EmbeddingError, Json, OmniGraphError
from omnigraph.frozen import dataclass
from omnigraph.spark.gateway import find_reason
from omnigraph.spark.java import find_java
from omnigraph.spark.session import count_task_slots, is_running, session, stop
from omnigraph.spark.settings import SparkSettings

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_PACKAGES = ("pylance", "pyarrow", "pyspark", "pandas")
_MOST_TASKS = 64


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was checked, whether it works, what was found, and what to do about it.

    What is not in use is not broken either.
    """

    name: str
    ok: bool
    detail: str
    hint: str | None = None
    is_used: bool = True

    def to_json(self) -> dict[str, Json]:
        """Return the diagnosis as a JSON object."""
        return {"name": self.name, "ok": self.ok, "detail": self.detail, "hint": self.hint}


def diagnose(settings: SparkSettings, uri: str | None) -> tuple[Diagnosis, ...]:
    """Check everything, and with `uri` its store and graph; a failure does not stop the rest."""
    looks: list[tuple[str, Callable[[], Diagnosis]]] = [
        ("python", _python),
        ("java", lambda: _java(settings)),
        ("spark", lambda: _spark(settings)),
        ("embedding", _embedding),
    ]
    if uri is not None:
        looks += [("store", lambda: _store(uri)), ("graph", lambda: _graph(uri))]
    return tuple(_look(name, look) for name, look in looks)


def _well(name: str, detail: str) -> Diagnosis:
    return Diagnosis(name, ok=True, detail=detail)


def _ill(name: str, detail: str, hint: str | None = None) -> Diagnosis:
    return Diagnosis(name, ok=False, detail=detail, hint=hint)


def _look(name: str, look: Callable[[], Diagnosis]) -> Diagnosis:
    try:
        return look()
    except OmniGraphError as failed:
        return _ill(name, failed.message, failed.hint)
    except Exception as failed:
        return _ill(name, f"{type(failed).__name__}: {find_reason(str(failed))}")


def _python() -> Diagnosis:
    found = _versions()
    missing = [name for name, installed in found.items() if installed is None]
    versions = ", ".join(f"{name} {installed}" for name, installed in found.items() if installed)
    detail = f"Python {platform.python_version()} at {sys.executable} with {versions}"
    if not missing:
        return _well("python", detail)
    return _ill("python", detail, f"`pip install {' '.join(missing)}`")


def _embedding() -> Diagnosis:
    """Name the model that would be used; having none is fine for whoever needs no vectors."""
    try:
        return _well("embedding", f"texts are embedded by {embedder_for(None, os.environ).model}")
    except EmbeddingError as failed:
        detail = f"no model is chosen, so no vectors are made: {failed.message}"
        return Diagnosis("embedding", ok=True, detail=detail, hint=failed.hint, is_used=False)


def _java(settings: SparkSettings) -> Diagnosis:
    if settings.remote is not None:
        return _well("java", "not needed: Spark runs on a server")
    java = find_java(os.environ)
    detail = f"Java {java.version} from {java.origin}: {java.executable}"
    home = os.environ.get("JAVA_HOME")
    if home and java.origin != "JAVA_HOME":
        detail += f"; JAVA_HOME={home} cannot be used"
    return _well("java", detail)


def _spark(settings: SparkSettings) -> Diagnosis:
    was_running, before = is_running(), time.monotonic()
    try:
        spark = session(settings)
        started = time.monotonic()
        tasks = min(count_task_slots(spark), _MOST_TASKS)
        others = _find_other_environments(spark, tasks)
        ended = time.monotonic()
        # What follows the host of a remote can hold a token.
        place = settings.remote.partition("/;")[0] if settings.remote else spark.sparkContext.master
        detail = (
            f"Spark {spark.version} at {place} started in {started - before:.1f} s "
            f"and ran a job of {tasks} tasks in {ended - started:.1f} s"
        )
    finally:
        if not was_running:
            stop()
    if not others:
        return _well("spark", detail)
    hint = f"install on the workers what the driver has: {_environment()}"
    return _ill("spark", f"{detail}; workers have {' or '.join(others)}", hint)


def _find_other_environments(spark: "SparkSession", tasks: int) -> list[str]:
    """Return what workers have installed, where it differs from this process."""
    from omnigraph.spark.job import watched
    from omnigraph.spark.progress import NO_PROGRESS

    def make() -> "DataFrame":
        return spark.range(0, tasks, 1, tasks).mapInArrow(_report_environment, "told string")

    return sorted({row.told for row in watched(spark, make, NO_PROGRESS)} - {_environment()})


def _report_environment(batches: Iterable["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
    import pyarrow as pa

    for _ in batches:
        yield pa.record_batch([pa.array([_environment()])], names=["told"])


def _environment() -> str:
    """Return the versions that driver and workers must agree on."""
    python = ".".join(map(str, sys.version_info[:2]))
    return ", ".join([f"Python {python}", *(f"{name} {v}" for name, v in _versions().items())])


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in ("omnigraph", *_PACKAGES):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def _store(uri: str) -> Diagnosis:
    from omnigraph.storage.layout import ASIDE
    from omnigraph.storage.store import store_at

    store = store_at(uri)
    root = Path(store.root)
    folders = [root / ASIDE, root, *root.parents] if store.is_local else []
    new = [folder for folder in folders if not folder.exists()]
    try:
        store.check()
    finally:
        for folder in new:
            with suppress(OSError):
                folder.rmdir()
    return _well("store", f"{store.root} is writable and refuses to overwrite")


def _graph(uri: str) -> Diagnosis:
    from omnigraph.errors import GraphNotFoundError
    from omnigraph.versioning.repository import open_repository

    try:
        pinned = open_repository(uri, read_only=True).snapshot()
    except GraphNotFoundError:
        return _well("graph", f"no graph at {uri} yet")
    tables = len(pinned.commit.tables)
    return _well("graph", f"main at version {pinned.version} with {tables} tables")
