"""Html: tables for notebooks, in which every text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], more: str = "") -> str:
    """Return a table as HTML, with `more` as a line below it."""
    shown = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(_row(row) for row in rows)
    foot = f"<p>{escape(more)}</p>" if more else ""
    return f"<table><thead><tr>{shown}</tr></thead><tbody>{body}</tbody></table>{foot}"


def html_facts(title: str, facts: Iterable[tuple[str, object]], more: str = "") -> str:
    """Return facts about one thing as a titled table; facts that are None are left out."""
    rows = [(name, str(value)) for name, value in facts if value is not None]
    return f"<p><b>{escape(title)}</b></p>{html_table((), rows)}{more}"


def _row(row: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in row)}</tr>"
