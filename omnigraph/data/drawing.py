"""Drawing: rows as a table of text, in columns that line up."""

from collections.abc import Sequence

from omnigraph.span import terminal_columns

_WIDEST = 60


def draw_table(columns: Sequence[str], rows: Sequence[Sequence[str]], below: str = "") -> str:
    """Return rows as lines of text under the names of their columns; long cells are cut."""
    cells = [[_fitting(cell) for cell in row] for row in (columns, *rows)]
    widths = [max(map(terminal_columns, column)) for column in zip(*cells, strict=True)]
    lines = [_line(row, widths) for row in cells]
    rule = "  ".join("-" * width for width in widths)
    return "\n".join([lines[0], rule, *lines[1:], *([below] if below else [])])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell + " " * (width - terminal_columns(cell))
        for cell, width in zip(row, widths, strict=True)
    )
    return "  ".join(padded).rstrip()


def _fitting(text: str) -> str:
    flat = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return flat if len(flat) <= _WIDEST else f"{flat[: _WIDEST - 1]}…"
