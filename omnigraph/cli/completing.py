"""Completing: what a shell offers for the next word of a command: names, and kinds of files."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from omnigraph.cli.address import Address
    from omnigraph.cli.names import GraphNames
    from omnigraph.server.config import Config

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def files(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer files."""
    return [CompletionItem(begun, type="file")]


def folders(_: click.Context, __: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer folders."""
    return [CompletionItem(begun, type="dir")]


def _named(names: "Callable[[GraphNames], Iterable[str]]") -> Completer:
    """Offer names of the graph that a command is about."""

    def offered(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
        from omnigraph.cli.names import names_at

        # Nobody who presses TAB wants to read why there is nothing to offer.
        with suppress(Exception), context.scope(cleanup=False):
            address = _address(context)
            return [] if address is None else _items(names(names_at(address)), begun)
        return []

    return offered


def _address(context: click.Context) -> "Address | None":
    """Return where the graph is that a command is about, as far as it is typed."""
    from omnigraph.cli.address import Naming
    from omnigraph.cli.profiles import read_profiles

    given = {name: context.params.get(name) for name in ("uri", "target")}
    given["word"], profile = _word(context), context.params.get("profile_name")
    if profile is None or any(given.values()):
        found = Naming(**given).find_address()
        if found is not None:
            return found
    profiles = read_profiles()
    profile = profile or profiles.default
    return None if profile is None else profiles.address(profiles.find(profile))


def _word(context: click.Context) -> str | None:
    """Return the argument that is the graph.

    click leaves all arguments as they are while the last option has no value yet.
    """
    found, left = dict(context.params), list(context.args)
    for each in context.command.params:
        if left and isinstance(each, click.Argument):
            taken = len(left) if each.nargs < 0 else each.nargs
            found[each.name or ""] = left[0] if each.nargs == 1 else left
            left = left[taken:]
    words = found.get("words")
    if words and found.get("alias") is None:
        return str(words[0])
    return found.get("word")


def _configured(names: "Callable[[Config], Iterable[str]]") -> Completer:
    """Offer names of omnigraph.yaml."""

    def offered(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
        from omnigraph.cli.address import given_config

        with suppress(Exception), context.scope(cleanup=False):
            config = given_config()
            return [] if config is None else _items(names(config), begun)
        return []

    return offered


def _items(names: Iterable[str], begun: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(begun)]


branches = _named(lambda names: names.branches)
tags = _named(lambda names: names.tags)
places = _named(lambda names: [*names.branches, *names.tags])
types = _named(lambda names: names.types)
graphs = _configured(lambda config: config.graphs)
aliases = _configured(lambda config: config.aliases)


def queries(context: click.Context, _: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the queries of the file that `--query` names."""
    from omnigraph.query.compile import read_queries
    from omnigraph.span import Source
    from omnigraph.syntax.problems import Problems

    with suppress(Exception):
        text = Path(context.params["query_path"]).read_text(encoding="utf-8")
        found = read_queries(Source("", text), Problems())
        return _items((query.name.text for query in found.queries), begun)
    return []
