"""Drawing: rows as a table of text, in columns that line up."""

import unicodedata
from collections.abc import Sequence

_WIDEST = 60


def draw_table(columns: Sequence[str], rows: Sequence[Sequence[str]], below: str = "") -> str:
    """Return rows as lines of text under the names of their columns; long cells are cut."""
    cells = [[_fitting(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    lines = [_line(row, widths) for row in cells]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([lines[0], rule, *lines[1:], *([below] if below else [])])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
    return "  ".join(padded).rstrip()


def _fitting(text: str) -> str:
    flat = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return flat if len(flat) <= _WIDEST else f"{flat[: _WIDEST - 1]}…"


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    marks = sum(unicodedata.combining(char) != 0 for char in text)
    return len(text) + wide - marks
