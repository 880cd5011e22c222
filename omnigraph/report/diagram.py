"""Diagram: the types of a schema as SVG, boxes in layers joined by their edges."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from html import escape

from omnigraph.frozen import dataclass
from omnigraph.look.colours import colour_types
from omnigraph.look.words import counted
from omnigraph.notebook.picture import Picture
from omnigraph.report.layout import BOX_HEIGHT, BOX_WIDTH, Point, lay_out
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType
from omnigraph.syntax.problems import shorten
from omnigraph.versioning.snapshot import Snapshot

_LONGEST_NAME, _LONGEST_LABEL = 20, 26
_SHOWN_NAMES = 2
_BESIDE = 44
_LETTER, _LABEL_HEIGHT = 6.2, 13


@dataclass(frozen=True, slots=True)
class _Curve:
    """A line of the drawing, and where its label stands."""

    path: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class _Labels:
    """The labels that were placed: where their middles are, and how wide they are."""

    placed: list[tuple[float, float, float]] = field(default_factory=list)

    def place(self, text: str, x: float, y: float) -> float:
        """Return how high a label stands so that it covers no other, if a small step is enough."""
        width = len(text) * _LETTER
        steps = (step * _LABEL_HEIGHT for step in (0, 1, -1, 2, -2))
        found = next((y + step for step in steps if self._is_free(x, y + step, width)), y)
        self.placed.append((x, found, width))
        return found

    def _is_free(self, x: float, y: float, width: float) -> bool:
        return not any(
            abs(x - other_x) < (width + other) / 2 and abs(y - other_y) < _LABEL_HEIGHT
            for other_x, other_y, other in self.placed
        )


def draw_schema(catalog: Catalog, counts: Mapping[str, int]) -> str:
    """Return the types of a schema as SVG, with the number of rows of each.

    One line stands for all edge types between the same two node types.
    """
    if not catalog.nodes:
        return "<p>The schema has no node types.</p>"
    lines = _bundle(catalog)
    layout = lay_out(list(catalog.nodes), lines)
    colours = colour_types(catalog.nodes, catalog.edges)
    labels = _Labels()
    drawn = [
        _draw_edge(
            ends,
            edges,
            _curve(layout.boxes[ends[0]], layout.boxes[ends[1]], layout.bends.get(ends)),
            labels,
        )
        for ends, edges in lines.items()
    ]
    boxes = [
        _draw_box(node, layout.boxes[name], counts.get(node.identity, 0), colours[name])
        for name, node in catalog.nodes.items()
    ]
    about = f"{len(catalog.nodes)} node types and {len(catalog.edges)} edge types"
    # Larger than it is drawn it would be loud; below a part of it, it could not be read.
    size = f"width:{layout.width * 1.1:.0f}px;min-width:{layout.width * 0.62:.0f}px"
    return (
        f'<svg class="diagram" viewBox="0 0 {layout.width:.0f} {layout.height:.0f}" '
        f'style="{size}" role="img" aria-label="{about}">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto-start-reverse"><path d="M0 1 7 4 0 7z"/></marker></defs>'
        f"{''.join(drawn)}{''.join(boxes)}</svg>"
    )


def picture_schema(snapshot: Snapshot) -> Picture:
    """Return the types of a snapshot as a picture for notebooks, each with its properties."""
    catalog = snapshot.catalog
    counts = {key: state.row_count for key, state in snapshot.commit.tables.items()}
    kinds = (counted(len(catalog.nodes), "node type"), counted(len(catalog.edges), "edge type"))
    title = f"Schema: {' and '.join(kinds)}"
    details = {name: _properties(node) for name, node in catalog.nodes.items()}
    return Picture(title, draw_schema(catalog, counts), details, ("diagram",))


def _properties(node: NodeType) -> dict[str, str]:
    return {
        name: f"{each.type}{'?' if each.nullable else ''}" for name, each in node.properties.items()
    }


def _bundle(catalog: Catalog) -> dict[tuple[str, str], list[EdgeType]]:
    """Return the edge types between each two node types; an interface stands for all of its own."""
    lines: dict[tuple[str, str], list[EdgeType]] = {}
    for edge in catalog.edges.values():
        for source in _members(catalog, edge.source):
            for target in _members(catalog, edge.target):
                lines.setdefault((source, target), []).append(edge)
    return lines


def _members(catalog: Catalog, name: str) -> Sequence[str]:
    return (name,) if name in catalog.nodes else catalog.nodes_by_interface.get(name, ())


def _draw_box(node: NodeType, at: Point, count: int, colour: int) -> str:
    stripe = f"M3 0h3v{BOX_HEIGHT}h-3a3 3 0 0 1-3-3v-{BOX_HEIGHT - 6}a3 3 0 0 1 3-3"
    about = f"{counted(count, 'node')} · {counted(len(node.properties), 'property')}"
    return (
        f'<g class="box" data-colour="{colour}" data-node="{escape(node.name)}" '
        f'transform="translate({at.x:.1f} {at.y:.1f})">'
        f'<rect width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/>'
        f'<path class="stripe" d="{stripe}"/>'
        f'<text class="name" x="16" y="20">{escape(shorten(node.name, _LONGEST_NAME))}</text>'
        f'<text class="about" x="16" y="37">{about}</text>'
        f"<title>{escape(node.description or node.name)}</title></g>"
    )


def _curve(start: Point, end: Point, bends: Sequence[Point] | None) -> _Curve:
    """Return a smooth line from one box to another through the gaps that the layout kept for it."""
    if start == end:
        x = start.x + BOX_WIDTH - 42
        return _Curve(f"M{x:.1f} {start.y:.1f}c0-17 28-17 28 0", x + 14, start.y - 15)
    is_forward, is_beside = end.x > start.x, end.x == start.x
    side = 1 if is_forward or is_beside else -1
    middle = BOX_HEIGHT / 2 + (-6 if is_forward else 6)
    x, y = (start.x + BOX_WIDTH if side > 0 else start.x), start.y + middle
    end_x, end_y = (end.x if is_forward else end.x + BOX_WIDTH), end.y + middle
    path = f"M{x:.1f} {y:.1f}"
    for bend in bends or ():
        # Straight through the whole width of a column, so that the line stays between its boxes.
        before, after = bend.x - side * BOX_WIDTH / 2, bend.x + side * BOX_WIDTH / 2
        half = (before + x) / 2
        path += f"C{half:.1f} {y:.1f} {half:.1f} {bend.y:.1f} {before:.1f} {bend.y:.1f}"
        path += f"L{after:.1f} {bend.y:.1f}"
        x, y = after, bend.y
    reach = _BESIDE if is_beside else abs(end_x - x) / 2
    first, second = x + side * reach, end_x + (-reach if is_forward else reach)
    path += f"C{first:.1f} {y:.1f} {second:.1f} {end_y:.1f} {end_x:.1f} {end_y:.1f}"
    if bends:
        label = bends[(len(bends) - 1) // 2]
        return _Curve(path, label.x, label.y - 4)
    return _Curve(path, (x + 3 * first + 3 * second + end_x) / 8, (y + end_y) / 2 - 4)


def _draw_edge(
    ends: tuple[str, str], edges: Sequence[EdgeType], curve: _Curve, labels: _Labels
) -> str:
    names = [edge.name for edge in edges]
    shown = shorten(", ".join(names[:_SHOWN_NAMES]), _LONGEST_LABEL)
    shown += f" +{len(names) - _SHOWN_NAMES}" if len(names) > _SHOWN_NAMES else ""
    y = labels.place(shown, curve.x, curve.y)
    whole = f"{ends[0]} → {ends[1]}: {', '.join(names)}"
    return (
        f'<g class="edge" data-source="{escape(ends[0])}" data-target="{escape(ends[1])}">'
        f'<path d="{curve.path}" marker-end="url(#tip)"/>'
        f'<text x="{curve.x:.1f}" y="{y:.1f}">{escape(shown)}</text>'
        f"<title>{escape(whole)}</title></g>"
    )
