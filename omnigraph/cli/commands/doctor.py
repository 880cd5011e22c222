"""The command `doctor`: whether Python, Java, Spark and the store are fit for use."""

from typing import Any

import click

from omnigraph.cli.session import Session, graph_options
from omnigraph.cli.spark import spark_options, spark_settings


@click.command()
@spark_options
@graph_options
def doctor(session: Session, **how: Any) -> None:  # noqa: ANN401
    """Check Python, Java and Spark, and the store of URI.

    Starts Spark and runs a small job. Exits with 1 when a check failed.
    """
    from omnigraph.spark.doctor import diagnose

    uri = None if session.find_address() is None else session.local_uri
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
