"""Queries: the options with which a command says what to run, on which graph, and with what."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli import completing
from omnigraph.cli.address import NO_CONFIG
from omnigraph.cli.session import ReadTarget, Session, read_queries, read_text, session_options
from omnigraph.errors import Code, ConfigError, InputError, ParamsError, Problem
from omnigraph.frozen import dataclass
from omnigraph.span import Source

if TYPE_CHECKING:
    from omnigraph.api.graph import Graph
    from omnigraph.server.config import AliasConfig, Config

_OPTIONS = (
    click.argument("words", nargs=-1, metavar="[URI] [ARGS]...", shell_complete=completing.folders),
    click.option(
        "--query",
        "query_path",
        metavar="FILE",
        shell_complete=completing.files,
        help="The .gq file; - for stdin.",
    ),
    click.option("-e", "--execute", "text", metavar="TEXT", help="The text of a query itself."),
    click.option(
        "--name",
        metavar="QUERY",
        shell_complete=completing.queries,
        help="The query to run; needed when there are several.",
    ),
    click.option(
        "--param",
        "single",
        multiple=True,
        metavar="NAME=VALUE",
        help="One parameter, read as its declared type; repeatable.",
    ),
    click.option("--params", metavar="JSON", help="The parameters, as a JSON object."),
    click.option(
        "--params-file",
        metavar="FILE",
        shell_complete=completing.files,
        help="A file that holds them.",
    ),
    click.option(
        "--alias",
        metavar="NAME",
        shell_complete=completing.aliases,
        help="A query of omnigraph.yaml; takes ARGS.",
    ),
)


def query_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say what to run, and on which graph; `query_request` reads them."""
    command = session_options(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRequest:
    """A query to run, in the session of its graph, with its parameters by name and by position.

    The branch and the format are for when no option says otherwise.
    """

    session: Session
    source: Source
    name: str | None
    branch: str | None
    format: str | None
    named: Mapping[str, object]
    arguments: Mapping[str, str]

    def params(self, graph: "Graph", target: ReadTarget) -> dict[str, object]:
        """Return the parameters, those by name before those by position."""
        if not self.arguments:
            return {**self.named}
        from omnigraph.query.compile import compile_query
        from omnigraph.query.params import params_of_texts

        plan = compile_query(self.source, target.view(graph).catalog, self.name)
        return {**params_of_texts(plan, self.arguments), **self.named}


def query_request(command: str, session: Session, how: Mapping[str, Any]) -> QueryRequest:
    """Return what the options, the alias and omnigraph.yaml mean together."""
    _check(how)
    alias = None if how["alias"] is None else _alias(command, how["alias"], session.config)
    session, words = _with_graph(session, how["words"], alias)
    source, name = _query(how, session.config, alias)
    usual = None if session.config is None else session.config.cli.output_format
    named = read_params(how["params"], how["params_file"])
    single = single_params(how["single"], named)
    return QueryRequest(
        session=session,
        source=source,
        name=name,
        branch=None if alias is None else alias.branch,
        format=usual if alias is None else alias.format or usual,
        named=named,
        arguments={**_arguments(how["alias"], alias, words), **single},
    )


def single_params(given: tuple[str, ...], named: Mapping[str, object]) -> dict[str, str]:
    """Return the parameters of `--param`, by name, as texts."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        name = name.removeprefix("$")
        if not (equals and name):
            raise click.UsageError(f"expected --param NAME=VALUE, found '{each}'")
        if name in found or name in named:
            raise click.UsageError(f"the parameter '{name}' is given twice")
        found[name] = value
    return found


def _check(how: Mapping[str, Any]) -> None:
    """Refuse options that do not go together."""
    ways = [how["query_path"], how["text"], how["alias"]]
    if sum(way is not None for way in ways) != 1:
        raise click.UsageError("give one of --query, -e and --alias")
    for one, other in (("alias", "name"), ("params", "params_file")):
        if how[one] is not None and how[other] is not None:
            options = f"--{one} and --{other}".replace("_", "-")
            raise click.UsageError(f"{options} exclude each other")
    if how["query_path"] == how["params_file"] == "-":
        raise click.UsageError("only one of --query and --params-file can be read from stdin")


def _alias(command: str, name: str, config: "Config | None") -> "AliasConfig":
    if config is None:
        message = f"there is no omnigraph.yaml, and so no alias '{name}'"
        raise ConfigError(message, hint=NO_CONFIG)
    found = config.alias(name)
    if found.command != command:
        hint = f"run it with omnigraph {found.command} --alias {shlex.quote(name)}"
        raise InputError(f"the alias '{name}' is for {found.command}", hint=hint)
    return found


def _with_graph(
    session: Session, words: tuple[str, ...], alias: "AliasConfig | None"
) -> tuple[Session, tuple[str, ...]]:
    """Return the session with its graph, and the words that are left.

    The first word is the graph, unless an alias takes words and the graph is known without them.
    """
    if alias is None and len(words) > 1:
        raise click.UsageError(f"unexpected argument '{words[1]}'; only --alias takes any")
    if alias is not None:
        session = replace(session, usual=alias.graph)
        if session.has_graph:
            return session, words
    return (replace(session, word=words[0]), words[1:]) if words else (session, ())


def _query(
    how: Mapping[str, Any], config: "Config | None", alias: "AliasConfig | None"
) -> tuple[Source, str | None]:
    """Return the text of the queries, and the name of the one to run."""
    if alias is not None and config is not None:
        return read_queries(str(config.query_file(alias.query))), alias.name
    if how["query_path"] is not None:
        return read_queries(how["query_path"]), how["name"]
    return Source("<text>", how["text"]), how["name"]


def _arguments(
    name: str | None, alias: "AliasConfig | None", words: tuple[str, ...]
) -> dict[str, str]:
    """Return the words by the names of the parameters that they stand for."""
    if alias is None:
        return {}
    if len(words) > len(alias.args):
        taken = " ".join(alias.args) or "none"
        raise click.UsageError(f"unexpected argument '{words[-1]}'; '{name}' takes: {taken}")
    return dict(zip(alias.args, words, strict=False))


def read_params(text: str | None, path: str | None = None) -> dict[str, object]:
    """Return the parameters of a text or else of a file, which hold a JSON object."""
    text = text if path is None else read_text(path).removeprefix("\ufeff")
    if text is None:
        return {}
    from omnigraph.query.params import parse_json

    try:
        found = parse_json(text)
    except (ValueError, RecursionError) as bad:
        raise _not_params(f"the parameters are not JSON: {bad}") from None
    if not isinstance(found, dict):
        raise _not_params("the parameters are not a JSON object")
    return found


def _not_params(message: str) -> ParamsError:
    return ParamsError([Problem(Code.PARAM_TYPE, message, hint='write {"name": value}')])
