"""Diagram: the types of a schema as SVG, boxes in a circle joined by their edges."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from operator import attrgetter

from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.syntax.problems import shorten

_MOST_PROPERTIES = 7
_LONGEST_LINE = 28
_LINE, _HEAD, _WIDTH = 15, 24, 190
_MARGIN, _ABOVE, _BEND = 60, 24, 34


@dataclass(frozen=True, slots=True)
class _Box:
    """A node type in the drawing; x and y are its centre."""

    node: NodeType
    x: float
    y: float

    @property
    def lines(self) -> list[str]:
        """The lines below the name of the type."""
        shown = [
            shorten(f"{item.name}: {item.type}{'?' if item.nullable else ''}", _LONGEST_LINE)
            for item in self.node.properties.values()
        ]
        rest = len(shown) - _MOST_PROPERTIES
        return shown if rest <= 0 else [*shown[:_MOST_PROPERTIES], f"… {rest} more"]

    @property
    def height(self) -> float:
        return _HEAD + _LINE * len(self.lines) + 8

    def border(self, x: float, y: float) -> tuple[float, float]:
        """Return where a line from the centre to a point leaves the box."""
        across, down = x - self.x, y - self.y
        if not across and not down:
            return self.x, self.y
        part = min(
            (_WIDTH / 2) / abs(across) if across else math.inf,
            (self.height / 2) / abs(down) if down else math.inf,
        )
        return self.x + across * part, self.y + down * part


def draw_schema(catalog: Catalog, counts: Mapping[str, int]) -> str:
    """Return the types of a schema as SVG, with the number of rows of each."""
    boxes = _place_types(list(catalog.nodes.values()))
    if not boxes:
        return "<p>The schema has no node types.</p>"
    joined = attrgetter("source", "target")
    groups = [list(each) for _, each in groupby(sorted(catalog.edges.values(), key=joined), joined)]
    lines = [
        _draw_edge(boxes[edge.source], boxes[edge.target], edge, place)
        for group in groups
        for place, edge in enumerate(group)
    ]
    # A curve reaches half as far as its control point.
    beside = _BEND / 2 * max((len(group) for group in groups), default=1)
    left = min(box.x - _WIDTH / 2 for box in boxes.values()) - _ABOVE - beside
    top = min(box.y - box.height / 2 for box in boxes.values()) - _ABOVE - beside
    right = max(box.x + _WIDTH / 2 for box in boxes.values()) + _MARGIN + beside
    bottom = max(box.y + box.height / 2 for box in boxes.values()) + _ABOVE + beside
    drawn = [_draw_box(box, counts.get(box.node.identity, 0)) for box in boxes.values()]
    view = f"{left:.0f} {top:.0f} {right - left:.0f} {bottom - top:.0f}"
    size = f'width="{right - left:.0f}" height="{bottom - top:.0f}"'
    return (
        f'<svg class="diagram" viewBox="{view}" {size} role="img" aria-label="schema">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto-start-reverse"><path d="M0,0 L8,4 L0,8 z"/></marker></defs>'
        f"{''.join(lines)}{''.join(drawn)}</svg>"
    )


def _place_types(nodes: Sequence[NodeType]) -> dict[str, _Box]:
    """Return a box for every type, on an ellipse that is wide enough for all of them."""
    count = len(nodes)
    if count == 1:
        return {nodes[0].name: _Box(nodes[0], 0, 0)}
    across, down = max(190, 62 * count), max(130, 46 * count)
    turn, start = 2 * math.pi / max(count, 1), math.pi if count == 2 else -math.pi / 2
    return {
        node.name: _Box(
            node,
            across * math.cos(start + turn * place),
            down * math.sin(start + turn * place),
        )
        for place, node in enumerate(nodes)
    }


def _draw_box(box: _Box, count: int) -> str:
    left, top = box.x - _WIDTH / 2, box.y - box.height / 2
    first = top + _HEAD + _LINE - 3
    texts = "".join(
        f'<text class="property" x="{left + 8:.1f}" y="{first + _LINE * place:.1f}">'
        f"{escape(line)}</text>"
        for place, line in enumerate(box.lines)
    )
    return (
        f'<g class="type"><rect x="{left:.1f}" y="{top:.1f}" width="{_WIDTH}" '
        f'height="{box.height:.1f}" rx="5"/>'
        f'<text class="name" x="{left + 8:.1f}" y="{top + 17:.1f}">{escape(box.node.name)}</text>'
        f'<text class="count" x="{left + _WIDTH - 8:.1f}" y="{top + 17:.1f}">{count:,}</text>'
        f"{texts}</g>"
    )


def _draw_edge(source: _Box, target: _Box, edge: EdgeType, place: int) -> str:
    """Draw an edge type; several between the same types are bent apart."""
    if source is target:
        return _draw_loop(source, edge, place)
    middle_x, middle_y = (source.x + target.x) / 2, (source.y + target.y) / 2
    across, down = target.x - source.x, target.y - source.y
    length = math.hypot(across, down)
    bend = 26 + _BEND * place
    bent_x, bent_y = middle_x - down / length * bend, middle_y + across / length * bend
    from_x, from_y = source.border(bent_x, bent_y)
    to_x, to_y = target.border(bent_x, bent_y)
    path = f"M{from_x:.1f},{from_y:.1f} Q{bent_x:.1f},{bent_y:.1f} {to_x:.1f},{to_y:.1f}"
    label_x, label_y = (middle_x + bent_x) / 2, (middle_y + bent_y) / 2
    return _draw_line(path, edge, label_x, label_y)


def _draw_loop(box: _Box, edge: EdgeType, place: int) -> str:
    right, y = box.x + _WIDTH / 2, box.y - box.height / 2 + 20 + 26 * place
    path = f"M{right:.1f},{y - 8:.1f} c34,-22 34,38 0,16"
    return _draw_line(path, edge, right + 34, y - 12)


def _draw_line(path: str, edge: EdgeType, x: float, y: float) -> str:
    label = f'<text class="edge" x="{x:.1f}" y="{y:.1f}">{escape(edge.name)}</text>'
    return f'<path class="edge" d="{path}" marker-end="url(#tip)"/>{label}'
