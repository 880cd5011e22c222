"""Queries: the options with which a command says what to run, on which graph, and with what."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from omnigraph.cli.session import config_option, given_config, read_queries, read_text
from omnigraph.errors import Code, ConfigError, InputError, ParamsError, Problem
from omnigraph.span import Source

if TYPE_CHECKING:
    from omnigraph.config import AliasConfig, Config
    from omnigraph.versioning.snapshot import Snapshot

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.argument("words", nargs=-1, metavar="[URI] [ARGS]..."),
    click.option("--query", "query_path", metavar="FILE", help="The .gq file; - for stdin."),
    click.option("-e", "--execute", "text", metavar="TEXT", help="The text of a query itself."),
    click.option("--name", help="The query to run; needed when there are several."),
    click.option("--params", metavar="JSON", help="The parameters, as a JSON object."),
    click.option("--params-file", metavar="FILE", help="A file that holds them."),
    click.option("--alias", metavar="NAME", help="A query of omnigraph.yaml; takes ARGS."),
    click.option("--uri", metavar="URI", help="The graph, where ARGS are given."),
    click.option("--target", metavar="NAME", help="A graph of omnigraph.yaml, by its name."),
    config_option,
)


def query_options(command: _Command) -> _Command:
    """Give a command the options that say what to run; `asked` reads them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A query to run, on which graph, and what it is given.

    The branch and the format are for when no option says otherwise.
    """

    uri: str
    source: Source
    name: str | None
    branch: str
    format: str | None
    given: Mapping[str, object]
    arguments: Mapping[str, str]

    def params(self, snapshot: "Snapshot") -> dict[str, object]:
        """Give the parameters; what was given by name comes before what was given by position."""
        if not self.arguments:
            return dict(self.given)
        from omnigraph.query.compile import Schema, compiled
        from omnigraph.query.params import params_of_texts

        schema = Schema(snapshot.commit.schema, snapshot.catalog)
        plan = compiled(self.source, schema, self.name)
        return {**params_of_texts(plan, self.arguments), **self.given}


def asked(command: str, how: Mapping[str, Any]) -> Asked:
    """Give what the options, the alias and omnigraph.yaml mean together."""
    _check(how)
    config = given_config()
    alias = None if how["alias"] is None else _alias(command, how["alias"], config)
    uri, words = _graph(how, config, alias)
    source, name = _query(how, config, alias)
    usual = None if config is None else config.cli
    return Asked(
        uri=uri,
        source=source,
        name=name,
        branch=_first(alias and alias.branch, usual and usual.branch) or "main",
        format=_first(alias and alias.format, usual and usual.output_format),
        given=_params(how["params"], how["params_file"]),
        arguments=_arguments(how["alias"], alias, words),
    )


def _first(*values: object) -> str | None:
    """Give the first text of those that may be there."""
    return next((value for value in values if isinstance(value, str)), None)


def _check(how: Mapping[str, Any]) -> None:
    """Refuse options that do not go together."""
    ways = [how["query_path"], how["text"], how["alias"]]
    if sum(way is not None for way in ways) != 1:
        raise click.UsageError("give one of --query, -e and --alias")
    for one, other in (("alias", "name"), ("params", "params_file"), ("uri", "target")):
        if how[one] is not None and how[other] is not None:
            options = f"--{one} and --{other}".replace("_", "-")
            raise click.UsageError(f"{options} exclude each other")
    if how["query_path"] == how["params_file"] == "-":
        raise click.UsageError("only one of --query and --params-file can be read from stdin")


def _alias(command: str, name: str, config: "Config | None") -> "AliasConfig":
    if config is None:
        hint = "write an omnigraph.yaml here, or name one with --config"
        raise ConfigError(f"there is no omnigraph.yaml, and so no alias '{name}'", hint=hint)
    found = config.alias(name)
    if found.command != command:
        hint = f"run it with omnigraph {found.command} --alias {name}"
        raise InputError(f"the alias '{name}' is for {found.command}", hint=hint)
    return found


def _graph(
    how: Mapping[str, Any], config: "Config | None", alias: "AliasConfig | None"
) -> tuple[str, tuple[str, ...]]:
    """Give the graph, and the words that are left.

    The first word is the graph, unless an alias takes words and the graph is known without them.
    """
    words: tuple[str, ...] = how["words"]
    named = _named_graph(how, config)
    if alias is None and words:
        if named is not None:
            raise click.UsageError("the graph is named twice")
        if len(words) > 1:
            raise click.UsageError(f"unexpected argument '{words[1]}'; only --alias takes any")
        return words[0], ()
    if named is None and config is not None:
        usual = _first(alias and alias.graph, config.cli.graph)
        named = None if usual is None else config.graph(usual).uri
    if named is not None:
        return named, words
    if not words:
        raise click.UsageError("name a graph, by its URI or with --target")
    return words[0], words[1:]


def _named_graph(how: Mapping[str, Any], config: "Config | None") -> str | None:
    """Give the graph that an option names."""
    target: str | None = how["target"]
    uri: str | None = how["uri"]
    if target is None:
        return uri
    if config is None:
        hint = "write an omnigraph.yaml here, or name one with --config"
        raise ConfigError(f"there is no omnigraph.yaml, and so no graph '{target}'", hint=hint)
    return config.graph(target).uri


def _query(
    how: Mapping[str, Any], config: "Config | None", alias: "AliasConfig | None"
) -> tuple[Source, str | None]:
    """Give the text of the queries, and the name of the one to run."""
    if alias is not None and config is not None:
        return read_queries(str(config.query_file(alias.query))), alias.name
    if how["query_path"] is not None:
        return read_queries(how["query_path"]), how["name"]
    return Source("<text>", how["text"]), how["name"]


def _arguments(
    name: str | None, alias: "AliasConfig | None", words: tuple[str, ...]
) -> dict[str, str]:
    """Give the words by the names of the parameters that they stand for."""
    if alias is None:
        return {}
    if len(words) > len(alias.args):
        taken = " ".join(alias.args) or "none"
        raise click.UsageError(f"unexpected argument '{words[-1]}'; '{name}' takes: {taken}")
    return dict(zip(alias.args, words, strict=False))


def _params(text: str | None, path: str | None) -> dict[str, object]:
    text = text if path is None else read_text(path)
    if text is None:
        return {}
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as bad:
        raise _not_params(f"the parameters are not JSON: {bad}") from None
    if not isinstance(given, dict):
        raise _not_params("the parameters are no JSON object")
    return given


def _not_params(message: str) -> ParamsError:
    return ParamsError([Problem(Code.PARAM_TYPE, message, hint='write {"name": value}')])
