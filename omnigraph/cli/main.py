"""Main: the `omnigraph` command, its families, and how any failure ends it."""

import os
import sys
import warnings

import click

from omnigraph import __version__
from omnigraph.cli.commands.backup import backup, restore
from omnigraph.cli.commands.blob import blob
from omnigraph.cli.commands.change import change
from omnigraph.cli.commands.completion import completion
from omnigraph.cli.commands.data import ingest, load
from omnigraph.cli.commands.doctor import doctor
from omnigraph.cli.commands.embed import embed
from omnigraph.cli.commands.example import example
from omnigraph.cli.commands.explain import explain
from omnigraph.cli.commands.export import export
from omnigraph.cli.commands.graph import branch, commit, init, snapshot
from omnigraph.cli.commands.history import blame, changes, run, tag
from omnigraph.cli.commands.maintenance import cleanup, coverage, fsck, optimize
from omnigraph.cli.commands.merge import diff, merge, revert
from omnigraph.cli.commands.policy import policy
from omnigraph.cli.commands.query import query
from omnigraph.cli.commands.read import read
from omnigraph.cli.commands.report import report
from omnigraph.cli.commands.schema import schema
from omnigraph.cli.commands.shell import shell
from omnigraph.cli.session import exit_code, json_option, show_error, show_usage
from omnigraph.errors import OmniGraphError
from omnigraph.files.bytes import forbid_world_writable

_INTERRUPTED = 130
_WANTS_JSON = "omnigraph.wants_json"


class _Root(click.Group):
    """Turns every failure into one message and an exit code, never a traceback."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Known before the command is, so that also a wrong usage is told as JSON.
        ctx.meta[_WANTS_JSON] = "--json" in args
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        as_json: bool = ctx.meta[_WANTS_JSON]
        try:
            return super().invoke(ctx)
        except OmniGraphError as error:
            show_error(error, as_json=as_json)
            ctx.exit(exit_code(error))
        except click.UsageError as wrong:
            if not as_json:
                raise
            show_usage(wrong)
            ctx.exit(wrong.exit_code)
        except KeyboardInterrupt:
            # Ctrl-C ends the Java of a Spark session as well, about which the session would warn.
            warnings.filterwarnings("ignore", "Unable to cleanly shutdown Spark", RuntimeWarning)
            click.echo("interrupted", err=True)
            ctx.exit(_INTERRUPTED)


@click.group(
    cls=_Root,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 error, 2 usage, 3 conflict, 4 denied, 5 not found.",
)
@click.version_option(__version__, "-v", "--version", message="omnigraph %(version)s")
def omnigraph() -> None:
    """A typed property graph with Git-style branches and search, over Lance."""


@omnigraph.command()
@json_option
def version(as_json: bool) -> None:
    """Print the version."""
    from omnigraph.cli.output import show_json
    from omnigraph.storage.layout import FORMAT

    if as_json:
        show_json({"version": __version__, "format_version": FORMAT})
    else:
        click.echo(f"omnigraph {__version__} (graph format {FORMAT})")


for command in (
    init,
    load,
    ingest,
    read,
    change,
    shell,
    export,
    blob,
    embed,
    snapshot,
    branch,
    commit,
    diff,
    changes,
    revert,
    tag,
    blame,
    run,
    query,
    schema,
    policy,
    explain,
    optimize,
    coverage,
    cleanup,
    fsck,
    backup,
    restore,
    report,
    example,
    doctor,
    completion,
):
    omnigraph.add_command(command)
branch.add_command(merge)


def main() -> None:
    """Run the command line; a reader that closes the pipe ends it quietly."""
    forbid_world_writable()
    try:
        omnigraph(prog_name="omnigraph")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
