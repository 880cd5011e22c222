"""Config: the file `omnigraph.yaml`, read strictly into frozen values."""

import json
import re
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.api.budgets import NO_BUDGETS, Budgets, parse_budgets
from omnigraph.errors import ConfigError, UnreadableError
from omnigraph.files.bytes import file_bytes, is_there
from omnigraph.files.dotenv import parse_dotenv
from omnigraph.files.yaml import Section, parse_yaml
from omnigraph.frozen import dataclass
from omnigraph.spark.settings import SparkSettings
from omnigraph.syntax.problems import list_names, suggest

if TYPE_CHECKING:
    from omnigraph.api.registry import QueryFiles

FILE_NAME = "omnigraph.yaml"
OUTPUT_FORMATS = ("table", "kv", "csv", "jsonl", "json", "arrow")

_TOP = (
    "project",
    "graphs",
    "server",
    "cli",
    "query",
    "queries",
    "auth",
    "aliases",
    "policy",
    "spark",
)
_GRAPH = ("uri", "bearer_token_env")
_CLI = ("graph", "branch", "output_format", "table_max_column_width", "table_cell_layout")
_ALIAS = ("command", "query", "name", "args", "graph", "branch", "format")
_BIND = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})")
# What YAML takes for itself is no name without quotes.
_PLAIN = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)$)[a-z][\w./-]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GraphConfig:
    """Where a graph is, and the variable that holds the token for its server."""

    uri: str
    bearer_token_env: str | None = None


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Which graph the server serves, at which address, and what work on it may take."""

    graph: str | None = None
    bind: str | None = None
    budgets: Budgets = NO_BUDGETS


@dataclass(frozen=True, slots=True)
class CliConfig:
    """What the command line takes where no option says otherwise."""

    graph: str | None = None
    branch: str | None = None
    output_format: str | None = None
    table_max_column_width: int = 80
    table_cell_layout: str = "truncate"


@dataclass(frozen=True, slots=True)
class AliasConfig:
    """A query under a short name; `args` names the parameters given by position."""

    command: str
    query: str
    name: str | None = None
    args: tuple[str, ...] = ()
    graph: str | None = None
    branch: str | None = None
    format: str | None = None


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """The file of the policy, and that of its tests."""

    file: Path | None = None
    tests: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All that `omnigraph.yaml` says; paths are absolute."""

    path: Path
    project: str | None = None
    graphs: Mapping[str, GraphConfig] = field(default_factory=dict)
    server: ServerConfig = ServerConfig()
    cli: CliConfig = CliConfig()
    query_roots: tuple[Path, ...] = ()
    queries: "QueryFiles | None" = None
    env_file: Path | None = None
    aliases: Mapping[str, AliasConfig] = field(default_factory=dict)
    policy: PolicyConfig = PolicyConfig()
    spark: SparkSettings = field(default_factory=SparkSettings)

    def graph(self, name: str) -> GraphConfig:
        """Return a graph by its name."""
        if name not in self.graphs:
            hint = suggest(name, self.graphs)
            raise ConfigError(f"{self.path} has no graph '{name}'", hint=hint)
        return self.graphs[name]

    def alias(self, name: str) -> AliasConfig:
        """Return an alias by its name."""
        if name not in self.aliases:
            known = "the file has none; write it below `aliases:`"
            if self.aliases:
                known = f"the aliases are: {list_names(list(self.aliases))}"
            hint = suggest(name, self.aliases) or known
            raise ConfigError(f"{self.path} has no alias '{name}'", hint=hint)
        return self.aliases[name]

    def query_file(self, path: str) -> Path:
        """Return the `.gq` file of a path: beside the configuration, or below a query root."""
        places = [folder / path for folder in (self.path.parent, *self.query_roots)]
        return next((place for place in places if is_there(place)), places[0])

    def load_env(self, environment: MutableMapping[str, str]) -> None:
        """Put the variables of the env file into an environment; what it has stays as it is.

        A file that is not there gives none: it is usually kept out of version control.
        """
        if self.env_file is not None and is_there(self.env_file):
            found = parse_dotenv(str(self.env_file), file_bytes(self.env_file))
            environment.update({k: v for k, v in found.items() if k not in environment})


def find_config(explicit: str | None, folder: Path) -> Config | None:
    """Return the configuration of a path, or else the `omnigraph.yaml` of a folder, if any."""
    if explicit is not None:
        return load_config(folder / explicit)
    path = folder / FILE_NAME
    return load_config(path) if path.exists() else None


def load_config(path: Path) -> Config:
    """Read a configuration; raises ConfigError with everything that is wrong in it."""
    top = parse_yaml(str(path), file_bytes(path), _TOP)
    config = _config(path.absolute(), top)
    top.check()
    return config


def scaffold(uri: str) -> str:
    """Return the text of a new `omnigraph.yaml` for one graph."""
    last = uri.rstrip("/").rpartition("/")[2].partition(".")[0]
    name = _quoted(re.sub(r"[^\w-]+", "-", last).strip("-") or "graph")
    return f"""\
# What omnigraph takes where no option says otherwise.
project:
  name: {name}
graphs:
  {name}:
    uri: {_quoted(uri)}
    # bearer_token_env: TOKEN      # of a server: the variable that holds the token
cli:
  graph: {name}
  # branch: main
  # output_format: table           # {", ".join(OUTPUT_FORMATS)}
  # table_max_column_width: 80
  # table_cell_layout: truncate    # or wrap
# server:
#   graph: {name}
#   bind: 127.0.0.1:8080
#   limits: {{query_seconds: 30, load_seconds: 300, actors: {{guest: {{query_seconds: 5}}}}}}
# query:
#   roots: [queries]               # folders with .gq files
# queries:
#   friends_of: {{file: people.gq}}  # stored queries; or their folder, or a list of files
# auth:
#   env_file: .env.omni            # variables that the environment lacks
# aliases:
#   friends:                       # omnigraph read --alias friends Ana
#     command: read
#     query: people.gq
#     name: friends_of
#     args: [name]
# policy:
#   file: policy.yaml
#   tests: policy.tests.yaml
# spark:
#   master: local[4]               # or remote: sc://host
#   conf: {{spark.driver.memory: 2g}}
"""


def write_scaffold(folder: Path, uri: str) -> bool:
    """Write a first `omnigraph.yaml` for a new graph; False where there is one already."""
    try:
        with (folder / FILE_NAME).open("x", encoding="utf-8") as file:
            file.write(scaffold(uri))
    except FileExistsError:
        return False
    except OSError as failed:
        reason = failed.strerror or type(failed).__name__
        raise UnreadableError(
            f"the graph was made, but {FILE_NAME} cannot be written: {reason}"
        ) from None
    return True


def _config(path: Path, top: Section) -> Config:
    folder = path.parent
    graphs = {name: _graph(each, folder) for name, each in top.sections("graphs", _GRAPH).items()}
    aliases = top.sections("aliases", _ALIAS)
    return Config(
        path=path,
        project=top.section("project", ("name",)).text("name"),
        graphs=graphs,
        server=_server(top.section("server", ("graph", "bind", "limits")), graphs),
        cli=_cli(top.section("cli", _CLI), graphs),
        query_roots=tuple(
            _resolved(root, folder) for root in top.section("query", ("roots",)).texts("roots")
        ),
        queries=_queries(top, folder),
        env_file=_file(top.section("auth", ("env_file",)), "env_file", folder),
        aliases={name: _alias(each, graphs) for name, each in aliases.items()},
        policy=_policy(top.section("policy", ("file", "tests")), folder),
        spark=_spark(top.section("spark", ("master", "remote", "conf"))),
    )


def _graph(section: Section, folder: Path) -> GraphConfig:
    uri = section.required("uri")
    if "://" not in uri:
        uri = str(_resolved(uri, folder))
    return GraphConfig(uri, section.text("bearer_token_env"))


def _server(section: Section, graphs: Iterable[str]) -> ServerConfig:
    bind = section.text("bind")
    parts = None if bind is None else _BIND.fullmatch(bind)
    if bind is not None and (parts is None or int(parts[1]) > 65_535):
        section.report("bind", f"is an address and a port like 127.0.0.1:8080, not '{bind}'")
    return ServerConfig(_known_graph(section, graphs), bind, parse_budgets(section, "limits"))


def _cli(section: Section, graphs: Iterable[str]) -> CliConfig:
    return CliConfig(
        graph=_known_graph(section, graphs),
        branch=section.text("branch"),
        output_format=section.choice("output_format", OUTPUT_FORMATS),
        table_max_column_width=section.count("table_max_column_width") or 80,
        table_cell_layout=section.choice("table_cell_layout", ("truncate", "wrap")) or "truncate",
    )


def _alias(section: Section, graphs: Iterable[str]) -> AliasConfig:
    section.choice("command", ("read", "change"))
    args = section.texts("args")
    if len(set(args)) < len(args):
        section.report("args", "names a parameter twice")
    return AliasConfig(
        command=section.required("command"),
        query=section.required("query"),
        name=section.text("name"),
        args=args,
        graph=_known_graph(section, graphs),
        branch=section.text("branch"),
        format=section.choice("format", OUTPUT_FORMATS),
    )


def _policy(section: Section, folder: Path) -> PolicyConfig:
    return PolicyConfig(_file(section, "file", folder), _file(section, "tests", folder))


def _queries(top: Section, folder: Path) -> "QueryFiles | None":
    if "queries" not in top:
        return None
    from omnigraph.api.registry import parse_query_files

    return parse_query_files(top, "queries", lambda _, __, path: _resolved(path, folder))


def _spark(section: Section) -> SparkSettings:
    master, remote = section.text("master"), section.text("remote")
    if master is not None and remote is not None:
        section.report("remote", "and 'spark.master' exclude each other")
    conf = section.scalars("conf")
    for key in ("master", "remote"):
        if f"spark.{key}" in conf:
            section.report("conf", f"cannot hold 'spark.{key}'; write '{key}' in the section spark")
    return SparkSettings(master, remote, conf)


def _known_graph(section: Section, graphs: Iterable[str]) -> str | None:
    return section.choice("graph", tuple(graphs))


def _file(section: Section, key: str, folder: Path) -> Path | None:
    path = section.text(key)
    return None if path is None else _resolved(path, folder)


def _resolved(path: str, folder: Path) -> Path:
    try:
        return folder / Path(path).expanduser()
    except RuntimeError:  # there is no such user; opening the file will say so
        return folder / path


def _quoted(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
