"""Commits: the newest commits of some branches as a list, with a lane for each branch."""

from collections.abc import Mapping, Sequence
from html import escape

from omnigraph.look.colours import COLOURS
from omnigraph.syntax.problems import shorten
from omnigraph.versioning.commit import Commit, author_html

_ROW, _LANE, _LEFT = 52, 18, 14
_LONGEST_MESSAGE = 200


def render_commits(commits: Sequence[Commit], heads: Mapping[str, str]) -> str:
    """Return commits as HTML, newest first, each with its parents and the branches at it."""
    ordered = sorted(commits, key=lambda each: (-each.version, each.id))
    lanes = _assign_lanes(ordered)
    known = {commit.id: (lanes[commit.branch], row) for row, commit in enumerate(ordered)}
    lines = [
        _draw_line(known[commit.id], known[parent])
        for commit in ordered
        for parent in commit.parents
        if parent in known
    ]
    dots = [_draw_dot(*known[commit.id]) for commit in ordered]
    width, height = _LEFT + _LANE * len(lanes), _ROW * len(ordered)
    rows = "".join(_render_commit(commit, heads) for commit in ordered)
    return (
        f'<div class="commits" style="--lanes:{width}px">'
        f'<svg class="lanes" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'aria-hidden="true">{"".join(lines)}{"".join(dots)}</svg><ol>{rows}</ol></div>'
    )


def render_id(commit_id: str) -> str:
    """Return the part of an id that tells it from others; the whole id is its title."""
    return f'<span class="id" title="{escape(commit_id)}">{escape(commit_id[-8:])}</span>'


def _assign_lanes(commits: Sequence[Commit]) -> dict[str, int]:
    """Return the lane of every branch; `main` has the first."""
    names = dict.fromkeys(["main", *(commit.branch for commit in commits)])
    present = {commit.branch for commit in commits}
    return {name: place for place, name in enumerate(n for n in names if n in present)}


def _point(lane: int, row: int) -> tuple[int, int]:
    return _LEFT + _LANE * lane, _ROW * row + _ROW // 2


def _draw_line(start: tuple[int, int], end: tuple[int, int]) -> str:
    (x, y), (to_x, to_y) = _point(*start), _point(*end)
    path = f"M{x},{y} C{x},{y + _ROW} {to_x},{to_y - _ROW} {to_x},{to_y}"
    return f'<path data-colour="{max(start[0], end[0]) % COLOURS}" d="{path}"/>'


def _draw_dot(lane: int, row: int) -> str:
    x, y = _point(lane, row)
    return f'<circle data-colour="{lane % COLOURS}" cx="{x}" cy="{y}" r="5"/>'


def _render_commit(commit: Commit, heads: Mapping[str, str]) -> str:
    names = "".join(
        f'<span class="badge">{escape(name)}</span>'
        for name, commit_id in heads.items()
        if commit_id == commit.id
    )
    said = shorten(commit.message or str(commit.kind), _LONGEST_MESSAGE)
    spoken = "" if commit.message else " soft"
    return (
        f'<li><span class="line">{names}<span class="message{spoken}" title="{escape(said)}">'
        f'{escape(said)}</span></span><span class="line soft small">{render_id(commit.id)} '
        f"{author_html(commit)}</span></li>"
    )
