"""Spark: the options with which a command says where Spark runs."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from omnigraph.cli.session import config_option, given_config

if TYPE_CHECKING:
    from omnigraph.pipeline.session import SparkSettings

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    config_option,
    click.option("--spark-master", metavar="URL", help="Where Spark runs, such as local[4]."),
    click.option("--spark-remote", metavar="URL", help="A Spark Connect server: sc://host."),
    click.option("--spark-conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark."),
)


def spark_options(command: _Command) -> _Command:
    """Give a command the options that say where Spark runs."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def spark_settings(
    spark_master: str | None, spark_remote: str | None, spark_conf: tuple[str, ...]
) -> "SparkSettings":
    """Give the settings that the options, the environment and omnigraph.yaml mean."""
    from omnigraph.pipeline.session import settings_from

    config = given_config()
    default = None if config is None else config.spark
    return settings_from(os.environ, spark_master, spark_remote, spark_conf, default)
