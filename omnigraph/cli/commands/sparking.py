"""The family `spark`: what a cluster of Spark needs to run OmniGraph."""

import click

from omnigraph.errors import InputError


@click.group()
def spark() -> None:
    """What a cluster of Spark needs."""


@spark.command("defaults")
@click.option("--archive", metavar="URI", help="A packed environment that workers unpack.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="A variable that tasks need.")
@click.option(
    "--cores", type=click.IntRange(1), default=2, show_default=True, help="Cores of an executor."
)
def spark_defaults(archive: str | None, env: tuple[str, ...], cores: int) -> None:
    """Print a spark-defaults.conf for a cluster, with the reason for each setting."""
    from omnigraph.spark.defaults import Defaults

    for each in env:
        if "=" not in each.strip("="):
            raise InputError(f"expected NAME=value, found '{each}'")
    for line in Defaults(archive=archive, variables=env, cores=cores).lines():
        click.echo(line)
