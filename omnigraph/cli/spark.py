"""Spark: the options with which a command says where Spark runs."""

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from omnigraph.server.config import Config
    from omnigraph.spark.settings import SparkSettings

_Command = TypeVar("_Command", bound=Callable[..., Any])

engine_option = click.option(
    "--engine",
    type=click.Choice(("auto", "spark", "inline")),
    default="auto",
    show_default=True,
    help="Where it runs; inline is this process, auto chooses by size.",
)

_OPTIONS = (
    click.option("--spark-master", metavar="URL", help="Where Spark runs, such as local[4]."),
    click.option("--spark-remote", metavar="URL", help="A Spark Connect server: sc://host."),
    click.option(
        "--spark-conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark; repeatable."
    ),
)
SPARK_OPTIONS = ("spark_master", "spark_remote", "spark_conf")


def spark_options(command: _Command) -> _Command:
    """Add the options that say where Spark runs."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def spark_settings(config: "Config | None", how: Mapping[str, Any]) -> "SparkSettings":
    """Return the settings that the options, the environment and omnigraph.yaml mean."""
    from omnigraph.spark.settings import settings_from

    default = None if config is None else config.spark
    master, remote, conf = (how[name] for name in SPARK_OPTIONS)
    return settings_from(os.environ, master, remote, conf, default)
