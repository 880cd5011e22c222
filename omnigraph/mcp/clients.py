"""Clients: the entries for the configuration files of known clients."""

import json
import os
import sys
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from omnigraph.errors import InputError, UnreadableError
from omnigraph.files.bytes import file_bytes
from omnigraph.frozen import dataclass
from omnigraph.syntax.problems import suggest

_PASTE = "add the entry that is shown by hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFile:
    """The configuration of a client: where it is, and under which key servers stand."""

    name: str
    folder: str
    file: str
    key: str = "mcpServers"
    is_toml: bool = False
    more: tuple[tuple[str, str], ...] = ()

    def path(self, home: Path, here: Path) -> Path:
        """Return its configuration file: of the user, or of the folder it works in."""
        base = here if self.folder.startswith(".") or not self.folder else home
        return base / self.folder / self.file if base is here else _user_folder(self, home)

    def entry(self, command: Sequence[str]) -> dict[str, Any]:
        """Return what starts a server of ours."""
        return {**dict(self.more), "command": command[0], "args": list(command[1:])}


CLIENTS = (
    ClientFile(name="claude-code", folder="", file=".mcp.json"),
    ClientFile(name="claude-desktop", folder="Claude", file="claude_desktop_config.json"),
    ClientFile(
        name="codex", folder="~/.codex", file="config.toml", key="mcp_servers", is_toml=True
    ),
    ClientFile(name="cursor", folder="~/.cursor", file="mcp.json"),
    ClientFile(name="gemini", folder="~/.gemini", file="settings.json"),
    ClientFile(
        name="vscode", folder=".vscode", file="mcp.json", key="servers", more=(("type", "stdio"),)
    ),
    ClientFile(name="windsurf", folder="~/.codeium/windsurf", file="mcp_config.json"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """An entry for a client, and what its file holds before and after it."""

    client: ClientFile
    path: Path
    name: str
    entry: Mapping[str, Any]
    before: str | None
    known: Mapping[str, Any] | None

    @property
    def is_there(self) -> bool:
        """Whether the file has just this entry."""
        return self.known == self.entry

    @property
    def shown(self) -> str:
        """The entry as it stands in the file."""
        if self.client.is_toml:
            return _toml(self.client.key, self.name, self.entry)
        return json.dumps({self.client.key: {self.name: self.entry}}, indent=2)

    def write(self, *, replace: bool = False) -> None:
        """Write the file; raise InputError when it has another entry of that name."""
        if self.known is not None and not self.is_there and not replace:
            hint = "choose another --name, or say --replace"
            raise InputError(f"{self.path} has another entry '{self.name}' already", hint=hint)
        text = self._after()
        part = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            part.write_text(text, encoding="utf-8")
            if self.before is not None:
                part.chmod(self.path.stat().st_mode & 0o777)
            part.replace(self.path)
        except OSError as failed:
            with suppress(OSError):
                part.unlink()
            message = f"{self.path} cannot be written: {failed.strerror or failed}"
            raise UnreadableError(message, hint=_PASTE) from None

    def _after(self) -> str:
        if self.client.is_toml:
            if self.known is not None:
                raise InputError(f"{self.path} has an entry '{self.name}' already", hint=_PASTE)
            before = "" if not self.before else self.before.rstrip("\n") + "\n\n"
            return before + self.shown
        document = json.loads(self.before) if self.before and self.before.strip() else {}
        document.setdefault(self.client.key, {})[self.name] = dict(self.entry)
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        is_text = text.encode(errors="ignore").decode() == text
        return text if is_text else json.dumps(document, indent=2) + "\n"


def find_client(name: str) -> ClientFile:
    """Return a client by its name; raise InputError with the nearest one."""
    found = next((each for each in CLIENTS if each.name == name), None)
    if found is None:
        known = [each.name for each in CLIENTS]
        hint = suggest(name, known) or f"the clients are {', '.join(known)}"
        raise InputError(f"no client '{name}'", hint=hint)
    return found


def plan_installation(
    client: ClientFile, name: str, command: Sequence[str], home: Path, here: Path
) -> Installation:
    """Return the entry for a client; raise InputError when its file cannot be read."""
    path = client.path(home, here)
    before = _text(path) if path.exists() else None
    found = _servers(client, path, before)
    known = found.get(name)
    entry = client.entry(command)
    return Installation(
        client=client, path=path, name=name, entry=entry, before=before, known=known
    )


def _text(path: Path) -> str:
    try:
        return file_bytes(path).decode()
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8", hint=_PASTE) from None


def _servers(client: ClientFile, path: Path, text: str | None) -> Mapping[str, Any]:
    """Return the servers that a file has; one with comments in it is left to its owner."""
    if text is None or not text.strip():
        return {}
    try:
        document = tomllib.loads(text) if client.is_toml else json.loads(text)
    except (ValueError, RecursionError) as wrong:
        kind = "TOML" if client.is_toml else "JSON"
        raise InputError(f"{path} is not plain {kind}: {wrong}", hint=_PASTE) from None
    found = document.get(client.key, {}) if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise InputError(f"'{client.key}' of {path} is not a table", hint=_PASTE)
    return found


def _user_folder(client: ClientFile, home: Path) -> Path:
    if client.folder.startswith("~/"):
        return home / client.folder[2:] / client.file
    if sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    elif sys.platform == "win32":
        base = Path(os.environ.get("APPDATA", home / "AppData" / "Roaming"))
    else:
        base = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return base / client.folder / client.file


def _toml(key: str, name: str, entry: Mapping[str, Any]) -> str:
    # A string of JSON is one of TOML as well.
    lines = [f"{field} = {json.dumps(value, ensure_ascii=False)}" for field, value in entry.items()]
    return "\n".join([f"[{key}.{json.dumps(name)}]", *lines]) + "\n"
