"""Session: the one Spark session of this process, started when it is first needed."""

import atexit
import os
import socket
import sys
import threading
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from omnigraph.errors import ConfigError, SparkError, hint_install
from omnigraph.frozen import dataclass
from omnigraph.spark.gateway import Gateway, find_reason, is_local, launch
from omnigraph.spark.interrupt import Handler, cancel_on_interrupt, current_handler, leave
from omnigraph.spark.java import find_java
from omnigraph.spark.settings import SparkSettings

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

# All cores; a task that fails is tried four times, as on a cluster.
DEFAULT_MASTER = "local[*,4]"

_REACH_SECONDS = 5.0
# As long as anything but a start or an end takes.
_ASK_SECONDS = 0.1
_PORTS = {"spark": 7077, "sc": 15002}
_HINT = "`omnigraph doctor` checks Java and Spark"
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
_CONF = {
    "spark.app.name": "omnigraph",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.catalogImplementation": "in-memory",
}
_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}


@dataclass(frozen=True, slots=True)
class _Running:
    spark: "SparkSession"
    gateway: Gateway | None = None
    interrupt: Handler = None
    process: int = field(default_factory=os.getpid)

    @property
    def is_gone(self) -> bool:
        """Whether its JVM has died."""
        return self.gateway is not None and not self.gateway.is_alive


_lock = threading.RLock()
_ours: list[_Running] = []  # at most one


def is_running() -> bool:
    """Return whether this process has a live session, ours or the user's.

    One that is being started is none yet: requests ask, which do not wait for it.
    """
    if not _lock.acquire(timeout=_ASK_SECONDS):
        return False
    try:
        return _find_live() is not None
    finally:
        _lock.release()


def session(settings: SparkSettings) -> "SparkSession":
    """Return the session of this process; a live one is used as it is, whatever the settings."""
    with _lock:
        found = _find_live()
        if found is not None:
            return found
        if any(running.process != os.getpid() for running in _ours):
            hint = "start processes by spawn, not by fork"
            raise SparkError("the Spark session belongs to the parent of this process", hint=hint)
        stop()
        try:
            running = _start(settings)
        except ImportError as failed:
            hint = _HINT if settings.remote is None else hint_install("connect")
            raise SparkError(f"Spark cannot start: {failed}", hint=hint) from None
        _ours.append(running)
        atexit.register(stop)
        return running.spark


def stop() -> None:
    """End our session and its JVM; a session of the user's goes on."""
    with _lock:
        # A forked child has a copy of the session, but it is its parent's.
        if not _ours or _ours[0].process != os.getpid() or _is_lent(_ours[0]):
            return
        running = _ours.pop()
        atexit.unregister(stop)
        if running.gateway is None:
            # PySpark would forget the session that the user has started since.
            if not _is_stopped(running.spark):
                with suppress(Exception):
                    running.spark.stop()
            # PySpark never unsets it, and no classic session could start any more.
            os.environ.pop("SPARK_CONNECT_MODE_ENABLED", None)
        else:
            _end(running.gateway)
            leave(running.interrupt)


def count_task_slots(spark: "SparkSession") -> int:
    """Return how many tasks run at the same time."""
    if not is_connect(spark):
        return spark.sparkContext.defaultParallelism
    from pyspark.sql import functions

    # A server does not say, but a range gets that many partitions unless told otherwise.
    numbered = spark.range(1 << 16).select(functions.spark_partition_id().alias("number"))
    return int(numbered.agg(functions.max("number")).collect()[0][0]) + 1


def to_spark_error(doing: str, failed: BaseException) -> SparkError:
    """Return a SparkError that says in one line why something on Spark failed."""
    try:
        text = str(failed)
    except Exception:  # the text of a Java error comes from the JVM, which can be gone
        text = type(failed).__name__
    return SparkError(f"{doing}: {find_reason(text)}", hint=_HINT)


def _find_live() -> "SparkSession | None":
    """Return our session if it still runs, or else an active one of the user's."""
    for running in _ours:
        if running.process != os.getpid() or running.is_gone:
            return None
        if not _is_stopped(running.spark):
            return running.spark
    return _find_users()


def _is_lent(running: _Running) -> bool:
    """Return whether a session of the user's runs in our JVM: PySpark starts no second one."""
    if running.gateway is None or running.is_gone or not _is_stopped(running.spark):
        return False
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None


def _find_users() -> "SparkSession | None":
    """Return a session that the user started; looks only in modules that are already imported."""
    connect = sys.modules.get("pyspark.sql.connect.session")
    if connect is not None:
        kind = connect.SparkSession
        found = kind.getActiveSession() or kind._get_default_session()
        if found is not None:
            return cast("SparkSession", found)
    core = sys.modules.get("pyspark.core.context")
    context = None if core is None else core.SparkContext._active_spark_context
    if context is None or context._jsc is None:
        return None
    from pyspark.sql import SparkSession

    return SparkSession._instantiatedSession or SparkSession(context)


def _is_stopped(spark: "SparkSession") -> bool:
    if is_connect(spark):
        return bool(cast(Any, spark).is_stopped)
    return cast(Any, spark)._sc._jsc is None


def is_connect(spark: "SparkSession") -> bool:
    """Return whether a session talks to a Spark Connect server."""
    return ".connect." in type(spark).__module__


def _start(settings: SparkSettings) -> _Running:
    from pyspark.sql import SparkSession

    if settings.remote is not None:
        if not settings.remote.startswith("sc://"):
            message = "the remote is not the address of a Spark Connect server"
            raise ConfigError(message, hint="write it as sc://host:15002")
        _check_reachable(settings.remote)
        builder = SparkSession.builder.remote(settings.remote).config(map=dict(settings.conf))
    elif _SUBMITTED in os.environ:
        # spark-submit started this process, so there is a JVM and it has its master.
        builder = SparkSession.builder.config(map=dict(settings.conf))
    else:
        return _start_classic(settings)
    try:
        return _Running(builder.getOrCreate())
    except ImportError:
        raise
    except Exception as failed:
        raise to_spark_error("Spark cannot start", failed) from None


def _start_classic(settings: SparkSettings) -> _Running:
    """Start a JVM and a session in it; if anything fails, nothing is left running."""
    from pyspark.sql import SparkSession

    master = settings.master or DEFAULT_MASTER
    if master.startswith("spark://"):
        _check_reachable(master)
    conf = {**_default_conf(master), **settings.conf, "spark.master": master}
    before = current_handler()
    gateway = launch(find_java(os.environ), conf)
    try:
        context = _open_context(gateway)
        context.pythonExec = _worker_python(master, context.getConf())
        cancel_on_interrupt(context, before)
        return _Running(SparkSession(context), gateway, before)
    except BaseException as failed:
        # Before the JVM ends, because the text of a Java error comes from it.
        error = to_spark_error(f"Spark cannot start with the master {master}", failed)
        _end(gateway)
        leave(before)
        if isinstance(failed, Exception):
            raise error from None
        raise


def _worker_python(master: str, conf: "SparkConf") -> str:
    """Return the Python of the workers: on this machine always the one that runs here."""
    if is_local(master):
        return sys.executable
    chosen = os.environ.get("PYSPARK_PYTHON") or sys.executable
    return conf.get("spark.pyspark.python", chosen)


def _open_context(gateway: Gateway) -> "SparkContext":
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    os.environ.update({_SUBMITTED: str(gateway.port), "PYSPARK_GATEWAY_SECRET": gateway.secret})
    try:
        connection = cast(Any, launch_gateway)()
    finally:
        del os.environ[_SUBMITTED], os.environ["PYSPARK_GATEWAY_SECRET"]
    # When this process is killed, only the JVM is left to remove the folder.
    hooks = getattr(connection.jvm, "org.apache.spark.util.ShutdownHookManager")
    hooks.registerShutdownDeleteDir(connection.jvm.java.io.File(str(gateway.folder)))
    context = SparkContext(gateway=connection)
    # It would print a traceback when the JVM dies.
    cast(Any, context)._accumulatorServer.handle_error = lambda *_: None
    return context


def _end(gateway: Gateway) -> None:
    """Stop the context, end the JVM, and make PySpark forget both, so that it can start again."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context: Any = SparkContext._active_spark_context
    if context is not None:
        if not gateway.is_alive:
            context._jsc = None
        with suppress(Exception):
            context.stop()
    if SparkContext._gateway is not None:
        with suppress(Exception):
            SparkContext._gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    gateway.close()


def _default_conf(master: str) -> dict[str, str]:
    if not master.startswith("local"):
        return dict(_CONF)
    # Small inputs on few cores: what Spark plans for 200 partitions is all overhead.
    partitions = {"spark.sql.shuffle.partitions": str(_count_slots(master))}
    return {**_CONF, **_LOOPBACK, **partitions, "spark.sql.adaptive.enabled": "false"}


def _count_slots(master: str) -> int:
    """Return how many tasks a local master runs at the same time; 2 when it does not parse."""
    numbers = master.partition("[")[2].rstrip("]").split(",")
    if numbers[0] == "*":
        return os.cpu_count() or 1
    try:
        counts = [int(number) for number in numbers if number]
    except ValueError:
        return 2
    if master.startswith("local-cluster") and len(counts) > 1:
        return max(1, counts[0] * counts[1])
    return max(1, counts[0]) if counts else 1


def _check_reachable(address: str) -> None:
    """Raise SparkError unless a server answers; Spark itself would try for minutes."""
    scheme, _, rest = address.partition("://")
    places = rest.partition("/")[0]  # what follows can hold a token
    reasons = []
    for place in places.split(","):
        try:
            parts = urlsplit(f"//{place}")
            host, port = parts.hostname or "", parts.port or _PORTS.get(scheme, 0)
            socket.create_connection((host, port), _REACH_SECONDS).close()
            return
        except (OSError, ValueError) as failed:
            reasons.append(str(getattr(failed, "strerror", None) or failed))
    message = f"no Spark answers at {scheme}://{places}: {'; '.join(reasons)}"
    raise SparkError(message, hint="check that it runs and can be reached from here")
