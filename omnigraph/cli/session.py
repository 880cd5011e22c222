"""Session: the one place that decides which graph a command works on, as whom, and how it answers.

A command says `@graph_options` and gets a `Session` as its first argument::

    @click.command()
    @click.argument("name")         # what a command itself takes comes before the graph
    @branch_option
    @graph_options                  # adds [URI] --uri --target --config --as --json
    def delete(session: Session, name: str, branch: str | None) -> None:
        done = session.graph(writing=True).branch(session.branch(branch)).delete(name)
        session.show(done.to_json(), f"deleted {name}")

- `session.graph()` is the handle on the graph, opened here as the actor of `--as` and under the
  policy of the configuration, or behind a server.
- `session.open()` is the same for commands that work only where the graph is; it refuses a server.
- `session.show(document, *lines)` prints the document with `--json`, and the lines otherwise.

The graph is the positional URI, `--uri`, `--target` or that of `--profile`, and only one of them;
else that of the profile in OMNIGRAPH_PROFILE; else that of the alias; else `cli.graph` of
omnigraph.yaml; else that of the default profile. The branch is the option; else that of the
profile of `--profile` or OMNIGRAPH_PROFILE; else that of the alias; else `cli.branch`; else that of
the default profile, where it has the graph; else `main`. The token for a server is in the variable
that `bearer_token_env` of the graph names, or else in OMNIGRAPH_BEARER_TOKEN; the file of
`auth.env_file` gives variables that the environment lacks.
"""

import shlex
import sys
from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import completing
from omnigraph.cli.address import (
    Address,
    Naming,
    config_words,
    given_config,
    remember_config,
)
from omnigraph.cli.output import (
    Document,
    coloured,
    show_either,
    show_json,
)
from omnigraph.cli.program import Program, import_arrow
from omnigraph.cli.spark import spark_settings
from omnigraph.errors import (
    Code,
    ConfigError,
    ConflictError,
    DeniedError,
    InputError,
    NotFoundError,
    OmniGraphError,
    QueryError,
    SchemaError,
    UnavailableError,
    UnreadableError,
)
from omnigraph.frozen import dataclass
from omnigraph.span import Source

if TYPE_CHECKING:
    from omnigraph.api.graph import Graph
    from omnigraph.api.registry import QueryFiles
    from omnigraph.api.view import View
    from omnigraph.cli.profiles import UserProfile
    from omnigraph.spark.progress import Progress

_MAIN = "main"
# Whether a graph at hand was opened under a policy.
_POLICY = "omnigraph.policy"
_EXIT_CODES: tuple[tuple[type[OmniGraphError], int], ...] = (
    (ConflictError, 3),
    (DeniedError, 4),
    (NotFoundError, 5),
)


@dataclass(frozen=True, slots=True)
class ReadTarget:
    """What is read: a branch where it stands now, or else a commit or tag."""

    branch: str | None
    snapshot: str | None = None

    @property
    def name(self) -> str:
        """The branch, or the commit or tag."""
        name = self.branch if self.snapshot is None else self.snapshot
        assert name is not None
        return name

    def view(self, graph: "Graph") -> "View":
        """Return the branch, or the commit or tag, to read from."""
        return graph.branch(self.name) if self.snapshot is None else graph.at(self.snapshot)


@dataclass(frozen=True, kw_only=True)
class Session(Naming):
    """What one command works with; nothing is read or opened before it is asked for."""

    actor: str | None = None
    as_json: bool = False
    profile_name: str | None = None
    # A profile of OMNIGRAPH_PROFILE gives way to a graph that the command names.
    gives_way: bool = False

    @cached_property
    def address(self) -> Address:
        """Where the graph is."""
        found = self._profiled() or self.find_address() or self._usual()
        if found is None:
            raise click.UsageError(
                "name a graph, by its URI or with --target; omnigraph init makes one"
            )
        return found

    @cached_property
    def profile(self) -> "UserProfile | None":
        """The profile of `--profile`, or the usual one where nothing else names a graph."""
        from omnigraph.cli.profiles import read_profiles

        if self._profile_name is not None:
            return read_profiles().find(self._profile_name)
        if self.find_address() is not None:
            return None
        profiles = read_profiles()
        return None if profiles.default is None else profiles.find(profiles.default)

    @property
    def names_graph(self) -> bool:
        """Whether the command, a profile that was given, an alias or omnigraph.yaml has a graph."""
        return self._profile_name is not None or self.find_address() is not None

    @property
    def has_graph(self) -> bool:
        """Whether there is a graph to work on, be it that of the default profile."""
        return self.names_graph or self.profile is not None

    @property
    def words(self) -> list[str]:
        """The arguments that name the same graph and actor to another command."""
        options = {
            "--uri": self.uri,
            "--target": self.target,
            "-P": self._profile_name,  # `read` has no --profile
            "--as": self.actor,
        }
        named = [] if self.word is None else [self.word]
        for name, value in options.items():
            named += [] if value is None else [name, value]
        return [*named, *config_words()]

    @property
    def _is_named(self) -> bool:
        return any(each is not None for each in (self.word, self.uri, self.target))

    @property
    def _profile_name(self) -> str | None:
        return None if self.gives_way and self._is_named else self.profile_name

    def _profiled(self) -> Address | None:
        """Return where the graph of `--profile` is."""
        if self._profile_name is None:
            return None
        if self._is_named:
            raise click.UsageError("the graph is named twice; leave --profile out, or the graph")
        return self._usual()

    def _usual(self) -> Address | None:
        from omnigraph.cli.profiles import read_profiles

        return None if self.profile is None else read_profiles().address(self.profile)

    def confirm(self, what: str, *, yes: bool) -> None:
        """Raise unless `--yes` is given for what removes something behind a profile's server.

        The name of a profile does not show where it leads, so the target is told.
        """
        if self.address.is_remote and self.profile is not None and not yes:
            place = f"{self.address.uri} (profile {self.profile.name})"
            raise click.UsageError(f"{what} at {place} cannot be undone; add --yes to go ahead")

    def branch(self, given: str | None, usual: str | None = None) -> str:
        """Return the branch that an option names, or else the one that is usual here."""
        named = self.named_branch(given, usual)
        return _MAIN if named is None else named

    def named_branch(self, given: str | None, usual: str | None = None) -> str | None:
        """Return the branch that something names: an option, a profile, an alias or a file."""
        if given is not None:
            return given
        of_profile = None if self.profile is None else self.profile.branch
        of_config = None if self.config is None else self.config.cli.branch
        if self._profile_name is not None:
            return of_profile or usual or of_config
        return usual or of_config or of_profile

    def to_read(
        self, branch: str | None, snapshot: str | None, usual: str | None = None
    ) -> ReadTarget:
        """Return what `target_options` say is to be read."""
        if branch is not None and snapshot is not None:
            raise click.UsageError("--branch and --snapshot exclude each other")
        if snapshot is not None:
            return ReadTarget(None, snapshot)
        return ReadTarget(self.branch(branch, usual))

    @property
    def local_uri(self) -> str:
        """Where the graph itself is; one that a server has is refused."""
        if self.address.is_remote:
            what = click.get_current_context().command_path.removeprefix("omnigraph ")
            message = f"'{what}' does not work through the server at {self.address.uri}"
            raise UnavailableError(message, hint="run it where the graph itself is")
        return self.address.uri

    def open(
        self, *, writing: bool = False, keeps_topology: bool | None = None, stored: bool = False
    ) -> "Graph":
        """Open the graph itself, if need be with stored queries; a server's is refused."""
        if click.get_current_context().find_object(Program) is not None:
            import_arrow()
        from omnigraph.api.graph import open as open_graph

        click.get_current_context().meta[_POLICY] = self.policy_file is not None
        return open_graph(
            self.local_uri,
            read_only=not writing,
            keeps_topology=keeps_topology,
            actor=self.acting,
            policy=self.policy_file,
            queries=self._queries if stored else None,
        )

    @property
    def policy_file(self) -> "Path | None":
        """The file with what the actor may do; who names no actor is not asked about."""
        config = None if self.actor is None else self.config
        return None if config is None else config.policy.file

    @property
    def has_queries(self) -> bool:
        """Whether the configuration names stored queries."""
        return self.config is not None and self.config.queries is not None

    @property
    def acting(self) -> str | None:
        """Who acts: of `--as`, or else of the profile."""
        if self.actor is not None or self.profile is None:
            return self.actor
        return self.profile.actor

    @property
    def _queries(self) -> "QueryFiles":
        """The files of the stored queries of a graph at hand."""
        found = None if self.config is None else self.config.queries
        if found is None:
            hint = "name their files by `queries:` in omnigraph.yaml"
            raise ConfigError("no stored queries are named for this graph", hint=hint)
        return found

    def graph(
        self, *, writing: bool = False, keeps_topology: bool | None = None, stored: bool = False
    ) -> "Graph":
        """Open the graph, or connect to the server that has it."""
        if not self.address.is_remote:
            return self.open(writing=writing, keeps_topology=keeps_topology, stored=stored)
        if self.actor is not None:
            raise click.UsageError("--as does not work with a server; the token says who acts")
        from omnigraph.api.graph import connect

        return connect(self.address.uri, token=self.address.token)

    def work_options(self, how: Mapping[str, Any], progress: "Progress") -> dict[str, Any]:
        """Return the keywords that say who does large work; a server decides that itself."""
        if self.address.is_remote:
            if how["engine"] != "auto":
                raise InputError("--engine does not work through a server")
            return {}
        settings = spark_settings(self.config, how)
        return {"engine": how["engine"], "spark": settings, "progress": progress}

    def show(self, document: Document, *lines: str) -> None:
        """Print a document with `--json`, and lines for people otherwise."""
        show_either(document, lines, as_json=self.as_json)

    def show_fields(self, document: Document) -> None:
        """Print a document with `--json`, and its fields that are not null otherwise."""
        from omnigraph.versioning.commit import time_text

        fields = (
            f"{name}: {time_text(value) if name.endswith('_at') else value}"
            for name, value in document.items()
            if value is not None
        )
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
yes_option = click.option(
    "--yes", is_flag=True, help="Confirm; needed to remove something at the server of a profile."
)


def target_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say what a command reads; `Session.to_read` reads them."""
    for option in reversed(_TARGET):
        command = option(command)
    return command


def graph_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add all that names the graph of a command; it is called with a Session first."""
    word = click.argument(
        "word", required=False, metavar="[URI]", shell_complete=completing.folders
    )
    return word(session_options(command))


def session_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add what names the graph of a command, but for the argument; see `graph_options`."""

    @wraps(command)
    def with_session(
        uri: str | None,
        target: str | None,
        actor: str | None,
        as_json: bool,
        profile_name: str | None,
        word: str | None = None,
        **rest: object,
    ) -> None:
        session = Session(
            word=word,
            uri=uri,
            target=target,
            actor=actor,
            as_json=as_json,
            profile_name=profile_name,
            gives_way=_is_of_variable("profile_name"),
        )
        command(session, **rest)

    # `read --profile` is about what a query took.
    words = ("-P",) if command.__name__ == "read" else ("-P", "--profile")
    found: Callable[..., None] = click.option(
        *words,
        "profile_name",
        metavar="NAME",
        envvar="OMNIGRAPH_PROFILE",
        help="A profile of ~/.omnigraph/config.yaml.",
    )(with_session)
    for option in reversed(_NAMING):
        found = option(found)
    return found


def _is_of_variable(option: str) -> bool:
    """Return whether an option has its value from a variable of the environment."""
    source = click.get_current_context().get_parameter_source(option)
    return source is click.core.ParameterSource.ENVIRONMENT


def exit_code(error: OmniGraphError) -> int:
    """Return the exit code of an error."""
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 1)


def show_error(error: OmniGraphError, *, as_json: bool) -> None:
    """Show an error: as a JSON object on stdout, or as text on stderr."""
    if isinstance(error, DeniedError):
        error.hint = error.hint or _explained_by(error)
    if as_json:
        show_json(error.to_json())
    else:
        click.echo(coloured(error.render()), err=True)


def _explained_by(denied: DeniedError) -> str | None:
    """Return the command that says why a policy at hand denies something; None for a server's."""
    from omnigraph.policy.actions import Action

    has_policy = click.get_current_context().meta.get(_POLICY, False)
    if not has_policy or denied.actor is None or denied.action == Action.INVOKE_QUERY:
        return None
    words = [*config_words(), "--actor", denied.actor, "--action", denied.action]
    if denied.branch is not None:
        takes_target = Action(denied.action).takes_target
        words += ["--target-branch" if takes_target else "--branch", denied.branch]
    return f"`omnigraph policy explain {shlex.join(words)}` says why"


def show_usage(wrong: click.UsageError) -> None:
    """Show a wrong use of a command as a JSON object on stdout."""
    show_json({"error": wrong.format_message(), "code": "usage", "hint": None})


def read_schema(path: str) -> Source:
    """Return the text of a `.pg` file; `-` is standard input."""
    from omnigraph.syntax.source import decode

    return decode(path, _bytes(path), SchemaError, Code.SCHEMA_SYNTAX)


def read_queries(path: str) -> Source:
    """Return the text of a `.gq` file; `-` is standard input."""
    from omnigraph.syntax.source import decode

    found = find_queries(path)
    return decode(found, _bytes(found), QueryError, Code.QUERY_SYNTAX)


def find_queries(path: str) -> str:
    """Return the path of a `.gq` file, which may also lie below a query root of omnigraph.yaml."""
    from omnigraph.files.bytes import is_there

    if path == "-" or is_there(Path(path)):
        return path
    config = given_config()
    found = None if config is None else config.query_file(path)
    return path if found is None or not is_there(found) else str(found)


def read_text(path: str) -> str:
    """Return the text of a file; `-` is standard input."""
    try:
        return _bytes(path).decode()
    except UnicodeDecodeError:
        raise UnreadableError(f"cannot read '{path}': it is not UTF-8") from None


def _bytes(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    from omnigraph.files.bytes import file_bytes

    return file_bytes(path)
