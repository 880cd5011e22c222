"""Reading: the tools that read: schema, query, lint and get."""

from collections.abc import Iterator
from typing import Annotated, Any

from msgspec import Meta
from msgspec.structs import asdict

from omnigraph.errors import Json, RowNotFoundError
from omnigraph.mcp.desk import ToolCall
from omnigraph.mcp.overview import describe
from omnigraph.mcp.table import Cursor, Page, question_of
from omnigraph.mcp.tool import Arguments, Tool
from omnigraph.mcp.wording import clip, to_line
from omnigraph.schema.catalog import Catalog, EdgeType, StoredType, find_type
from omnigraph.schema.printer import declarations
from omnigraph.syntax.problems import suggest

Place = Annotated[str | None, Meta(description="branch, tag or commit; default main")]
Goes = Annotated[str | None, Meta(description="of the answer before, to go on")]
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
    view = call.graph.at(call.desk.to_read(given.branch))
    catalog = view.catalog
    stored = find_type(given.type, catalog)
    found = call.view(view.place).query(_row_query(stored), {"id": given.id})
    if not len(found):
        raise RowNotFoundError(f"no {given.type} '{given.id}'", hint=_near(call, stored, given.id))
    row: Any = found.to_json()[0]
    page = Page(["property", "value"], call.desk.tokens // 2)
    page.fill([name, value] for name, value in row["row"].items() if value is not None)
    ends = "" if "from" not in row else f" from {to_line(row['from'])} to {to_line(row['to'])}"
    head = page.text("properties", note=f"; commit {found.commit}{ends}")
    if isinstance(stored, EdgeType):
        return head
    edges = Page(["edge", "direction", "type", "edges", "ids"], call.desk.tokens // 2)
    edges.fill(_neighbours(call, view.place, catalog, stored.name, given.id))
    return f"{head}\n{edges.text('kinds of neighbours')}"


def traversal(edge: EdgeType) -> str:
    """Return the name of an edge as a pattern writes it."""
    return edge.name[:1].lower() + edge.name[1:]


def _row_query(stored: StoredType) -> str:
    if isinstance(stored, EdgeType):
        pattern = f"$a: {stored.source} $a $row:{traversal(stored)} $b"
        ends = ", $row.from as from, $row.to as to"
    else:
        pattern, ends = f"$row: {stored.name}", ""
    return (
        f"query one($id: String) {{ match {{ {pattern} $row.id = $id }}"
        f" return {{ $row as row{ends} }} }}"
    )


def _near(call: ToolCall, stored: StoredType, row_id: str) -> str | None:
    """Return the id that was probably meant, of those with the same beginning."""
    if isinstance(stored, EdgeType) or not row_id:
        return None
    source = (
        f"query near($start: String) {{ match {{ $n: {stored.name} $n.id starts_with $start }}"
        " return { $n.id as id } limit 50 }"
    )
    known = call.view(None).query(source, {"start": row_id[:2]})
    return suggest(row_id, [str(each["id"]) for each in known])


def _neighbours(
    call: ToolCall, place: str, catalog: Catalog, name: str, row_id: str
) -> Iterator[list[Json]]:
    """Yield for each kind of edges at a node how many there are, and the first of their ends."""
    for edge in catalog.edges.values():
        for direction, other in _directions(catalog, edge, name):
            name_in = traversal(edge)
            ends = f"$n $e:{name_in} $o" if direction == "out" else f"$o $e:{name_in} $n"
            types = f"$n: {name} $o: {other}"
            match = f"match {{ {types} {ends} $n.id = $id }}"
            source = (
                f"query some($id: String) {{ {match} return {{ $o.id as id }} limit {_SAMPLE} }}\n"
                f"query all($id: String) {{ {match} return {{ count(*) as n }} }}"
            )
            view = call.view(place)
            ids: list[Json] = [str(each["id"]) for each in view.query(source, "some", id=row_id)]
            if not ids:
                continue
            count: Any = len(ids)
            if len(ids) == _SAMPLE:
                count = view.query(source, "all", id=row_id)[0]["n"]
            yield [edge.name, direction, other, count, ids]


def _directions(catalog: Catalog, edge: EdgeType, name: str) -> Iterator[tuple[str, str]]:
    if name in (catalog.node_types(edge.source) or ()):
        yield "out", edge.target
    if name in (catalog.node_types(edge.target) or ()):
        yield "in", edge.source


TOOLS = (
    Tool(
        name="schema",
        about="Types, keys, edges, enums and row counts; with type, its whole declaration.",
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
        about="Check .gq text without running it: errors with line, column and hint.",
        run=lint,
        arguments=LintArguments,
    ),
    Tool(
        name="get",
        about="One node or edge by id, with the kinds and first ids of its neighbours.",
        run=get,
        arguments=GetArguments,
    ),
)
