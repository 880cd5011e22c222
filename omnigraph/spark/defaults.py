"""Defaults: the settings with which a cluster runs OmniGraph well, as a `spark-defaults.conf`."""

from collections.abc import Iterator

from omnigraph.frozen import dataclass

_ARCHIVE_NAME = "omnigraph"


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """Settings for a cluster.

    `archive` is a packed environment that Spark unpacks beside every process; without it workers
    have the packages already. `variables` are those of the environment that tasks need too.
    """

    archive: str | None = None
    variables: tuple[str, ...] = ()
    cores: int = 2

    def lines(self) -> Iterator[str]:
        """Yield the lines of the file, each setting under the reason for it."""
        yield "# Times mean the same on every machine."
        yield _line("spark.sql.session.timeZone", "UTC")
        yield "# Tasks run in Python, beside the heap of Java: about 1 GiB for each core."
        yield _line("spark.executor.cores", str(self.cores))
        yield _line("spark.executor.memory", "1g")
        yield _line("spark.executor.memoryOverhead", f"{self.cores + 1}g")
        yield "# The driver holds metadata only."
        yield _line("spark.driver.memory", "1g")
        yield _line("spark.driver.memoryOverhead", "2g")
        yield "# A Python process keeps the tables that it has opened."
        yield _line("spark.python.worker.reuse", "true")
        yield "# Tasks may run twice: what a lost or a second one wrote is never part of a commit."
        yield _line("spark.task.maxFailures", "4")
        yield _line("spark.speculation", "true")
        yield from self._packages()
        yield from self._environment()

    def _packages(self) -> Iterator[str]:
        if self.archive is None:
            yield "# The workers have OmniGraph installed; name their Python if it is another one:"
            yield f"# {_line('spark.pyspark.python', '/opt/omnigraph/bin/python')}"
            return
        yield "# The packages, unpacked beside every process of Spark."
        yield _line("spark.archives", f"{self.archive}#{_ARCHIVE_NAME}")
        yield _line("spark.pyspark.python", f"./{_ARCHIVE_NAME}/bin/python")
        yield "# In cluster mode the driver is a process of the cluster, too."
        inside = f"./{_ARCHIVE_NAME}/bin/python"
        yield _line("spark.yarn.appMasterEnv.PYSPARK_PYTHON", inside)

    def _environment(self) -> Iterator[str]:
        if not self.variables:
            return
        yield "# Variables of tasks; put secrets into roles or mounted files instead."
        for each in self.variables:
            name, _, value = each.partition("=")
            yield _line(f"spark.executorEnv.{name}", value)


def _line(name: str, value: str) -> str:
    return f"{name:44} {value}".rstrip()
