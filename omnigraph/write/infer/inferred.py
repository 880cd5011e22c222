"""Inferred: the schema of some data, and its rows, ready to be loaded."""

import pyarrow as pa

from omnigraph.errors import InputError, Json
from omnigraph.frozen import dataclass
from omnigraph.html import html_facts, notebook_part
from omnigraph.schema.compile import compile_schema
from omnigraph.write.infer.design import EdgeDesign, NodeDesign, design
from omnigraph.write.infer.kinds import InferredColumn
from omnigraph.write.infer.tables import tables_of


@dataclass(frozen=True, slots=True)
class Inferred:
    """A schema that fits some data; `frames` has the rows by type, as `load` takes them.

    `notes` say what had to be assumed.
    """

    schema: str
    frames: dict[str, pa.Table]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        rows = sum(each.num_rows for each in self.frames.values())
        return f"Inferred({len(self.frames)} types, {rows} rows)"

    def __str__(self) -> str:
        return "".join([self.schema, *(f"// {each}\n" for each in self.notes)])

    def _repr_html_(self) -> str:
        facts = [(name, f"{table.num_rows} rows") for name, table in self.frames.items()]
        return notebook_part(html_facts(repr(self), [*facts, ("schema", self.schema)]))

    def to_json(self) -> dict[str, Json]:
        """Return the schema, the numbers of rows by type, and the notes, as JSON."""
        rows: dict[str, Json] = {name: each.num_rows for name, each in self.frames.items()}
        return {"schema_source": self.schema, "rows": rows, "notes": list(self.notes)}


def infer(data: object) -> Inferred:
    """Return a schema for a file, a folder of files, a networkx graph, or frames by name.

    It has types, keys, nullability, enums, and edges for columns that point at keys. Raises
    InputError or UnreadableError for what cannot be read.
    """
    made = design(tables_of(data))
    if not made.nodes:
        raise InputError("there are no rows to infer a schema from")
    frames = {node.name: _nodes(node) for node in made.nodes}
    frames |= {edge.name: _edges(edge) for edge in made.edges}
    text = "\n".join([*map(_node_text, made.nodes), *map(_edge_text, made.edges)])
    compile_schema(text)
    return Inferred(text, frames, tuple(made.notes))


def _nodes(node: NodeDesign) -> pa.Table:
    columns = {name: each.values for name, each in node.columns.items()}
    return pa.table({"id": node.ids, **columns} if node.gives_ids else columns)


def _edges(edge: EdgeDesign) -> pa.Table:
    columns = {name: each.values for name, each in edge.columns.items()}
    return pa.table({"from": edge.ends[0], "to": edge.ends[1], **columns})


def _node_text(node: NodeDesign) -> str:
    lines = [
        f"  {_property(name, each)}{' @key' if name == node.key else ''}\n"
        for name, each in node.columns.items()
    ]
    return f"node {node.name} {{\n{''.join(lines)}}}\n"


def _edge_text(edge: EdgeDesign) -> str:
    head = f"edge {edge.name}: {edge.source} -> {edge.target}"
    lines = [f"  {_property(name, each)}\n" for name, each in edge.columns.items()]
    return f"{head} {{\n{''.join(lines)}}}\n" if lines else f"{head}\n"


def _property(name: str, column: InferredColumn) -> str:
    return f"{name}: {column.kind}{'?' if column.is_nullable else ''}"
