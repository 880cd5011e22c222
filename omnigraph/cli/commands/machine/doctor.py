"""The commands `doctor` and `spark`: whether Java, Spark and the store are fit, and settings."""

from typing import Any

import click

from omnigraph.cli.session import Session, graph_options
from omnigraph.cli.spark import spark_options, spark_settings
from omnigraph.errors import InputError


@click.command()
@spark_options
@graph_options
def doctor(session: Session, **how: Any) -> None:  # noqa: ANN401
    """Check Python, Java and Spark, and the store of URI.

    Starts Spark and runs a small job. Exits with 1 when a check failed.
    """
    from omnigraph.spark.doctor import diagnose

    # The default profile may lead to a server, which has no store here.
    uri = session.local_uri if session.names_graph else None
    checks = diagnose(spark_settings(session.config, how), uri)
    ok = all(check.ok for check in checks)
    lines = []
    for check in checks:
        mark = click.style("ok", fg="green") if check.ok else click.style("failed", fg="red")
        mark = mark if check.is_used else click.style("not in use", fg="yellow")
        lines.append(f"{check.name}: {mark}, {check.detail}")
        if check.hint is not None:
            lines.append(f"   = hint: {check.hint}")
    session.show({"ok": ok, "checks": [check.to_json() for check in checks]}, *lines)
    if not ok:
        click.get_current_context().exit(1)


@click.group()
def spark() -> None:
    """Settings for a Spark cluster."""


@spark.command("defaults")
@click.option("--archive", metavar="URI", help="A packed environment that workers unpack.")
@click.option(
    "--env", multiple=True, metavar="NAME=VALUE", help="A variable that tasks need; repeatable."
)
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
