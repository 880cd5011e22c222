"""Blocks: the fenced blocks of the pages, with the heading and the schema that they stand under."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "design").glob("*.md")),
    *sorted((ROOT / "skills").rglob("*.md")),
]
EXAMPLE = ROOT / "examples" / "people"
NOT_RUN = ("text", "json", "yaml")

_FENCE = re.compile(r"^( *)```(.*)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block; `schema` is the text of the last `pg schema` block before it."""

    page: Path
    line: int
    info: str
    text: str
    heading: str = ""
    schema: str | None = field(default=None, repr=False)

    @property
    def language(self) -> str:
        return self.info.partition(" ")[0]

    @property
    def is_schema(self) -> bool:
        return self.info == "pg schema"

    def promised(self, word: str) -> str | None:
        """Return the code after `error=` or `warning=` in the info string."""
        options = [part.partition("=") for part in self.info.split()[1:]]
        return next((value for name, _, value in options if name == word), None)

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in their order."""
    return list(_blocks(page))


def all_blocks(*languages: str) -> list[Block]:
    """Return the blocks of all pages that are in one of these languages."""
    return [block for page in PAGES for block in blocks_of(page) if block.language in languages]


def _blocks(page: Path) -> Iterator[Block]:
    heading, schema = "", None
    lines = iter(enumerate(page.read_text().splitlines(), start=1))
    for number, line in lines:
        if line.startswith("#"):
            heading = line
        elif fence := _FENCE.match(line):
            indent, info = fence.groups()
            text = _body(lines, indent, f"{page.name}:{number}")
            block = Block(
                page=page,
                line=number,
                info=info.strip(),
                text=text,
                heading=heading,
                schema=schema,
            )
            schema = text if block.is_schema else schema
            yield block


def _body(lines: Iterator[tuple[int, str]], indent: str, place: str) -> str:
    body: list[str] = []
    for _, line in lines:
        if line.strip() == "```":
            return "".join(f"{each.removeprefix(indent)}\n" for each in body)
        body.append(line)
    raise ValueError(f"{place}: this block is not closed")
