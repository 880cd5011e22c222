"""Settings: what a client of Kafka is told beside the address, from a file; the secrets are in it.

The file has a `name=value` on each line, as the properties files of Kafka's own tools; the names
are those of librdkafka: https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md
"""

import os
import re
from collections.abc import Mapping

from omnigraph.errors import ConfigError
from omnigraph.files.bytes import file_bytes

# What decides which messages are read. Where that begins is in the graph.
_OWN = {
    "auto.offset.reset": "error",
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "enable.partition.eof": "true",
}
_USUAL = {"client.id": "omnigraph", "group.id": "omnigraph"}
_LINE = re.compile(r"([a-z][a-z0-9._]*)\s*[=:]\s*(.*)")
_SECRET = re.compile(r"password|secret|\.pem$|jaas|token")
_SHORTEST_SECRET = 4


def read_settings(path: str | os.PathLike[str] | None, brokers: str) -> dict[str, str]:
    """Return the settings of a consumer; raises ConfigError for a line that is none."""
    given = {} if path is None else _parsed(os.fspath(path), file_bytes(path))
    return {**_USUAL, **given, **_OWN, "bootstrap.servers": brokers}


def _parsed(name: str, data: bytes) -> dict[str, str]:
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ConfigError(f"{name}: the file is not UTF-8") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith(("#", "!")):
            continue
        match = _LINE.fullmatch(text)
        if match is None:
            # The line itself may be a secret and is not shown.
            raise ConfigError(f"{name}:{number}: expected name=value")
        _check_name(f"{name}:{number}", match[1])
        found[match[1]] = match[2]
    return found


def _check_name(where: str, name: str) -> None:
    """Raise ConfigError for what is not for a user to say."""
    if name in _OWN:
        hint = "what was read is known from the commits of the branch"
        raise ConfigError(f"{where}: '{name}' cannot be set", hint=hint)
    if name == "bootstrap.servers":
        hint = "leave the line out"
        raise ConfigError(f"{where}: the address names the brokers already", hint=hint)


def without_secrets(text: str, settings: Mapping[str, str]) -> str:
    """Return what a client says about an error, without the values of secret settings."""
    for name, value in settings.items():
        if _SECRET.search(name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "***")
    return text
