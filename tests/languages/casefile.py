"""Case files: named cases of texts and the text that is expected of them.

A file starts with sections that all its cases share. Each case starts with `=== its name`; each
section of it with `--- its kind`. The last section is what is expected; `--update-cases` writes
what is really given.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_UPDATED: dict[Path, dict[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Case:
    """One case: the sections it starts from, and the last one, which is expected."""

    path: Path
    name: str
    given: dict[str, str]
    expects: str
    expected: str


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a file."""
    head, *blocks = ("\n" + path.read_text()).split("\n=== ")
    shared = dict(_sections(head))
    return [_case(path, block, shared) for block in blocks]


def write_expected(path: Path, found: dict[str, str]) -> None:
    """Write what was found into the last section of each named case."""
    head, *blocks = ("\n" + path.read_text()).split("\n=== ")
    written = [_with_expected(block, found) for block in blocks]
    path.write_text("\n=== ".join([head, *written])[1:])


def update(case: Case, found: str, cases: Sequence[Case]) -> None:
    """Write what a case really gives, once that is known of all cases of its file."""
    updated = _UPDATED.setdefault(case.path, {})
    updated[case.name] = found
    if all(each.name in updated for each in cases if each.path == case.path):
        write_expected(case.path, updated)


def _case(path: Path, block: str, shared: dict[str, str]) -> Case:
    name, _, body = block.partition("\n")
    sections = _sections("\n" + body)
    expects, expected = sections[-1]
    return Case(path, name, shared | dict(sections[:-1]), expects, expected)


def _sections(text: str) -> list[tuple[str, str]]:
    sections = []
    for part in text.split("\n--- ")[1:]:
        kind, _, body = part.partition("\n")
        sections.append((kind.strip(), body.strip("\n") + "\n"))
    return sections


def _with_expected(block: str, found: dict[str, str]) -> str:
    name, _, _ = block.partition("\n")
    before, _, last = block.rpartition("\n--- ")
    kind, _, _ = last.partition("\n")
    return f"{before}\n--- {kind}\n{found[name].strip(chr(10))}\n"
