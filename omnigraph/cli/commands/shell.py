"""The command `shell`: queries and changes of one graph, typed one after the other."""

import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from functools import partial
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

import click

from omnigraph.cli import formats
from omnigraph.cli.address import Address
from omnigraph.cli.commands.read import QueryCall, served_document, show, show_plan
from omnigraph.cli.commands.rows.change import receipt_line
from omnigraph.cli.output import counted
from omnigraph.cli.session import (
    ReadTarget,
    Session,
    graph_options,
    read_queries,
    show_error,
    target_options,
)
from omnigraph.errors import CancelledError, InputError, OmniGraphError, OutcomeUnknownError
from omnigraph.frozen import dataclass
from omnigraph.span import Source

if TYPE_CHECKING:
    from omnigraph.api.graph import Graph
    from omnigraph.cli.statements import ShellVocabulary
    from omnigraph.query.plan import Plan
    from omnigraph.schema.catalog import Catalog
    from omnigraph.write.receipt import Receipt

_Found = TypeVar("_Found")
_MODES = tuple(each for each in formats.FORMATS if each != "arrow")
_SWITCH = {"on": True, "off": False}
_HELP = """\
A query ends with its last brace. The body of one ends with a semicolon:
  match { $p: Person } return { $p.name } limit 3;
An insert, update or delete changes the branch, as one commit.

.branch [NAME]        show the branches, or work on another one
.snapshot COMMIT      read a commit or a tag
.schema [TYPE]        show the schema, or what it says of a type
.set NAME VALUE       give a parameter a value; without both, show all
.unset NAME           forget the value of a parameter
.run FILE [QUERY]     run a query of a file
.explain [QUERY]      show how a query would be run, or the last one
.profile [QUERY]      show what a query takes, or the last one
.mode [FORMAT]        show rows as table, kv, csv, jsonl or json
.timing on|off        show how long each query takes
.help                 show this
.quit                 leave, as Ctrl-D does\
"""


@click.command()
@target_options
@click.option(
    "--format",
    "shown_as",
    type=click.Choice(_MODES),
    help="How rows are shown.",
)
@graph_options
def shell(session: Session, branch: str | None, snapshot: str | None, shown_as: str | None) -> None:
    """Ask and change a graph, one statement after the other.

    Statements can also come through a pipe; the first one that fails then ends it. Ctrl-C cancels
    what runs, and Ctrl-D leaves. Type .help for all commands.
    """
    if session.as_json:
        raise click.UsageError("a shell gives no JSON document; say --format json for its rows")
    target = session.to_read(branch, snapshot)
    usual = None if session.config is None else session.config.cli.output_format
    is_typed = sys.stdin.isatty()
    mode = shown_as or usual or ("table" if sys.stdout.isatty() else "jsonl")
    state = _Shell(session, session.graph(writing=True), target, mode)
    if is_typed:
        state.converse()
    else:
        state.follow()


@dataclass(slots=True)
class _Shell:
    """Where a shell is, and what was set in it."""

    session: Session
    graph: "Graph"
    target: ReadTarget
    mode: str
    values: dict[str, str] = field(default_factory=dict)
    last: tuple[Source, str | None] | None = None
    is_timing: bool = False
    is_over: bool = False

    def converse(self) -> None:
        """Do what a person types; an error is told, and then the next statement is read."""
        from omnigraph.cli.terminal import typed_statements

        self._catalog()  # what cannot be opened is told before the first prompt
        click.echo("Type .help for help, and .quit or Ctrl-D to leave.")
        for text in typed_statements(self._prompt, self._vocabulary()):
            try:
                self.do(text)
            except CancelledError:
                click.echo("cancelled", err=True)
            except OmniGraphError as error:
                show_error(error, as_json=False)
            if self.is_over:
                return

    def follow(self) -> None:
        """Do what comes through a pipe, up to the first error."""
        from omnigraph.cli.terminal import piped_statements

        for text in piped_statements():
            self.do(text)
            if self.is_over:
                return

    def do(self, text: str) -> None:
        """Do one statement."""
        from omnigraph.cli.statements import PLAIN_COMMANDS, query_text

        stripped = text.strip()
        if stripped in PLAIN_COMMANDS:
            stripped = ".quit" if stripped == "exit" else f".{stripped}"
        if stripped.startswith("."):
            name, _, rest = stripped[1:].partition(" ")
            self._command(name)(self, rest.strip())
        elif stripped and stripped != ";":
            self._run(Source("<shell>", query_text(text.rstrip())), None)

    def _prompt(self) -> str:
        name = self.session.address.uri.rstrip("/").rpartition("/")[2]
        return f"{name.removesuffix('.omni')} {self.target.name}> "

    def _vocabulary(self) -> "ShellVocabulary":
        from omnigraph.cli.statements import ShellVocabulary
        from omnigraph.schema.printer import declarations

        return ShellVocabulary(
            catalog=self._catalog,
            commands=_COMMANDS,
            arguments={
                "branch": self.graph.branches,
                "snapshot": self.graph.tags,
                "mode": lambda: _MODES,
                "schema": lambda: declarations(self._catalog()),
                "timing": lambda: _SWITCH,
            },
        )

    def _catalog(self) -> "Catalog":
        return self.target.view(self.graph).catalog

    @staticmethod
    def _command(name: str) -> "Callable[[_Shell, str], None]":
        if name not in _COMMANDS:
            from omnigraph.syntax.problems import nearest_name

            near = nearest_name(name, _COMMANDS)
            hint = "type .help for all of them" if near is None else f"did you mean '.{near}'?"
            raise InputError(f"unknown command '.{name}'", hint=hint)
        return _COMMANDS[name]

    def _plan(self, source: Source, name: str | None) -> "Plan":
        from omnigraph.query.compile import compile_query

        return compile_query(source, self._catalog(), name)

    def _query(self, source: Source, name: str | None) -> tuple["Plan", QueryCall]:
        """Return a query with those of the values that were set that it declares."""
        from omnigraph.query.params import params_of_texts

        plan = self._plan(source, name)
        declared = {param.name for param in plan.params}
        texts = {name: text for name, text in self.values.items() if name in declared}
        return plan, QueryCall(source, name, params_of_texts(plan, texts))

    def _run(self, source: Source, name: str | None) -> None:
        from omnigraph.query.plan import ReadPlan

        begun = perf_counter()
        self.last = source, name
        plan, query = self._query(source, name)
        if isinstance(plan, ReadPlan):
            self._show(read_until_interrupted(self.graph, query, self.target))
        elif self.target.branch is None:
            raise InputError("a snapshot never changes", hint="go to a branch with .branch NAME")
        else:
            receipt = mutate_until_interrupted(self.graph, query, self.target.branch)
            click.echo(receipt_line(receipt))
        if self.is_timing:
            click.echo(f"{(perf_counter() - begun) * 1000:.1f} ms", err=True)

    def _show(self, rows: formats.ShownRows) -> None:
        config = self.session.config
        show(rows, self.mode, None if config is None else config.cli)
        if self.mode in ("table", "kv") and sys.stdout.isatty():
            click.echo(f"({counted(rows.count, 'row')})")

    def _go(self, target: ReadTarget) -> None:
        self.graph.at(target.name)
        self.target = target

    def _branch(self, rest: str) -> None:
        if rest:
            self._go(ReadTarget(rest))
            return
        for name in self.graph.branches():
            click.echo(f"{'*' if name == self.target.branch else ' '} {name}")

    def _snapshot(self, rest: str) -> None:
        self._go(ReadTarget(None, _needed(rest, ".snapshot COMMIT")))

    def _schema(self, rest: str) -> None:
        from omnigraph.errors import TableNotFoundError
        from omnigraph.schema.printer import declarations
        from omnigraph.syntax.problems import suggest

        known = declarations(self._catalog())
        if rest and rest not in known:
            raise TableNotFoundError(f"no type '{rest}'", hint=suggest(rest, known))
        click.echo(known[rest] if rest else "\n".join(known.values()), nl=False)

    def _set(self, rest: str) -> None:
        name, _, value = rest.partition(" ")
        if name and value.strip():
            self.values[name.removeprefix("$")] = value.strip()
        elif name:
            raise InputError("a parameter needs a value", hint="write .set NAME VALUE")
        else:
            for name, value in self.values.items():
                click.echo(f"{name} {value}")

    def _unset(self, rest: str) -> None:
        with suppress(KeyError):
            del self.values[_needed(rest, ".unset NAME").removeprefix("$")]

    def _run_file(self, rest: str) -> None:
        path, name = _file_and_query(_needed(rest, ".run FILE [QUERY]"))
        self._run(read_queries(path), name)

    def _explain(self, rest: str) -> None:
        self._show_plan("explain", rest)

    def _profile(self, rest: str) -> None:
        self._show_plan("profile", rest)

    def _show_plan(self, mode: str, text: str) -> None:
        """Show how a query is run, of what is written or else of the last one."""
        from omnigraph.cli.statements import query_text

        if text:
            self.last = Source("<shell>", query_text(text)), None
        if self.last is None:
            raise InputError("there is no query yet", hint="write it behind the command")
        query = self._query(*self.last)[1]
        show_plan(self.graph, query, self.target, mode, as_json=False)

    def _mode(self, rest: str) -> None:
        if not rest:
            click.echo(self.mode)
        elif rest in _MODES:
            self.mode = rest
        else:
            hint = f"it is one of: {', '.join(_MODES)}"
            raise InputError(f"unknown mode '{rest}'", hint=hint)

    def _timing(self, rest: str) -> None:
        if rest not in _SWITCH:
            raise InputError("timing is on or off", hint="write .timing on")
        self.is_timing = _SWITCH[rest]

    def _help(self, _: str) -> None:
        click.echo(_HELP)

    def _quit(self, _: str) -> None:
        self.is_over = True


_COMMANDS: Mapping[str, Callable[[_Shell, str], None]] = {
    "branch": _Shell._branch,
    "snapshot": _Shell._snapshot,
    "schema": _Shell._schema,
    "set": _Shell._set,
    "unset": _Shell._unset,
    "run": _Shell._run_file,
    "explain": _Shell._explain,
    "profile": _Shell._profile,
    "mode": _Shell._mode,
    "timing": _Shell._timing,
    "help": _Shell._help,
    "quit": _Shell._quit,
    "exit": _Shell._quit,
}


def _needed(text: str, usage: str) -> str:
    if not text:
        raise InputError("something is missing behind the command", hint=f"write {usage}")
    return text


def _file_and_query(text: str) -> tuple[str, str | None]:
    """Return the words of `.run`: a file, whose name may have spaces, and the name of a query."""
    if Path(text).is_file():
        return text, None
    hint = 'quote a name with spaces: .run "FILE" [QUERY]'
    try:
        path, *names = shlex.split(text)
    except ValueError as wrong:
        raise InputError(f"cannot read what is behind the command: {wrong}", hint=hint) from None
    if len(names) > 1:
        raise InputError(f"unexpected '{names[1]}' behind the command", hint=hint)
    return path, names[0] if names else None


def read_until_interrupted(
    graph: "Graph", query: QueryCall, target: ReadTarget
) -> formats.ShownRows:
    """Return the rows of a query; Ctrl-C cancels it, and it raises CancelledError."""
    if Address(graph.uri).is_remote:
        try:
            return formats.ShownRows.of_document(served_document(graph, query, target))
        except KeyboardInterrupt:  # the connection is closed, and so the server gives it up
            raise CancelledError("the query was cancelled") from None
    cancelled = Event()
    view = graph.at(target.name, cancelled=cancelled)
    run = partial(view.query, query.source, query.name, **query.params)
    found = _interruptible(run, cancelled)
    return formats.ShownRows.of_result(found, target.branch, target.snapshot)


def mutate_until_interrupted(graph: "Graph", query: QueryCall, branch: str) -> "Receipt":
    """Run a mutation; Ctrl-C cancels it before its commit, and it raises CancelledError.

    Through a server nobody here knows then whether it was done: OutcomeUnknownError.
    """
    if Address(graph.uri).is_remote:
        try:
            return graph.branch(branch).mutate(query.source, query.name, **query.params)
        except KeyboardInterrupt:  # the server gives it up, unless it is being committed
            hint = "look at the branch"
            message = "the change was given up, and it may have been done"
            raise OutcomeUnknownError(message, hint=hint) from None
    cancelled = Event()
    target = graph.branch(branch, cancelled=cancelled)
    return _interruptible(
        partial(target.mutate, query.source, query.name, **query.params), cancelled
    )


def _interruptible(work: Callable[[], _Found], cancelled: Event) -> _Found:
    """Do work on a thread and wait for it; Ctrl-C tells it to stop."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as workers:
        done = workers.submit(work)
        while True:
            try:
                return done.result()
            except KeyboardInterrupt:
                cancelled.set()
