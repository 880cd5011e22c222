"""Finding: the tool that finds nodes by words, by meaning and by key."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from omnigraph.errors import EmbeddingError, InputError, Json
from omnigraph.mcp.desk import ToolCall
from omnigraph.mcp.reading import Place, traversal
from omnigraph.mcp.table import Page
from omnigraph.mcp.tool import Arguments, Tool
from omnigraph.schema.catalog import Catalog, NodeType
from omnigraph.schema.types import STRING, EnumType, VectorType
from omnigraph.syntax.problems import suggest

# As in the ranking `rrf` of queries.
_K = 60
_LONGEST_EXCERPT = 160


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


@dataclass(frozen=True, slots=True)
class Ranking:
    """A way to find nodes of a type: what it compares, and a query that gives the best first."""

    property: str
    source: str


def search(call: ToolCall, given: SearchArguments) -> str:
    """Return the nodes that fit best, by all rankings together."""
    view = call.graph.at(call.desk.to_read(given.branch))
    reader, catalog = call.view(view.place), view.catalog
    scores: defaultdict[tuple[str, str], float] = defaultdict(float)
    told: dict[tuple[str, str], list[Json]] = {}
    notes = []
    for stored in _wanted(catalog, given.types):
        for ranking in _rankings(stored, given.where, given.limit):
            try:
                rows: Any = reader.query(ranking.source, {"text": given.text}).to_json()
            except EmbeddingError as failed:
                notes.append(f"; {stored.name}.{ranking.property} not searched: {failed.message}")
                continue
            for rank, row in enumerate(rows, start=1):
                found = (stored.name, str(row["id"]))
                scores[found] += 1 / (_K + rank)
                told.setdefault(found, [ranking.property, _excerpt(row["value"], given.text)])
    best = sorted(scores, key=lambda each: (-scores[each], each))[: given.limit]
    page = Page(["type", "id", "score", "property", "excerpt"], call.desk.tokens)
    page.fill([*each, round(scores[each], 5), *told[each]] for each in best)
    text = page.text("hits", note=f"{''.join(notes)}; commit {view.place}")
    if not given.hops or not best:
        return text
    near = Page(["from", "hops", "edge", "type", "id"], call.desk.tokens)
    near.fill(_reached(call, view.place, catalog, best, given))
    return f"{text}\n{near.text('neighbours')}"


def _wanted(catalog: Catalog, names: list[str] | None) -> Iterator[NodeType]:
    if names is None:
        yield from catalog.nodes.values()
        return
    for name in names:
        types = catalog.node_types(name)
        if types is None:
            known = [*catalog.nodes, *catalog.interfaces]
            raise InputError(f"no node type '{name}'", hint=suggest(name, known))
        yield from (catalog.nodes[each] for each in types)


def _rankings(stored: NodeType, where: str | None, limit: int) -> Iterator[Ranking]:
    """Yield a query for the ids, for each text, and for each vector that is made from a text."""
    match = f"$n: {stored.name}{'' if where is None else f' ({where})'}"
    yield Ranking(
        "id",
        f"query find($text: String) {{ match {{ {match} $n.id starts_with $text }}"
        f" return {{ $n.id as id, $n.id as value }} order {{ id }} limit {limit} }}",
    )
    for item in stored.properties.values():
        if item.type == STRING and not isinstance(item.type, EnumType):
            order, kept = f"bm25($n.{item.name}, $text)", f" search($n.{item.name}, $text)"
            value = f"$n.{item.name}"
        elif isinstance(item.type, VectorType) and item.embed is not None:
            order, kept, value = f"nearest($n.{item.name}, $text)", "", f"$n.{item.embed.source}"
        else:
            continue
        yield Ranking(
            item.name,
            f"query find($text: String) {{ match {{ {match}{kept} }}"
            f" return {{ $n.id as id, {value} as value }} order {{ {order} }} limit {limit} }}",
        )


def _reached(
    call: ToolCall,
    place: str,
    catalog: Catalog,
    best: list[tuple[str, str]],
    given: SearchArguments,
) -> Iterator[list[Json]]:
    """Yield nodes that edges lead to from the hits, nearest first."""
    known = set(best)
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
                for row in call.view(place).query(source, {"ids": ids}):
                    reached = (end, str(row["id"]))
                    if reached not in known:
                        known.add(reached)
                        found.append(reached)
                        yield [str(row["start"]), hop, edge.name, *reached]
        border = found


def _excerpt(value: object, text: str) -> str | None:
    """Return the part of a value around the first word that was asked for."""
    if value is None:
        return None
    whole = str(value)
    at = min(
        (p for w in text.split() if (p := whole.casefold().find(w.casefold())) >= 0), default=0
    )
    start = max(0, at - _LONGEST_EXCERPT // 4) if len(whole) > _LONGEST_EXCERPT else 0
    part = whole[start : start + _LONGEST_EXCERPT]
    return f"{'…' if start else ''}{part}{'…' if start + len(part) < len(whole) else ''}"


TOOLS = (
    Tool(
        name="search",
        about="Find nodes by words, meaning (where vectors are) and id; best first.",
        run=search,
        arguments=SearchArguments,
    ),
)
