"""Terminal: reads statements from a person, with history and completion, or from a pipe."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.cli.statements import ShellVocabulary, is_complete

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent


def piped_statements() -> Iterator[str]:
    """Yield the statements of standard input, the last one even when it does not end."""
    lines: list[str] = []
    for number, line in enumerate(sys.stdin):
        lines.append(line if number else line.removeprefix("\ufeff"))
        text = "".join(lines)
        if is_complete(text):
            lines = []
            yield text
    if lines:
        yield "".join(lines)


def typed_statements(prompt: Callable[[], str], vocabulary: ShellVocabulary) -> Iterator[str]:
    """Yield what is typed, statement by statement; Ctrl-C drops one, and Ctrl-D ends."""
    reader = _reader(vocabulary)
    while True:
        try:
            yield reader.prompt(prompt())
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def history_file() -> Path:
    """Return the file with what was typed before."""
    given = os.environ.get("XDG_STATE_HOME")
    folder = Path(given) if given else Path.home() / ".local" / "state"
    return folder / "omnigraph" / "history"


def _reader(vocabulary: ShellVocabulary) -> "PromptSession[str]":
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    try:
        path = history_file()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        history: FileHistory | InMemoryHistory = FileHistory(str(path))
    except (OSError, RuntimeError):  # it cannot be written, or the user has no home
        history = InMemoryHistory()
    return PromptSession(
        history=history,
        completer=_completer(vocabulary),
        complete_while_typing=False,
        multiline=True,
        key_bindings=_keys(),
        prompt_continuation=lambda width, _, __: ".".rjust(width - 1) + " ",
    )


def _keys() -> "KeyBindings":
    """Let Enter end a statement that is complete, and else begin its next line."""
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: "KeyPressEvent") -> None:
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys


def _completer(vocabulary: ShellVocabulary) -> "Completer":
    from prompt_toolkit.completion import Completer, Completion

    class Words(Completer):
        def get_completions(self, document: "Document", _: object) -> "Iterable[Completion]":
            begun, words = vocabulary.next_words(document.text_before_cursor)
            return (Completion(word, start_position=-len(begun)) for word in words)

    return Words()
