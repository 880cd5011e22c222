"""Reading: the tools that read: schema, query, lint and get."""

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta
from msgspec.structs import asdict

from omnigraph.errors import Json, RowNotFoundError
from omnigraph.mcp.desk import ToolCall
from omnigraph.mcp.overview import describe
from omnigraph.mcp.table import Cursor, Page, question_of
from omnigraph.mcp.tool import Arguments, Tool
from omnigraph.mcp.wording import clip
from omnigraph.schema.catalog import EdgeType, find_type
from omnigraph.syntax.problems import suggest

if TYPE_CHECKING:
    from omnigraph.api.branch import Branch
    from omnigraph.read.neighbors import NeighborGroup

Place = Annotated[str | None, Meta(description="branch or commit; or main")]
Goes = Annotated[str | None, Meta(description="of the answer before")]
_SAMPLE = 5


class SchemaArguments(Arguments, frozen=True, kw_only=True):
    """What `schema` takes."""

    type: str | None = None
    branch: Place = None


class QueryArguments(Arguments, frozen=True, kw_only=True):
    """What `query` takes."""

    query: str
    name: str | None = None
    params: dict[str, Any] | None = None
    branch: Place = None
    cursor: Goes = None


class LintArguments(Arguments, frozen=True, kw_only=True):
    """What `lint` takes."""

    query: str
    branch: Place = None


class GetArguments(Arguments, frozen=True, kw_only=True):
    """What `get` takes."""

    type: str
    id: str
    branch: Place = None


def schema(call: ToolCall, given: SchemaArguments) -> str:
    """Return all types in few words, or all that is declared of one."""
    from omnigraph.schema.printer import declarations

    view = call.view(given.branch)
    if given.type is None:
        snapshot = view.snapshot
        counts = {name: state.row_count for name, state in snapshot.commit.tables.items()}
        return describe(snapshot.catalog, counts)
    known = declarations(view.catalog)
    if given.type not in known:
        find_type(given.type, view.catalog)  # raises, with the nearest name
    return clip(known[given.type].rstrip(), call.desk.tokens)


def query(call: ToolCall, given: QueryArguments) -> str:
    """Run a read, and return as many of its rows as fit."""
    question = question_of("query", asdict(given))
    cursor = Cursor.read(given.cursor, question)
    place = given.branch if cursor is None else cursor.commits[0]
    stream = call.view(place).stream(given.query, given.name, given.params or {})
    return rows_text(call, stream, question, cursor)


def rows_text(call: ToolCall, stream: Any, question: str, cursor: Cursor | None) -> str:  # noqa: ANN401
    """Return the rows of a query as a table, from a cursor on."""
    page = Page(stream.columns, call.desk.tokens, 0 if cursor is None else cursor.offset)
    page.fill_from(stream)
    commit = stream.commit or ""
    return page.text("rows", page.next(question, commit), f"; commit {commit}" if commit else "")


def lint(call: ToolCall, given: LintArguments) -> str:
    """Return what is wrong with queries, each with its place and what to write instead."""
    from omnigraph.query.lint import lint_queries

    report = lint_queries(given.query, call.view(given.branch).catalog)
    lines = [f"{len(report.results)} queries, {report.errors} errors, {report.warnings} warnings"]
    for each in report.findings:
        place, hint = "", ""
        if each.problem is not None and each.problem.span is not None:
            found = report.source.locate(each.problem.span.start)
            place = f" at {found.line}:{found.column}"
        if each.problem is not None and each.problem.hint is not None:
            hint = f"; hint: {each.problem.hint}"
        lines.append(f"{each.severity}[{each.code}]{place}: {each.message}{hint}")
    lines += [f"{each.name}: {each.kind}, {each.status}" for each in report.results]
    return clip("\n".join(lines), call.desk.tokens)


def get(call: ToolCall, given: GetArguments) -> str:
    """Return a row, and for a node what its edges lead to."""
    view = call.view(call.graph.at(call.desk.to_read(given.branch)).place)
    stored = find_type(given.type, view.catalog)
    if isinstance(stored, EdgeType):
        return _edge(call, view, stored, given.id)
    try:
        found = view.neighbors(given.type, given.id)
    except RowNotFoundError as missing:
        missing.hint = missing.hint or _near(view, stored.name, given.id)
        raise
    page = Page(["property", "value"], call.desk.tokens // 2)
    page.fill([name, value] for name, value in found.node.properties.items() if value is not None)
    edges = Page(["edge", "direction", "type", "edges", "ids"], call.desk.tokens // 2)
    edges.fill(
        [each.edge, each.direction, each.type, each.count, _first(view, given, each)]
        for each in found.groups
        if each.count
    )
    head = page.text("properties", note=f"; commit {view.place}")
    return f"{head}\n{edges.text('kinds of neighbours')}"


def _near(view: "Branch", name: str, node_id: str) -> str | None:
    """Return the id that was probably meant, of those that begin alike."""
    source = (
        f"query near($start: String) {{ match {{ $n: {name}  $n.id starts_with $start }}"
        " return { $n.id as id } limit 50 }"
    )
    known = view.query(source, {"start": node_id[:2]})
    return suggest(node_id, [str(each["id"]) for each in known])


def _first(view: "Branch", given: GetArguments, group: "NeighborGroup") -> list[Json]:
    """Return the ids of the first nodes that some edges lead to."""
    found = view.neighbors(
        given.type, given.id, edge=group.edge, direction=group.direction, limit=_SAMPLE
    )
    return [each.node.id for each in found]


def _edge(call: ToolCall, view: "Branch", stored: EdgeType, edge_id: str) -> str:
    source = (
        f"query one($id: String) {{ match {{ $a: {stored.source} $a $row:{traversal(stored)} $b"
        " $row.id = $id } return { $row.from as from, $row.to as to, $row as row } }"
    )
    rows: Any = view.query(source, {"id": edge_id}).to_json()
    if not rows:
        raise RowNotFoundError(f"no {stored.name} '{edge_id}'")
    (row,) = rows
    page = Page(["property", "value"], call.desk.tokens)
    values = {"from": row["from"], "to": row["to"], **row["row"]}
    page.fill([name, value] for name, value in values.items() if value is not None)
    return page.text("properties", note=f"; commit {view.place}")


def traversal(edge: EdgeType) -> str:
    """Return the name of an edge as a pattern writes it."""
    return edge.name[:1].lower() + edge.name[1:]


TOOLS = (
    Tool(
        name="schema",
        about="Types, keys, edges, enums and counts; with type, its declaration.",
        run=schema,
        arguments=SchemaArguments,
    ),
    Tool(
        name="query",
        about=(
            "Run a read in the .gq language (resource omnigraph://guide). Values go into params,"
            " never into the text."
        ),
        run=query,
        arguments=QueryArguments,
    ),
    Tool(
        name="lint",
        about="Check .gq text without running it.",
        run=lint,
        arguments=LintArguments,
    ),
    Tool(
        name="get",
        about="One node or edge by id, with its neighbours.",
        run=get,
        arguments=GetArguments,
    ),
)
