"""Differences: changed rows as a table for pages and notebooks, with before, after and author."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape

from omnigraph.merge.compare.row_change import Change, Op
from omnigraph.schema.values import to_json_value
from omnigraph.syntax.problems import shorten
from omnigraph.versioning.commit import Commit, author_html

SIGNS = {Op.INSERT: "+", Op.DELETE: "−", Op.UPDATE: "~"}
CLASSES = {Op.INSERT: "added", Op.DELETE: "removed", Op.UPDATE: "changed"}
_LONGEST_VALUE = 300
_HEAD = ("change", "author", "property", "before", "after")

# The commit that gave a property of a change its value, or deleted the row, if it is known.
AuthorOf = Callable[[Change, str], Commit | None]


def render_counts(stats: Mapping[str, Mapping[Op, int]], colours: Mapping[str, int]) -> str:
    """Return how many rows of each type came, went and changed."""
    parts = [
        f"{render_type(name, colours)} {' '.join(_counts(each))}"
        for name, each in stats.items()
        if any(each.values())
    ]
    return f'<p class="counts">{"".join(f"<span>{each}</span>" for each in parts)}</p>'


def render_type(name: str, colours: Mapping[str, int]) -> str:
    """Return the name of a type in its colour."""
    return f'<span class="type" data-colour="{colours.get(name, 0)}">{escape(name)}</span>'


def render_differences(
    changes: Iterable[Change], colours: Mapping[str, int], author_of: AuthorOf | None = None
) -> str:
    """Return changes as a table, with a line for each property, and who made them if it is told."""
    named = [name for name in _HEAD if name != "author" or author_of is not None]
    head = "".join(f'<th scope="col">{name}</th>' for name in named)
    rows = "".join(_render_change(each, colours, author_of) for each in changes)
    name = "diff" if author_of is None else "diff authored"
    return f'<table class="{name}"><thead><tr>{head}</tr></thead>{rows}</table>'


def _counts(counts: Mapping[Op, int]) -> Iterator[str]:
    for op, sign in SIGNS.items():
        if counts.get(op, 0):
            yield f'<span class="{CLASSES[op]}">{sign}{counts[op]:,}</span>'


def _render_change(change: Change, colours: Mapping[str, int], author_of: AuthorOf | None) -> str:
    names = list(_fields(change)) or [""]
    ends = change.endpoints
    what = change.id if ends is None else f"{ends[0]} → {ends[1]}"
    about = (
        f'<th scope="rowgroup" rowspan="{len(names)}"><span class="sign" aria-hidden="true">'
        f'{SIGNS[change.op]}</span><span class="hidden">{CLASSES[change.op]} </span> '
        f'{render_type(change.type_name, colours)}<br><span class="id">{escape(what)}</span></th>'
    )
    told = _authors(change, names, author_of)
    span = len(names) if len(told) == 1 else 1
    lines = []
    for place, name in enumerate(names):
        before, after = (_value(row, name) for row in (change.before, change.after))
        who = ""
        if place < len(told):
            who = f'<td class="author" rowspan="{span}">{_author(told[place])}</td>'
        lines.append(
            f"<tr>{about if place == 0 else ''}{who}"
            f'<td class="property">{escape(name)}</td>'
            f'<td class="before">{before}</td><td class="after">{after}</td></tr>'
        )
    attributes = f'class="{CLASSES[change.op]}" data-type="{escape(change.type_name)}"'
    return f"<tbody {attributes}>{''.join(lines)}</tbody>"


def _authors(
    change: Change, names: Sequence[str], author_of: AuthorOf | None
) -> list[Commit | None]:
    """Return the commit of each property, or only one that is that of all."""
    if author_of is None:
        return []
    commits = [author_of(change, name) for name in names]
    return commits[:1] if len(set(map(_id_of, commits))) == 1 else commits


def _id_of(commit: Commit | None) -> str | None:
    return None if commit is None else commit.id


def _author(commit: Commit | None) -> str:
    return "" if commit is None else author_html(commit)


def _fields(change: Change) -> Iterable[str]:
    """Return the properties that a change set, added or removed."""
    if change.op is Op.UPDATE:
        return change.changed
    told = {"id"} if change.endpoints is None else {"id", "from", "to"}
    row = change.after or change.before or {}
    return [name for name, value in row.items() if name not in told and value is not None]


def _value(row: Mapping[str, object] | None, name: str) -> str:
    if row is None or not name:
        return ""
    value = to_json_value(row.get(name))
    if value is None:
        return '<span class="null">null</span>'
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    shown = escape(shorten(text, _LONGEST_VALUE))
    more = len(text) - _LONGEST_VALUE
    cut = f' <span class="null">({len(text):,} characters)</span>' if more > 0 else ""
    return f'<span class="value">{shown}</span>{cut}'
