"""Graph picture: the nodes and edges of query rows as a picture for notebooks."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from html import escape
from itertools import pairwise

import pyarrow as pa

from omnigraph.frozen import dataclass
from omnigraph.look.colours import COLOURS
from omnigraph.look.words import counted
from omnigraph.notebook.drawing import MOST_NODES, DrawnEdge, DrawnNode, draw_graph
from omnigraph.notebook.picture import Picture
from omnigraph.schema.values import to_json_value

_LABELS = ("name", "title", "label")
_LONGEST = 2_000

Row = Mapping[str, object]


@dataclass(slots=True)
class _Collected:
    """Nodes and edges as rows bring them; nodes past a bound are counted and not drawn.

    A node is known by its id and its group: the columns whose nodes have the same properties.
    """

    nodes: dict[str, DrawnNode] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], DrawnEdge] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)

    def add(self, group: int, name: object, row: Row | None) -> str:
        """Note a node and return its key; what is known of it stays known."""
        key = f"{group} {name}"
        known = self.nodes.get(key)
        if known is not None and (known.details or row is None):
            return key
        if known is None and len(self.nodes) >= MOST_NODES:
            self.left_out.add(key)
            return key
        self.nodes[key] = DrawnNode(key, _label(name, row), group % COLOURS, _details(row))
        return key

    def join(self, source: str, target: str, label: str, *, is_loose: bool = False) -> None:
        """Note an edge between two keys."""
        self.edges.setdefault((source, target, label), DrawnEdge(source, target, label, is_loose))

    def picture(self, title: str, groups: Sequence[str]) -> Picture:
        """Return the picture of what was collected, with a legend and what is left out."""
        nodes = list(self.nodes.values())
        edges = [
            each
            for each in self.edges.values()
            if each.source in self.nodes and each.target in self.nodes
        ]
        if not nodes:
            return Picture(title, '<p class="soft">no nodes</p>')
        legend = " ".join(
            f'<span class="type" data-colour="{place % COLOURS}">{escape(name)}</span>'
            for place, name in enumerate(groups)
        )
        said = f"{counted(len(nodes), 'node')}, {counted(len(edges), 'edge')}"
        if self.left_out:
            said += f"; {counted(len(self.left_out), 'more node')} not drawn"
        if any(each.is_loose for each in edges):
            said += "; dotted lines join what stands in one row"
        below = f'<p class="soft small">{escape(said)}</p>'
        details = {node.key: node.details for node in nodes if node.details}
        drawn = f"<p>{legend}</p>{draw_graph(nodes, edges)}{below}"
        return Picture(title, drawn, details, ("diagram",))


def picture_entities(title: str, table: pa.Table) -> Picture | None:
    """Return the nodes and edges that rows hold as a picture; None if they hold no whole node."""
    columns = {each.name: each.type for each in table.schema if _is_entity(each.type)}
    edges = {name: kind for name, kind in columns.items() if _is_edge(kind)}
    shapes: dict[pa.DataType, list[str]] = {}
    for name, kind in columns.items():
        if name not in edges:
            shapes.setdefault(kind, []).append(name)
    if not shapes and not edges:
        return None
    groups = {name: place for place, names in enumerate(shapes.values()) for name in names}
    found = _Collected()
    for row in table.select(list(columns)).to_pylist():
        keys = {
            name: found.add(group, row[name]["id"], row[name])
            for name, group in groups.items()
            if row[name] is not None
        }
        for name in edges:
            if row[name] is not None:
                ends = _ends(row, keys, row[name], found, len(shapes))
                found.join(*ends, _edge_label(name, row[name]))
        if not edges:
            for one, other in _neighbours(list(keys.values())):
                found.join(one, other, "same row", is_loose=True)
    legend = [", ".join(names) for names in shapes.values()]
    return found.picture(title, legend)


def picture_pairs(title: str, table: pa.Table, source: str, target: str) -> Picture:
    """Return rows as a picture, with an edge between the values of two columns."""
    found = _Collected()
    rest = [name for name in table.column_names if name not in (source, target)]
    for row in table.to_pylist():
        one, other = (found.add(0, _text(row[name]), None) for name in (source, target))
        found.join(one, other, ", ".join(f"{name}: {_text(row[name])}" for name in rest))
    return found.picture(title, [f"{source} → {target}"])


def _is_entity(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind)) and kind.get_field_index("id") >= 0


def _is_edge(kind: pa.DataType) -> bool:
    return all(kind.get_field_index(end) >= 0 for end in ("from", "to"))


def _ends(
    row: Mapping[str, Row | None],
    keys: Mapping[str, str],
    edge: Row,
    found: _Collected,
    unknown: int,
) -> tuple[str, str]:
    """Return the keys of the nodes that an edge joins: those of its row, or bare ones.

    Two nodes of a row with one id are of two types: the edge leads from the first to the last.
    """
    near = [
        [keys[name] for name in keys if (row[name] or {}).get("id") == edge[end]]
        for end in ("from", "to")
    ]
    source = near[0][0] if near[0] else found.add(unknown, edge["from"], None)
    target = near[1][-1] if near[1] else found.add(unknown, edge["to"], None)
    return source, target


def _neighbours(keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    return ((one, other) for one, other in pairwise(keys) if one != other)


def _label(name: object, row: Row | None) -> str:
    named = (row or {}).get(next((each for each in _LABELS if (row or {}).get(each)), ""))
    return str(named if isinstance(named, str) else name)


def _edge_label(name: str, edge: Row) -> str:
    shown = (
        f"{key}: {_text(value)}"
        for key, value in edge.items()
        if key not in ("id", "from", "to") and value is not None
    )
    return ", ".join([name, *shown])


def _details(row: Row | None) -> dict[str, str]:
    return {key: _text(value) for key, value in (row or {}).items() if value is not None}


def _text(value: object) -> str:
    plain = to_json_value(value)
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text):,} characters)"
