"""Html: tables for pages and notebooks, in which every text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape

from omnigraph.look.style import SCOPE, part_style, sheet

# Texts of so many letters are not broken into lines.
_SHORT = 32


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], more: str = "") -> str:
    """Return a table as HTML, with `more` as a line below it; columns of numbers are aligned."""
    body = [list(row) for row in rows]
    kinds = [
        _is_numeric([row[place] for row in body]) for place in range(len(body[0]) if body else 0)
    ]
    names = "".join(
        f"<th{_class(is_number=place < len(kinds) and kinds[place])}>{escape(name)}</th>"
        for place, name in enumerate(head)
    )
    top = f"<thead><tr>{names}</tr></thead>" if head else ""
    lines = "".join(_row(row, kinds) for row in body)
    foot = f'<p class="soft">{escape(more)}</p>' if more else ""
    return f"<table>{top}<tbody>{lines}</tbody></table>{foot}"


def html_facts(title: str, facts: Iterable[tuple[str, object]], more: str = "") -> str:
    """Return facts about one thing as a titled table; facts that are None are left out."""
    rows = "".join(
        f'<tr><td class="soft">{escape(name)}</td><td>{escape(str(value))}</td></tr>'
        for name, value in facts
        if value is not None
    )
    table = f"<table><tbody>{rows}</tbody></table>" if rows else ""
    head = f"<p><b>{escape(title)}</b></p>" if title else ""
    return f"{head}{table}{more}"


def notebook_part(part: str, *sheets: str) -> str:
    """Return a part of a page as a notebook shows it, with the style that it needs."""
    style = "\n".join([part_style(), *map(sheet, ("table", *sheets))])
    return f'<div class="{SCOPE} part"><style>{style}</style>{part}</div>'


def _row(row: Sequence[str], numeric: Sequence[bool]) -> str:
    cells = (
        f"<td{_class(is_number=is_number, is_short=len(each) <= _SHORT)}>{escape(each)}</td>"
        for each, is_number in zip(row, numeric, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _class(*, is_number: bool, is_short: bool = False) -> str:
    name = "number" if is_number else "short" if is_short else ""
    return f' class="{name}"' if name else ""


def _is_numeric(values: Sequence[str]) -> bool:
    """Whether all values that are there are numbers."""
    present = [each for each in values if each not in ("", "null")]
    return bool(present) and all(map(_is_number, present))


def _is_number(text: str) -> bool:
    digits = text.replace(",", "").removeprefix("-")
    return digits.replace(".", "", 1).isdigit() if digits.isascii() else False
