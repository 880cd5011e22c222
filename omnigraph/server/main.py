"""Main: the `omnigraph-server` command."""

import sys

import click

from omnigraph import __version__
from omnigraph.errors import UnavailableError


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("uri")
@click.option("--bind", default="127.0.0.1:8080", show_default=True, help="Address and port.")
@click.version_option(__version__, "-v", "--version", message="omnigraph-server %(version)s")
def omnigraph_server(uri: str, bind: str) -> None:
    """Serve the graph at URI over HTTP. This release has no server yet."""
    error = UnavailableError(
        f"omnigraph {__version__} cannot serve '{uri}' on {bind}: it has no server yet",
        hint="use the graph through omnigraph --help, or from Python",
    )
    click.echo(error.render(), err=True)
    sys.exit(1)


def main() -> None:
    """Run the server's command line."""
    omnigraph_server(prog_name="omnigraph-server")
