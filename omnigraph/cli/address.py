"""Address: where the graph of a command is, as its options and the configuration say together."""

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from omnigraph.errors import ConfigError
from omnigraph.frozen import dataclass

if TYPE_CHECKING:
    from omnigraph.server.config import Config, GraphConfig

TOKEN_VARIABLE = "OMNIGRAPH_BEARER_TOKEN"  # noqa: S105 - the name of a variable
NO_CONFIG = "write an omnigraph.yaml here, or name one with --config"
_CONFIG = "omnigraph.server.config"
_FILE = "omnigraph.yaml"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a graph is: a folder, a bucket, or a server, with the token for it."""

    uri: str
    token: str | None = None

    @property
    def is_remote(self) -> bool:
        """Whether a server answers there."""
        return self.uri.startswith(("http://", "https://"))


@dataclass(frozen=True, kw_only=True)
class Naming:
    """All that can name the graph of a command; `usual` is the graph of an alias."""

    word: str | None = None
    uri: str | None = None
    target: str | None = None
    usual: str | None = None

    @cached_property
    def config(self) -> "Config | None":
        """The configuration of `--config` or of this folder, if there is one."""
        return given_config()

    def find_address(self) -> Address | None:
        """Return where the graph is, or None when none is named anywhere."""
        given = [each for each in (self.word, self.uri, self.target) if each is not None]
        if len(given) > 1:
            raise click.UsageError("the graph is named twice")
        if self.target is None and given:
            return self._at(given[0])
        config = self.config
        name = self.target or self.usual or (None if config is None else config.cli.graph)
        if name is None:
            return None
        if config is None:
            message = f"there is no omnigraph.yaml, and so no graph '{name}'"
            raise ConfigError(message, hint=NO_CONFIG)
        return _named(name, _graph_of(config, name))

    def _at(self, uri: str) -> Address:
        """Return an address by its URI; a server of the configuration gets its own token."""
        if not Address(uri).is_remote:
            return Address(uri)
        graphs = {} if self.config is None else self.config.graphs
        for name, graph in graphs.items():
            if graph.uri.rstrip("/") == uri.rstrip("/"):
                return _named(name, graph)
        return Address(uri, os.environ.get(TOKEN_VARIABLE) or None)


def remember_config(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Note what `--config` names, for `given_config`."""
    context.meta[_CONFIG] = path


def config_words() -> list[str]:
    """Return the option that names the same configuration to another command; none by default."""
    named = click.get_current_context().meta.get(_CONFIG)
    return [] if named is None else ["--config", named]


def given_config() -> "Config | None":
    """Return what `--config` names, or else the omnigraph.yaml of this folder if there is one.

    The variables of its env file are then in the environment.
    """
    named, folder = click.get_current_context().meta.get(_CONFIG), Path.cwd()
    if named is None and not (folder / _FILE).exists():
        return None  # and what would read it is not imported
    from omnigraph.server.config import find_config

    config = find_config(named, folder)
    if config is not None:
        config.load_env(os.environ)
    return config


def _graph_of(config: "Config", name: str) -> "GraphConfig":
    """Return a graph by its name; an error names those that there are."""
    try:
        return config.graph(name)
    except ConfigError as unknown:
        from omnigraph.syntax.problems import list_names

        names = list_names(list(config.graphs))
        known = f"the graphs are: {names}" if names else "write it there, below `graphs:`"
        unknown.hint = unknown.hint or known
        raise


def _named(name: str, graph: "GraphConfig") -> Address:
    variable = graph.bearer_token_env
    own = None if variable is None else os.environ.get(variable)
    address = Address(graph.uri, own or os.environ.get(TOKEN_VARIABLE) or None)
    if not address.is_remote:
        return Address(graph.uri)
    if variable is not None and address.token is None:
        message = f"the variable {variable}, which holds the token of '{name}', is not set"
        others = "" if variable == TOKEN_VARIABLE else f", or {TOKEN_VARIABLE}"
        raise ConfigError(message, hint=f"set it{others}")
    return address
