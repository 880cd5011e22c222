"""Session: the one place that decides which graph a command works on, as whom, and how it answers.

A command says `@graph_options` and gets a `Session` as its first argument::

    @click.command()
    @click.argument("name")         # what a command itself takes comes before the graph
    @branch_option
    @graph_options                  # adds [URI] --uri --target --config --as --json
    def delete(session: Session, name: str, branch: str | None) -> None:
        done = session.open(writing=True).delete(name, session.branch(branch))
        session.show(done.to_json(), f"deleted {name}")

- `session.open()` gives the `Graph` itself, as the actor of `--as` and under the policy of the
  configuration; a server is refused. For commands that work only where the graph is.
- `session.backend()` gives what answers commands with documents, on this machine (`cli.local`) or
  through a server (`cli.remote`); both give the same ones. For commands that work with both.
- `session.handle()` gives a handle on the graph, on this machine or behind a server. For commands
  that only read, and need more than documents.
- `session.show(document, *lines)` prints the document with `--json`, and the lines else.

The graph is the positional URI, `--uri` or `--target`, and only one of them; else that of the
alias; else `cli.graph` of omnigraph.yaml. The branch is the option; else that of the alias; else
`cli.branch`; else `main`. The token for a server is in the variable that `bearer_token_env` of the
graph names, or else in OMNIGRAPH_BEARER_TOKEN; the file of `auth.env_file` gives variables that
the environment lacks.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph.cli import completing
from omnigraph.cli.address import Address, Naming, remember_config
from omnigraph.cli.output import Document, coloured, show_json
from omnigraph.cli.terms import Target
from omnigraph.errors import (
    Code,
    ConflictError,
    DeniedError,
    NotFoundError,
    OmniGraphError,
    QueryError,
    SchemaError,
    UnavailableError,
    UnreadableError,
)
from omnigraph.span import Source

if TYPE_CHECKING:
    from omnigraph.api.graph import Graph
    from omnigraph.api.remote.graph import RemoteGraph
    from omnigraph.cli.local import Local
    from omnigraph.cli.remote import Remote

_MAIN = "main"
_EXIT_CODES: tuple[tuple[type[OmniGraphError], int], ...] = (
    (ConflictError, 3),
    (DeniedError, 4),
    (NotFoundError, 5),
)


@dataclass(frozen=True, kw_only=True)
class Session(Naming):
    """What one command works with; nothing is read or opened before it is asked for."""

    actor: str | None = None
    as_json: bool = False

    @cached_property
    def address(self) -> Address:
        """Where the graph is."""
        found = self.find_address()
        if found is None:
            raise click.UsageError(
                "name a graph, by its URI or with --target; omnigraph init makes one"
            )
        return found

    def branch(self, given: str | None, usual: str | None = None) -> str:
        """Give the branch that an option names, or else the one that is usual here."""
        if given is not None:
            return given
        return usual or (None if self.config is None else self.config.cli.branch) or _MAIN

    def to_read(self, branch: str | None, snapshot: str | None, usual: str | None = None) -> Target:
        """Give what `target_options` say is to be read."""
        if branch is not None and snapshot is not None:
            raise click.UsageError("--branch and --snapshot exclude each other")
        return (
            Target(None, snapshot) if snapshot is not None else Target(self.branch(branch, usual))
        )

    @property
    def local_uri(self) -> str:
        """Where the graph itself is; one that a server has is refused."""
        if self.address.is_remote:
            what = click.get_current_context().command_path.removeprefix("omnigraph ")
            message = f"'{what}' does not work through the server at {self.address.uri}"
            raise UnavailableError(message, hint="run it where the graph itself is")
        return self.address.uri

    def open(self, *, writing: bool = False, keeps_topology: bool | None = None) -> "Graph":
        """Open the graph itself; one that a server has is refused."""
        from omnigraph.api.graph import open as open_graph

        return open_graph(
            self.local_uri,
            read_only=not writing,
            keeps_topology=keeps_topology,
            actor=self.actor,
            policy=self._policy,
        )

    @property
    def _policy(self) -> "Path | None":
        """The file with what the actor may do; who names no actor is not asked about."""
        config = None if self.actor is None else self.config
        return None if config is None else config.policy.file

    def backend(self) -> "Local | Remote":
        """Give what answers commands about the graph with documents."""
        if not self.address.is_remote:
            from omnigraph.cli.local import Local

            return Local(self.open)
        self._refuse_actor()
        from omnigraph.cli.remote import Remote

        return Remote(self.address.uri, self.address.token)

    def handle(self) -> "Graph | RemoteGraph":
        """Open the graph to read, or connect to the server that has it."""
        if not self.address.is_remote:
            return self.open()
        self._refuse_actor()
        from omnigraph.api.remote.graph import connect

        return connect(self.address.uri, token=self.address.token)

    def _refuse_actor(self) -> None:
        if self.actor is not None:
            raise click.UsageError("--as does not work with a server; the token says who acts")

    def lasting_backend(self) -> "Local | Remote":
        """Give a backend that opens the graph once, for many commands."""
        if self.address.is_remote:
            return self.backend()
        from omnigraph.cli.local import Local

        graph = self.open(writing=True)
        return Local(lambda **_: graph)

    def show(self, document: Document, *lines: str) -> None:
        """Print a document with `--json`, and lines for people else."""
        if self.as_json:
            show_json(document)
            return
        for line in lines:
            click.echo(line)

    def show_fields(self, document: Document) -> None:
        """Print a document with `--json`, and its fields that are not null else."""
        fields = (f"{name}: {value}" for name, value in document.items() if value is not None)
        self.show(document, *fields)


config_option = click.option(
    "--config",
    metavar="FILE",
    expose_value=False,
    callback=remember_config,
    shell_complete=completing.files,
    help="The omnigraph.yaml.  [default: that of this folder]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
branch_option = click.option(
    "--branch",
    metavar="NAME",
    shell_complete=completing.branches,
    help="The branch.  [default: cli.branch, or main]",
)
types_option = click.option(
    "--type",
    "types",
    multiple=True,
    metavar="TYPE",
    shell_complete=completing.types,
    help="Only this type; repeatable.",
)
_TARGET = (
    click.option(
        "--branch",
        metavar="NAME",
        shell_complete=completing.branches,
        help="The branch to read.  [default: cli.branch, or main]",
    ),
    click.option(
        "--snapshot",
        metavar="COMMIT",
        shell_complete=completing.tags,
        help="The commit or tag to read instead.",
    ),
)
_NAMING = (
    click.option(
        "--uri",
        metavar="URI",
        shell_complete=completing.folders,
        help="The graph, instead of the argument.",
    ),
    click.option(
        "--target",
        metavar="NAME",
        shell_complete=completing.graphs,
        help="A graph of omnigraph.yaml, by its name.",
    ),
    config_option,
    click.option("--as", "actor", metavar="ACTOR", help="Who does it."),
    json_option,
)


def target_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say what it reads; `Session.to_read` reads them."""
    for option in reversed(_TARGET):
        command = option(command)
    return command


def graph_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all that names its graph; it is called with a Session first."""
    word = click.argument(
        "word", required=False, metavar="[URI]", shell_complete=completing.folders
    )
    return word(session_options(command))


def session_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command what names its graph, but for the argument; see `graph_options`."""

    @wraps(command)
    def with_session(
        uri: str | None,
        target: str | None,
        actor: str | None,
        as_json: bool,
        word: str | None = None,
        **rest: object,
    ) -> None:
        session = Session(word=word, uri=uri, target=target, actor=actor, as_json=as_json)
        command(session, **rest)

    found: Callable[..., None] = with_session
    for option in reversed(_NAMING):
        found = option(found)
    return found


def exit_code(error: OmniGraphError) -> int:
    """Give the exit code of an error."""
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 1)


def show_error(error: OmniGraphError, *, as_json: bool) -> None:
    """Show an error: as a JSON object on stdout, or as text on stderr."""
    if as_json:
        show_json(error.to_json())
    else:
        click.echo(coloured(error.render()), err=True)


def show_usage(wrong: click.UsageError) -> None:
    """Show a wrong use of a command as a JSON object on stdout."""
    show_json({"error": wrong.format_message(), "code": "usage", "hint": None})


def read_schema(path: str) -> Source:
    """Give the text of a `.pg` file; `-` is standard input."""
    from omnigraph.syntax.source import decode

    return decode(path, _bytes(path), SchemaError, Code.SCHEMA_SYNTAX)


def read_queries(path: str) -> Source:
    """Give the text of a `.gq` file; `-` is standard input."""
    from omnigraph.syntax.source import decode

    return decode(path, _bytes(path), QueryError, Code.QUERY_SYNTAX)


def read_text(path: str) -> str:
    """Give the text of a file; `-` is standard input."""
    try:
        return _bytes(path).decode()
    except UnicodeDecodeError:
        raise UnreadableError(f"cannot read '{path}': it is not UTF-8") from None


def _bytes(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    from omnigraph.files.bytes import file_bytes

    return file_bytes(path)
