"""Commits: the newest commits of some branches as SVG, with a lane for each branch."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape

from omnigraph.syntax.problems import shorten
from omnigraph.versioning.commit import Commit

_ROW, _LANE, _LEFT = 30, 18, 14
_WIDTH = 900
_LONGEST_MESSAGE = 80
_COLOURS = ("#2563eb", "#d97706", "#059669", "#db2777", "#7c3aed", "#0891b2")


def draw_commits(commits: Sequence[Commit], heads: Mapping[str, str]) -> str:
    """Return commits as SVG, newest first, each with its parents and the branches at it."""
    ordered = sorted(commits, key=lambda each: (-each.version, each.id))
    lanes = _assign_lanes(ordered)
    rows = {commit.id: place for place, commit in enumerate(ordered)}
    lines = [
        _draw_line((lanes[commit.branch], rows[commit.id]), (lanes[parent.branch], rows[parent.id]))
        for commit in ordered
        for parent in (known for known in ordered if known.id in commit.parents)
    ]
    texts_at = _LEFT + _LANE * len(lanes) + 8
    drawn = [_draw_commit(commit, lanes, rows[commit.id], texts_at, heads) for commit in ordered]
    height = _ROW * max(1, len(ordered)) + 10
    return (
        f'<svg class="commits" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
        f'height="{height}" role="img" aria-label="commits">{"".join(lines)}{"".join(drawn)}</svg>'
    )


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
    return f'<path class="parent" d="{path}" stroke="{_colour(max(start[0], end[0]))}"/>'


def _draw_commit(
    commit: Commit, lanes: Mapping[str, int], row: int, texts_at: int, heads: Mapping[str, str]
) -> str:
    lane = lanes[commit.branch]
    x, y = _point(lane, row)
    when = datetime.fromtimestamp(commit.created_at / 1_000_000, UTC).strftime("%Y-%m-%d %H:%M")
    names = "".join(f" [{name}]" for name, commit_id in heads.items() if commit_id == commit.id)
    said = commit.message or str(commit.kind)
    who = f" · {commit.actor}" if commit.actor else ""
    return (
        f'<circle cx="{x}" cy="{y}" r="5" fill="{_colour(lane)}"/>'
        f'<text x="{texts_at}" y="{y + 4}"><tspan class="id">{commit.id[-8:]}</tspan>'
        f'<tspan class="head">{escape(names)}</tspan> {escape(shorten(said, _LONGEST_MESSAGE))}'
        f'<tspan class="when">  {when}{escape(who)}</tspan></text>'
    )


def _colour(lane: int) -> str:
    return _COLOURS[lane % len(_COLOURS)]
