"""Finding: the tool that finds nodes by words, by meaning and by key."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from omnigraph.errors import Json
from omnigraph.mcp.desk import ToolCall
from omnigraph.mcp.reading import Place, traversal
from omnigraph.mcp.table import Page
from omnigraph.mcp.tool import Arguments, Tool
from omnigraph.mcp.wording import to_line

if TYPE_CHECKING:
    from omnigraph.api.branch import Branch
    from omnigraph.read.hits import SearchHit

# How many hits are looked at for each that a predicate may leave.
_FILTERED = 10


class SearchArguments(Arguments, frozen=True, kw_only=True):
    """What `search` takes."""

    text: str
    types: list[str] | None = None
    where: Annotated[
        str | None, Meta(description='.gq predicate on $n, e.g. $n.status = "active"')
    ] = None
    hops: Annotated[int, Meta(ge=0, le=2, description="also nodes so many edges away")] = 0
    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    branch: Place = None


def search(call: ToolCall, given: SearchArguments) -> str:
    """Return the nodes that fit best, and with hops what edges lead to from them."""
    from omnigraph.api.operations.explore import MOST_HITS

    view = call.view(call.graph.at(call.desk.to_read(given.branch)).place)
    many = given.limit if given.where is None else min(MOST_HITS, given.limit * _FILTERED)
    found = view.search(given.text, types=given.types or (), limit=many)
    hits = list(found)
    if given.where is not None:
        kept = _filtered(view, hits, given.where)
        hits = [each for each in hits if (each.type, each.id) in kept][: given.limit]
    page = Page(["type", "id", "label", "score", "property", "excerpt"], call.desk.tokens)
    page.fill(
        [
            *(each.type, each.id, each.label, round(each.score, 5)),
            *(each.matched.property, each.matched.excerpt),
        ]
        for each in hits
    )
    notes = "".join(f"; {to_line(each)}" for each in found.notes)
    text = page.text("hits", note=f"{notes}; commit {view.place}")
    if not given.hops or not hits:
        return text
    near = Page(["from", "hops", "edge", "type", "id"], call.desk.tokens)
    near.fill(_reached(view, [(each.type, each.id) for each in hits], given))
    return f"{text}\n{near.text('neighbours')}"


def _filtered(view: "Branch", hits: "list[SearchHit]", where: str) -> set[tuple[str, str]]:
    """Return the hits for which a predicate is true."""
    kept: set[tuple[str, str]] = set()
    for name in sorted({each.type for each in hits}):
        source = (
            f"query kept($ids: [String]) {{ match {{ $n: {name}  $n.id in $ids  ({where}) }}"
            " return { $n.id as id } }"
        )
        ids = [each.id for each in hits if each.type == name]
        kept |= {(name, str(row["id"])) for row in view.query(source, {"ids": ids})}
    return kept


def _reached(
    view: "Branch", best: list[tuple[str, str]], given: SearchArguments
) -> Iterator[list[Json]]:
    """Yield nodes that edges lead to from the hits, nearest first."""
    known, catalog = set(best), view.catalog
    border = best
    for hop in range(1, given.hops + 1):
        found: list[tuple[str, str]] = []
        for edge in catalog.edges.values():
            for start, end, pattern in (
                (edge.source, edge.target, f"$n $e:{traversal(edge)} $o"),
                (edge.target, edge.source, f"$o $e:{traversal(edge)} $n"),
            ):
                of = catalog.node_types(start) or ()
                ids = [row_id for name, row_id in border if name in of]
                if not ids:
                    continue
                source = (
                    f"query near($ids: [String]) {{ match {{ $n: {start} $o: {end} {pattern}"
                    " $n.id in $ids } return distinct { $n.id as start, $o.id as id }"
                    f" limit {given.limit * 5} }}"
                )
                for row in view.query(source, {"ids": ids}):
                    reached = (end, str(row["id"]))
                    if reached not in known:
                        known.add(reached)
                        found.append(reached)
                        yield [str(row["start"]), hop, edge.name, *reached]
        border = found


TOOLS = (
    Tool(
        name="search",
        about="Find nodes by words, meaning (where vectors are) and id; best first.",
        run=search,
        arguments=SearchArguments,
    ),
)
