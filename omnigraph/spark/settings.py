"""Settings: where Spark runs, from arguments, the environment or a file."""

from collections.abc import Iterable, Mapping
from dataclasses import field

from omnigraph.errors import ConfigError
from omnigraph.frozen import dataclass


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where Spark runs: a master, or the address of a Spark Connect server; and its conf."""

    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_configured(self) -> bool:
        """Whether somebody chose where Spark runs."""
        return self.master is not None or self.remote is not None


def settings_from(
    environment: Mapping[str, str],
    master: str | None = None,
    remote: str | None = None,
    conf: Iterable[str] = (),
    default: SparkSettings | None = None,
) -> SparkSettings:
    """Return the settings: from the arguments, then the environment, then `default`.

    The first of the three that names a master or a remote decides where Spark runs. Entries of
    `conf` are written `key=value`; they override those of `default`.
    """
    given = default or SparkSettings()
    variables = "OMNIGRAPH_SPARK_MASTER", "OMNIGRAPH_SPARK_REMOTE"
    from_variables = (environment.get(name) or None for name in variables)
    of_environment = SparkSettings(next(from_variables), next(from_variables))
    levels = (
        (SparkSettings(master, remote), "--spark-master and --spark-remote"),
        (of_environment, " and ".join(variables)),
        (given, "spark.master and spark.remote"),
    )
    merged = {**given.conf, **dict(map(_parse_entry, conf))}
    for level, names in levels:
        if level.master is not None and level.remote is not None:
            hint = "a master runs Spark for this process; a remote is a Spark Connect server"
            raise ConfigError(f"{names} exclude each other", hint=hint)
        if level.is_configured:
            return SparkSettings(level.master, level.remote, merged)
    return SparkSettings(conf=merged)


def _parse_entry(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise ConfigError(f"expected a Spark setting key=value, found '{text}'")
    if key.strip() in ("spark.master", "spark.remote"):
        what = key.strip().removeprefix("spark.")
        raise ConfigError(f"{key.strip()} cannot be set as conf", hint=f"use --spark-{what}")
    return key.strip(), value.strip()
