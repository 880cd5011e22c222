"""Main: the `omnigraph` command, its families, and how any failure ends it."""

import os
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from omnigraph import __version__
from omnigraph.cli.program import Program, collect_rarely, leave
from omnigraph.cli.session import exit_code, json_option, show_error, show_usage
from omnigraph.cli.start import INTERRUPTED, end_interrupted
from omnigraph.errors import OmniGraphError, UnreadableError
from omnigraph.files.bytes import forbid_world_writable

_WANTS_JSON = "omnigraph.wants_json"
# The module of each command. Imported when it is called, so that none waits for the others.
_HOMES = {
    "init": "graph",
    "import": "rows.importing",
    "load": "rows.data",
    "ingest": "rows.data",
    "read": "read",
    "change": "rows.change",
    "shell": "shell",
    "export": "rows.export",
    "blob": "rows.blob",
    "embed": "rows.embed",
    "snapshot": "graph",
    "branch": "graph",
    "commit": "graph",
    "diff": "merge",
    "changes": "history",
    "resolve": "rows.change",
    "revert": "merge",
    "tag": "history",
    "blame": "history",
    "run": "history",
    "query": "query",
    "lsp": "machine.completion",
    "schema": "schema",
    "cluster": "cluster",
    "login": "machine.login",
    "logout": "machine.login",
    "policy": "policy",
    "explain": "machine.explain",
    "optimize": "maintenance",
    "coverage": "maintenance",
    "cleanup": "maintenance",
    "fsck": "maintenance",
    "backup": "backup",
    "restore": "backup",
    "search": "explore",
    "neighbors": "explore",
    "algo": "explore",
    "report": "report",
    "studio": "studio",
    "example": "machine.example",
    "memory": "memory.family",
    "mcp": "mcp.family",
    "doctor": "machine.doctor",
    "spark": "machine.doctor",
    "completion": "machine.completion",
}
# Options of most commands, which resemble those of `omnigraph` alone.
_OF_COMMANDS = ("--json", "--uri", "--target", "--config", "--branch", "--as")
# What people call commands that have another name here.
_OTHERWISE = {
    "merge": "Did you mean 'branch merge'?",
    "log": "Did you mean 'commit list'?",
    "serve": "The server is the command omnigraph-server.",
}


class _Root(click.Group):
    """Turns every failure into one message and an exit code, never a traceback."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_HOMES])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _HOMES:
            return super().get_command(ctx, cmd_name)
        home = import_module(f"omnigraph.cli.commands.{_HOMES[cmd_name]}")
        commands = (each for each in vars(home).values() if isinstance(each, click.Command))
        return next(each for each in commands if each.name == cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # click would look for what is meant only among the commands that were imported.
        is_known = args[0].startswith("-") or self.get_command(ctx, args[0]) is not None
        if is_known or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from omnigraph.syntax.problems import nearest_name

        near = nearest_name(args[0], self.list_commands(ctx))
        meant = _OTHERWISE.get(args[0]) or (f"Did you mean '{near}'?" if near else "")
        raise click.UsageError(f"No such command '{args[0]}'. {meant}".strip(), ctx)

    def make_context(self, *args: Any, **how: Any) -> click.Context:  # noqa: ANN401
        try:
            return super().make_context(*args, **how)
        except KeyboardInterrupt:  # click would call it aborted, and exit with 1
            end_interrupted()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Known before the command is, so that also a wrong usage is told as JSON.
        ctx.meta[_WANTS_JSON] = "--json" in args
        if os.environ.get("NO_COLOR"):
            ctx.color = False
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as wrong:
            self._refuse(ctx, wrong)

    def invoke(self, ctx: click.Context) -> object:
        as_json: bool = ctx.meta[_WANTS_JSON]
        try:
            return super().invoke(ctx)
        except OmniGraphError as error:
            show_error(error, as_json=as_json)
            ctx.exit(exit_code(error))
        except click.UsageError as wrong:
            self._refuse(ctx, wrong)
        except BrokenPipeError:
            raise
        except OSError as failed:
            reason = failed.strerror or type(failed).__name__
            where = "" if failed.filename is None else f"'{failed.filename}': "
            unusable = UnreadableError(f"a file cannot be used: {where}{reason}")
            show_error(unusable, as_json=as_json)
            ctx.exit(exit_code(unusable))
        except KeyboardInterrupt:
            # Ctrl-C ends the Java of a Spark session as well, about which the session would warn.
            warnings.filterwarnings("ignore", "Unable to cleanly shutdown Spark", RuntimeWarning)
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)

    def _refuse(self, ctx: click.Context, wrong: click.UsageError) -> NoReturn:
        """End with a wrong usage; of an option before its command, say where it goes."""
        is_early = wrong.ctx is not None and isinstance(wrong.ctx.command, click.Group)
        is_unlike = isinstance(wrong, click.NoSuchOption) and (
            not wrong.possibilities or wrong.option_name in _OF_COMMANDS
        )
        if is_early and is_unlike:
            said = f"{wrong.message} Options such as this one go after the command."
            wrong = click.UsageError(said, wrong.ctx)
        if not ctx.meta[_WANTS_JSON]:
            raise wrong
        show_usage(wrong)
        ctx.exit(wrong.exit_code)


@click.group(
    cls=_Root,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 error, 2 usage, 3 conflict, 4 denied, 5 not found.\n\n"
    "A server is started by another command: omnigraph-server --help.",
)
@click.version_option(__version__, "-v", "--version", message="omnigraph %(version)s")
def omnigraph() -> None:
    """A typed property graph with Git-style branches and search, over Lance."""


@omnigraph.command()
@json_option
def version(as_json: bool) -> None:
    """Print the version."""
    from omnigraph.cli.output import show_json
    from omnigraph.storage.layout import NEWEST_FORMAT

    if as_json:
        show_json({"version": __version__, "format_version": NEWEST_FORMAT})
    else:
        click.echo(f"omnigraph {__version__} (graph format {NEWEST_FORMAT})")


def main() -> None:
    """Run the command line; a reader that closes the pipe ends it quietly."""
    collect_rarely()
    forbid_world_writable()
    try:
        _run()
    except BrokenPipeError:
        _end_unheard()
    except OSError as failed:  # what reports an error could not be written either
        with suppress(OSError):
            click.echo(f"Error: cannot write the output: {failed.strerror}", err=True)
        _end_unheard()
    except KeyboardInterrupt:
        end_interrupted()


def _end_unheard() -> NoReturn:
    """End with 1; Python would try once more to write what could not be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(1)


def _run() -> None:
    try:
        omnigraph(prog_name="omnigraph", obj=Program())
    except SystemExit as ended:
        if ended.code == 0:
            leave()
        raise
