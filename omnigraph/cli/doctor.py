"""The command `doctor`: whether Python, Java, Spark and the store are fit for use."""

import click

from omnigraph.cli.output import show_json
from omnigraph.cli.spark import spark_options, spark_settings


@click.command()
@click.argument("uri", required=False)
@spark_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def doctor(
    uri: str | None,
    spark_master: str | None,
    spark_remote: str | None,
    spark_conf: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check Python, Java and Spark, and the store of URI.

    Starts Spark and runs a small job. Exits with 1 when a check failed.
    """
    from omnigraph.pipeline.doctor import diagnose

    checks = diagnose(spark_settings(spark_master, spark_remote, spark_conf), uri)
    ok = all(check.ok for check in checks)
    if as_json:
        show_json({"ok": ok, "checks": [check.to_json() for check in checks]})
    else:
        for check in checks:
            mark = click.style("ok", fg="green") if check.ok else click.style("failed", fg="red")
            click.echo(f"{check.name}: {mark}, {check.detail}")
            if check.hint is not None:
                click.echo(f"   = hint: {check.hint}")
    if not ok:
        click.get_current_context().exit(1)
