"""Scene: a folder with files for commands, which are run in this process, and what they print."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import click
from click.testing import CliRunner, Result

from omnigraph.cli.main import omnigraph

GOLDEN = Path(__file__).parent / "golden"
_ULID = re.compile(r"(?<![0-9A-Z])[0-7][0-9A-HJKMNP-TV-Z]{25}(?![0-9A-Z])")
_HIDDEN = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "<hash>"),
    (re.compile(r"(nodes|edges)/[0-9a-f]{16}"), r"\1/<table>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"), "<time>"),
    (re.compile(r"\b1[789]\d{14}\b"), "<microseconds>"),
    (re.compile(r'("table_version": )"\d+"'), r'\1"<version>"'),
    (re.compile(r" *\b\d+\.\d{3}\b"), " <ms>"),
    (re.compile(r'("ms":) [\d.]+'), r"\1 <ms>"),
    (re.compile(r"looked at .*"), "looked at <files>"),
    (re.compile(r"\d+ files copied .* kept"), "<count> files copied and kept"),
    (re.compile(r'("(ledger_rows|files|bytes|\w+_copied|files_kept)": )\d+'), r"\1<count>"),
)

Run = Callable[..., Result]  # runs the command that its arguments are


@dataclass(slots=True)
class Scene:
    """A folder in which commands are run; `{id}` in one is the first id that the last printed."""

    folder: Path
    last_id: str = ""
    hidden: dict[str, str] = field(default_factory=dict)

    def run(self, line: str, stdin: str | None = None) -> Result:
        """Run what stands after `$ omnigraph ` on a line of a transcript."""
        given = shlex.split(line.replace("{id}", self.last_id))
        done = CliRunner().invoke(omnigraph, given, input=stdin, prog_name="omnigraph")
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
        self.last_id = next(iter(_ULID.findall(done.stdout)), self.last_id)
        return done

    def told(self, done: Result) -> str:
        """Return what a command printed, without what is never the same twice."""
        text = done.output.replace("\r\n", "\n")
        for secret, name in {str(self.folder): "<folder>", **self.hidden}.items():
            text = text.replace(secret, name)
        text = _ULID.sub("<id>", text)
        for pattern, name in _HIDDEN:
            text = pattern.sub(name, text)
        code = f"[exit {done.exit_code}]\n" if done.exit_code else ""
        return text + code


def leaves(group: click.Group = omnigraph, path: str = "") -> dict[str, click.Command]:
    """Return every command that is no family, by what is typed for it."""
    found: dict[str, click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found |= leaves(command, f"{path}{name} ")
        else:
            found[f"{path}{name}"] = command
    return found


def path_of(line: str) -> str:
    """Return the command of a line."""
    words = shlex.split(line)
    return next((name for name in leaves() if words[: len(name.split())] == name.split()), words[0])
