"""Dotenv: a file of variables, one `NAME=value` on each line, parsed strictly."""

import re

from omnigraph.errors import ConfigError

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_QUOTED = re.compile(r"""(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:#.*)?""")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def parse_dotenv(name: str, data: bytes) -> dict[str, str]:
    """Parse the variables of a file; raise ConfigError at the first line that is not one.

    Values can be quoted: '…' is taken literally, "…" resolves \\n, \\t and \\".
    """
    try:
        lines = data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ConfigError(f"{name}: the file is not UTF-8") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _LINE.fullmatch(text)
        value = None if match is None else _value(match[2])
        if match is None or value is None:
            # The line itself may be a secret and is not shown.
            raise ConfigError(
                f"{name}:{number}: expected NAME=value", hint="lines that start with # are comments"
            )
        found[match[1]] = value
    return found


def _value(text: str) -> str | None:
    if not text.startswith(("'", '"')):
        return _COMMENT.sub("", text).strip()
    match = _QUOTED.fullmatch(text)
    if match is None:
        return None
    if match[1] is not None:
        return match[1]
    return re.sub(r"\\(.)", lambda each: _ESCAPES.get(each[1], each[1]), match[2])
