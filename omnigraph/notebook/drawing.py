"""Drawing: nodes and edges as SVG, placed so that what is joined is near."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from omnigraph.frozen import dataclass
from omnigraph.look.words import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_NODES = 300
_WIDTH, _HEIGHT, _MARGIN, _RADIUS = 960, 560, 48, 8
_LABELLED = 80
_LONGEST_LABEL = 28
_ROUNDS = 120


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A node of a drawing: its key, what it is called, its colour, and what is known about it."""

    key: str
    label: str
    colour: int
    details: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge of a drawing between the keys of two nodes; a loose one only stands for a row."""

    source: str
    target: str
    label: str
    is_loose: bool = False


def draw_graph(nodes: Sequence[DrawnNode], edges: Sequence[DrawnEdge]) -> str:
    """Return nodes and edges as SVG; the same ones are always at the same places."""
    places = _place(nodes, edges)
    lines = "".join(_draw_edge(each, places) for each in edges)
    dots = "".join(
        _draw_node(node, places[node.key], is_labelled=len(nodes) <= _LABELLED) for node in nodes
    )
    about = f"{counted(len(nodes), 'node')} and {counted(len(edges), 'edge')}"
    return (
        f'<svg class="diagram" viewBox="0 0 {_WIDTH} {_HEIGHT}" style="width:{_WIDTH}px" '
        f'role="img" aria-label="{about}"><defs><marker id="end" viewBox="0 0 8 8" refX="14" '
        'refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 1 7 4 0 7z"/>'
        f"</marker></defs>{lines}{dots}</svg>"
    )


def _draw_node(node: DrawnNode, at: tuple[float, float], *, is_labelled: bool) -> str:
    label = escape(node.label)
    cut = node.label[:_LONGEST_LABEL] + ("…" if len(node.label) > _LONGEST_LABEL else "")
    text = f'<text class="name" y="{_RADIUS + 14}">{escape(cut)}</text>' if is_labelled else ""
    return (
        f'<g class="dot" data-node="{escape(node.key)}" data-label="{label}" '
        f'data-colour="{node.colour}" transform="translate({at[0]:.1f} {at[1]:.1f})">'
        f'<circle r="{_RADIUS}"/>{text}<title>{label}</title></g>'
    )


def _draw_edge(edge: DrawnEdge, places: Mapping[str, tuple[float, float]]) -> str:
    (x, y), (to_x, to_y) = places[edge.source], places[edge.target]
    path = f"M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"
    if edge.source == edge.target:
        path = f"M{x - 5:.1f} {y:.1f}c-14-30 24-30 10 0"
    end = "" if edge.is_loose else ' marker-end="url(#end)"'
    name = "edge loose" if edge.is_loose else "edge"
    return (
        f'<g class="{name}" data-source="{escape(edge.source)}" '
        f'data-target="{escape(edge.target)}"><path d="{path}"{end}/>'
        f"<title>{escape(edge.label)}</title></g>"
    )


def _place(
    nodes: Sequence[DrawnNode], edges: Sequence[DrawnEdge]
) -> dict[str, tuple[float, float]]:
    """Return places for nodes: all push each other away, edges pull their ends together."""
    count = len(nodes)
    turns = np.arange(count) * 2.399963
    reach = np.sqrt((np.arange(count) + 0.5) / max(count, 1))
    at = np.stack([np.cos(turns) * reach, np.sin(turns) * reach], axis=1)
    numbers = {node.key: place for place, node in enumerate(nodes)}
    ends = np.array(
        [(numbers[each.source], numbers[each.target]) for each in edges], dtype=np.int64
    ).reshape(-1, 2)
    room = 1.6 / np.sqrt(max(count, 1))
    for step in range(_ROUNDS if count > 1 else 0):
        at = at + _moves(at, ends, room, 0.12 * (1 - step / _ROUNDS))
    low, high = at.min(axis=0, initial=0.0), at.max(axis=0, initial=0.0)
    span = np.maximum(high - low, 1e-9)
    size = np.array([_WIDTH, _HEIGHT]) - 2 * _MARGIN
    shown = (at - low) / span * size + _MARGIN if count > 1 else at * 0 + (_WIDTH / 2, _HEIGHT / 2)
    return {node.key: (float(x), float(y)) for node, (x, y) in zip(nodes, shown, strict=True)}


def _moves(
    at: "NDArray[np.float64]", ends: "NDArray[np.int64]", room: float, most: float
) -> "NDArray[np.float64]":
    """Return one step of every node, none of them longer than `most`."""
    apart = at[:, None, :] - at[None, :, :]
    far = np.maximum(np.linalg.norm(apart, axis=2), 1e-3)
    force = (apart * (room**2 / far**2)[:, :, None]).sum(axis=1) - at * 0.05
    if len(ends):
        pull = at[ends[:, 1]] - at[ends[:, 0]]
        pull = pull * (np.linalg.norm(pull, axis=1, keepdims=True) / room)
        np.add.at(force, ends[:, 0], pull)
        np.add.at(force, ends[:, 1], -pull)
    length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
    step: NDArray[np.float64] = force / length * np.minimum(length, most)
    return step
