"""Profiles: the servers and deployments of a person, by name, and the tokens for them.

~/.omnigraph/config.yaml    servers, clusters and profiles; OMNIGRAPH_HOME names another folder
~/.omnigraph/tokens.json    tokens of `omnigraph login`, where there is no system keyring
"""

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from importlib import import_module
from pathlib import Path
from typing import Any

from omnigraph.cli.address import Address
from omnigraph.errors import ConfigError
from omnigraph.files.bytes import file_bytes
from omnigraph.files.yaml import Section, parse_yaml
from omnigraph.frozen import dataclass
from omnigraph.syntax.problems import list_names, suggest

HOME = "OMNIGRAPH_HOME"
_FOLDER = ".omnigraph"
_SERVICE = "omnigraph"
_LONGEST_WAIT = 10.0
_TOP = ("servers", "clusters", "profiles", "default_profile")
_PROFILE = ("server", "cluster", "graph", "branch", "actor")


@dataclass(frozen=True, slots=True, kw_only=True)
class UserProfile:
    """A graph of a server or of a deployment, and what is usual there."""

    name: str
    server: str | None = None
    cluster: str | None = None
    graph: str | None = None
    branch: str | None = None
    actor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """All that the configuration of a person says."""

    path: Path
    servers: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
    clusters: Mapping[str, str] = field(default_factory=dict)
    profiles: Mapping[str, UserProfile] = field(default_factory=dict)
    default: str | None = None

    def find(self, name: str) -> UserProfile:
        """Return a profile by its name."""
        if name not in self.profiles:
            raise ConfigError(
                f"{self.path} has no profile '{name}'",
                hint=_known(name, self.profiles, f"profiles: {{{name}: {{server: …, graph: …}}}}"),
            )
        return self.profiles[name]

    def url(self, server: str) -> str:
        """Return the address of a server by its name."""
        if server not in self.servers:
            raise ConfigError(
                f"{self.path} has no server '{server}'",
                hint=_known(server, self.servers, f'servers: {{{server}: {{url: "https://…"}}}}'),
            )
        return self.servers[server][0]

    def address(self, profile: UserProfile) -> Address:
        """Return where the graph of a profile is, with the token for it."""
        if profile.server is not None:
            url = self.url(profile.server).rstrip("/")
            whole = url if profile.graph is None else f"{url}/graphs/{profile.graph}"
            variable = self.servers[profile.server][1]
            own = None if variable is None else os.environ.get(variable)
            return Address(whole, own or token_of(profile.server))
        from omnigraph.deploy.declaration import FILE_NAME, storage_of
        from omnigraph.deploy.definition import graph_uri

        assert profile.cluster is not None
        assert profile.graph is not None
        place = self.clusters[profile.cluster]
        file = Path(place) / FILE_NAME
        storage = storage_of(file) if "://" not in place and file.exists() else place
        return Address(graph_uri(storage, profile.graph))


def read_profiles() -> Profiles:
    """Return the configuration of the person; an empty one where there is no file."""
    try:
        path = _home() / "config.yaml"
    except ConfigError:
        return Profiles(path=Path("~", _FOLDER, "config.yaml"))
    if not path.exists():
        return Profiles(path=path)
    top = parse_yaml(str(path), file_bytes(path), _TOP)
    servers = {
        name: (each.required("url"), each.text("bearer_token_env"))
        for name, each in top.sections("servers", ("url", "bearer_token_env")).items()
    }
    clusters = {
        name: each.required("uri") for name, each in top.sections("clusters", ("uri",)).items()
    }
    profiles = {
        name: _profile(name, each, servers, clusters)
        for name, each in top.sections("profiles", _PROFILE).items()
    }
    default = top.choice("default_profile", tuple(profiles))
    top.check()
    return Profiles(
        path=path, servers=servers, clusters=clusters, profiles=profiles, default=default
    )


def token_of(server: str) -> str | None:
    """Return the token that `omnigraph login` stored for a server."""
    keyring = _keyring()
    found = None if keyring is None else keyring.get_password(_SERVICE, server)
    return found or _tokens().get(server)


def store_token(server: str, token: str) -> str:
    """Store a token: in the system keyring, or else in a file of the person; return where."""
    keyring = _keyring()
    if keyring is not None:
        keyring.set_password(_SERVICE, server, token)
        return "the system keyring"
    with _alone():
        _write_tokens({**_tokens(), server: token})
    return str(_tokens_path())


def forget_token(server: str) -> bool:
    """Remove the token of a server; return whether there was one."""
    had = token_of(server) is not None
    keyring = _keyring()
    if keyring is not None and keyring.get_password(_SERVICE, server) is not None:
        keyring.delete_password(_SERVICE, server)
    with _alone():
        if server in (tokens := _tokens()):
            _write_tokens({name: each for name, each in tokens.items() if name != server})
    return had


def _profile(
    name: str, section: Section, servers: Mapping[str, object], clusters: Mapping[str, object]
) -> UserProfile:
    server = section.choice("server", tuple(servers))
    cluster = section.choice("cluster", tuple(clusters))
    graph = section.text("graph")
    if (server is None) == (cluster is None):
        section.note("needs exactly one of 'server' and 'cluster'")
    if cluster is not None and graph is None:
        section.note("needs 'graph', one of the graphs of the cluster")
    return UserProfile(
        name=name,
        server=server,
        cluster=cluster,
        graph=graph,
        branch=section.text("branch"),
        actor=section.text("actor"),
    )


def _home() -> Path:
    """Return the folder of the person; raise ConfigError where nobody knows who that is."""
    given = os.environ.get(HOME)
    try:
        return Path(given) if given else Path.home() / _FOLDER
    except RuntimeError:
        hint = f"set {HOME} to a folder"
        raise ConfigError("the user of this process has no home", hint=hint) from None


def _tokens_path() -> Path:
    return _home() / "tokens.json"


def _tokens() -> dict[str, str]:
    path = _tokens_path()
    if not path.exists():
        return {}
    if path.stat().st_mode & 0o077:
        raise ConfigError(
            f"other users can read {path}", hint=f"run chmod 600 {shlex.quote(str(path))}"
        )
    try:
        found = json.loads(file_bytes(path))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise ConfigError(f"{path} is not a file of tokens", hint="remove it, and log in again")
    return found


@contextmanager
def _alone() -> Iterator[None]:
    """Let nobody else of this machine change the tokens between reading and writing them."""
    from omnigraph.versioning.turns.locks import lock_file, lock_within, unlock

    path, file = lock_file("tokens", str(_tokens_path().absolute())), None
    with suppress(OSError):  # there are no locks
        file = None if path is None else lock_within(path, _LONGEST_WAIT)
    try:
        yield
    finally:
        if file is not None:
            unlock(file)


def _write_tokens(tokens: Mapping[str, str]) -> None:
    path = _tokens_path()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(dict(tokens), file)
    part.replace(path)


def _keyring() -> Any:  # noqa: ANN401 - an optional package
    """Return the system keyring; None where there is none that can keep something."""
    try:
        keyring, fail = import_module("keyring"), import_module("keyring.backends.fail")
    except ImportError:
        return None
    return None if isinstance(keyring.get_keyring(), fail.Keyring) else keyring


def _known(name: str, names: Mapping[str, object], entry: str) -> str:
    """Return which name is meant or which there are, or else the entry that is missing."""
    there = f"it has {list_names(sorted(names))}" if names else f"write it there: {entry}"
    return suggest(name, names) or there
