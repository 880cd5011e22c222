"""Main: the `omnigraph-server` command."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph import __version__
from omnigraph.errors import ConfigError, OmniGraphError
from omnigraph.files.bytes import forbid_world_writable

if TYPE_CHECKING:
    from omnigraph.server.config import Config
    from omnigraph.server.limits import Limits
    from omnigraph.server.serve import Settings

DEFAULT_BIND = "127.0.0.1:8080"


@click.command(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.argument("uri", required=False, envvar="OMNIGRAPH_TARGET_URI")
@click.option(
    "--target",
    metavar="NAME",
    envvar="OMNIGRAPH_TARGET",
    help="A graph of omnigraph.yaml, instead of URI.",
)
@click.option(
    "--bind",
    metavar="ADDRESS",
    envvar="OMNIGRAPH_BIND",
    help=f"Address and port.  [default: {DEFAULT_BIND}]",
)
@click.option(
    "--config",
    metavar="FILE",
    envvar="OMNIGRAPH_CONFIG",
    help="The omnigraph.yaml.  [default: that of this folder]",
)
@click.option(
    "--cluster",
    metavar="DIR|URI",
    envvar="OMNIGRAPH_CLUSTER",
    help="Serve all graphs of a deployment: its folder, or its storage.",
)
@click.option(
    "--require-all-graphs",
    "needs_all_graphs",
    is_flag=True,
    help="Fail when a graph of the deployment cannot be opened.",
)
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(min=1),
    envvar="OMNIGRAPH_WORKERS",
    default=1,
    help="Processes that serve the address together.  [default: 1]",
)
@click.option("--policy", metavar="FILE", help="The policy.yaml; needs tokens.")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="A name by which clients may call the server; repeatable.",
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="NAME=VALUE",
    help="Another limit, such as ingest_bytes=104857600; repeatable.",
)
@click.option(
    "--unauthenticated-public",
    "is_public",
    is_flag=True,
    help="Serve other machines without tokens: everybody may do everything.",
)
@click.option(
    "--allow-writes-without-policy",
    "allows_writes",
    is_flag=True,
    help="With tokens and no policy, let everybody who has one do everything.",
)
@click.option(
    "--health",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="Start nothing; wait so long for the server with these settings to answer.",
)
@click.version_option(__version__, "-v", "--version", message="omnigraph-server %(version)s")
def omnigraph_server(
    uri: str | None,
    target: str | None,
    bind: str | None,
    config: str | None,
    cluster: str | None,
    needs_all_graphs: bool,
    workers: int,
    policy: str | None,
    hosts: tuple[str, ...],
    limits: tuple[str, ...],
    is_public: bool,
    allows_writes: bool,
    health: float | None,
) -> None:
    """Serve the graph at URI over HTTP.

    Tokens come from OMNIGRAPH_SERVER_BEARER_TOKENS_AWS_SECRET, …_TOKENS_FILE, …_TOKENS_JSON or
    OMNIGRAPH_SERVER_BEARER_TOKEN. Without any, only this machine is served.
    """
    try:
        found = _config(config)
        if health is not None:
            _check_health(*_address(found, bind), health)
            return
        from omnigraph.server.process.workers import WorkerSettings
        from omnigraph.server.serve import serve

        settings = _settings(found, uri, target, bind, cluster)
        if cluster is not None and policy is not None:
            raise click.UsageError("policies of a deployment are in its cluster.yaml")
        if needs_all_graphs and cluster is None:
            raise click.UsageError("--require-all-graphs goes with --cluster")
        file = Path(policy) if policy is not None else settings.policy
        serve(
            replace(
                settings,
                policy=file,
                hosts=hosts,
                is_public=is_public,
                allows_writes=allows_writes,
                needs_all_graphs=needs_all_graphs,
                workers=workers,
                worker=WorkerSettings.of(os.environ),
                limits=_limits(found, limits),
            )
        )
    except OmniGraphError as error:
        click.echo(error.render(), err=True)
        sys.exit(1)


def _config(path: str | None) -> "Config | None":
    from omnigraph.server.config import find_config

    found = find_config(path, Path.cwd())
    if found is not None:
        found.load_env(os.environ)
    return found


def _settings(
    config: "Config | None",
    uri: str | None,
    target: str | None,
    bind: str | None,
    cluster: str | None,
) -> "Settings":
    from omnigraph.api.budgets import Budgets
    from omnigraph.server.serve import Settings
    from omnigraph.spark.settings import settings_from

    if uri is not None and target is not None:
        raise click.UsageError("URI and --target exclude each other")
    if cluster is not None and (uri is not None or target is not None):
        raise click.UsageError("--cluster serves a deployment; leave URI and --target out")
    host, port = _address(config, bind)
    if cluster is not None:
        # What omnigraph.yaml says of a graph, its policy and its queries is not for a deployment.
        spark = settings_from(os.environ, default=None if config is None else config.spark)
        return Settings(host=host, port=port, cluster=cluster, spark=spark)
    if uri is None:
        uri = _uri(config, target)
    return Settings(
        uri=uri,
        host=host,
        port=port,
        policy=None if config is None else config.policy.file,
        queries=None if config is None else config.queries,
        budgets=Budgets() if config is None else Budgets(actors=config.server.budgets.actors),
        spark=settings_from(os.environ, default=None if config is None else config.spark),
    )


def _address(config: "Config | None", bind: str | None) -> tuple[str, int]:
    address = bind or (None if config is None else config.server.bind) or DEFAULT_BIND
    host, _, port = address.rpartition(":")
    if not host or not _is_port(port):
        raise click.UsageError(f"--bind is an address and a port like {DEFAULT_BIND}")
    return host, int(port)


def _check_health(host: str, port: int, seconds: float) -> None:
    from omnigraph.server.monitoring.health import health_problem

    if port == 0:
        raise click.UsageError("a server at port 0 cannot be asked; name the port it was given")
    problem = health_problem(host, port, seconds=seconds)
    if problem is not None:
        click.echo(f"no healthy server at {host}:{port}: {problem}", err=True)
        sys.exit(1)


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5 and int(text) <= 65_535


def _uri(config: "Config | None", target: str | None) -> str:
    name = target or (None if config is None else config.server.graph)
    if config is None or name is None:
        hint = "give URI, or server.graph in omnigraph.yaml"
        raise ConfigError("no graph to serve is named", hint=hint)
    return config.graph(name).uri


def _limits(config: "Config | None", given: tuple[str, ...]) -> "Limits":
    """Return the limits of the command, which go before those of omnigraph.yaml."""
    from omnigraph.server.limits import Limits, parse_limit

    found = {} if config is None else dict(config.server.budgets.common)
    try:
        found |= dict(map(parse_limit, given))
    except ValueError as wrong:
        raise click.UsageError(str(wrong)) from None
    return Limits().with_values(found)


def main() -> None:
    """Run the server's command line."""
    forbid_world_writable()
    omnigraph_server(prog_name="omnigraph-server")


if __name__ == "__main__":
    main()
