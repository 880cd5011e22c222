"""Finding: the tool that finds nodes by words, by meaning and by key."""

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.mcp.desk import ToolCall
from omnigraph.mcp.reading import Place, traversal
from omnigraph.mcp.table import Page
from omnigraph.mcp.tool import Arguments, Tool
from omnigraph.mcp.wording import to_line

if TYPE_CHECKING:
    from omnigraph.api.branch import Branch
    from omnigraph.read.hits import Hits, SearchHit

# How many hits are looked at for each that a predicate may leave, and how many times as many when
# it left too few of them.
_FILTERED = 10
_GROWTH = 5
# How many neighbours of one edge type and direction are listed for each hit that is wanted.
_NEIGHBOURS = 5


class SearchArguments(Arguments, frozen=True, kw_only=True):
    """What `search` takes."""

    text: str
    types: list[str] | None = None
    where: Annotated[str | None, Meta(description='.gq condition, as $n.status = "active"')] = None
    hops: Annotated[int, Meta(ge=0, le=2, description="also nodes so many edges off")] = 0
    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    branch: Place = None


def search(call: ToolCall, given: SearchArguments) -> str:
    """Return the nodes that fit best, and with hops what edges lead to from them."""
    view = call.view(call.graph.at(call.desk.to_read(given.branch)).place)
    hits, notes = _found(view, given)
    page = Page(["type", "id", "label", "score", "property", "excerpt"], call.desk.tokens)
    page.fill(
        [
            *(each.type, each.id, each.label, round(each.score, 5)),
            *(each.matched.property, each.matched.excerpt),
        ]
        for each in hits
    )
    text = page.text("hits", note="".join(f"; {each}" for each in (*notes, f"commit {view.place}")))
    if not given.hops or not hits:
        return text
    near = Page(["from", "hops", "edge", "type", "id"], call.desk.tokens)
    around = _Around(view, given)
    near.fill(around.reached([(each.type, each.id) for each in hits]))
    return f"{text}\n{near.text('neighbours', note=around.note)}"


def _found(view: "Branch", given: SearchArguments) -> "tuple[list[SearchHit], list[str]]":
    """Return the hits that are wanted, and what to say about them."""
    if given.where is None:
        found = view.search(given.text, types=given.types or (), limit=given.limit)
        is_full = len(found) == given.limit
        return list(found), [*_told(found), *_at_limit(given, is_full=is_full)]
    return _found_where(view, given, given.where)


def _found_where(
    view: "Branch", given: SearchArguments, where: str
) -> "tuple[list[SearchHit], list[str]]":
    """Return the best hits for which a predicate is true: so many, or all that there are.

    Ever more hits are looked at, up to as many as a search returns.
    """
    from omnigraph.api.operations.explore import MOST_HITS

    many = min(MOST_HITS, given.limit * _FILTERED)
    asked: set[tuple[str, str]] = set()
    kept: set[tuple[str, str]] = set()
    while True:
        found = view.search(given.text, types=given.types or (), limit=many)
        kept |= _filtered(view, [each for each in found if _node(each) not in asked], where)
        asked |= {_node(each) for each in found}
        hits = [each for each in found if _node(each) in kept][: given.limit]
        is_full, has_ended = len(hits) == given.limit, len(found) < many
        if is_full or has_ended or many == MOST_HITS:
            break
        many = min(MOST_HITS, many * _GROWTH)
    notes = [*_told(found), *_at_limit(given, is_full=is_full)]
    if not is_full and not has_ended:
        notes.append(f"only the best {many:,} hits were looked at, others may fit where too")
    return hits, notes


def _told(found: "Hits") -> list[str]:
    return [to_line(each) for each in found.notes]


def _at_limit(given: SearchArguments, *, is_full: bool) -> list[str]:
    return [f"limit {given.limit} reached, there may be more"] if is_full else []


def _node(hit: "SearchHit") -> tuple[str, str]:
    return hit.type, hit.id


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


@dataclass(slots=True)
class _Around:
    """What edges lead to from the hits, and of which edges not all were followed."""

    view: "Branch"
    given: SearchArguments
    cut: set[str] = field(default_factory=set)

    @property
    def note(self) -> str:
        """What to say about edges that were not followed."""
        if not self.cut:
            return ""
        return f"; not all along {', '.join(sorted(self.cut))}: raise limit or ask with query"

    def reached(self, best: list[tuple[str, str]]) -> Iterator[list[Json]]:
        """Yield nodes that edges lead to from the hits, nearest first."""
        known, catalog = set(best), self.view.catalog
        border = best
        for hop in range(1, self.given.hops + 1):
            found: list[tuple[str, str]] = []
            for edge in catalog.edges.values():
                for start, end, pattern in (
                    (edge.source, edge.target, f"$n $e:{traversal(edge)} $o"),
                    (edge.target, edge.source, f"$o $e:{traversal(edge)} $n"),
                ):
                    of = catalog.node_types(start) or ()
                    ids = [row_id for name, row_id in border if name in of]
                    for row in self._followed(edge.name, f"$n: {start} $o: {end} {pattern}", ids):
                        reached = (end, str(row["id"]))
                        if reached not in known:
                            known.add(reached)
                            found.append(reached)
                            yield [str(row["start"]), hop, edge.name, *reached]
            border = found

    def _followed(self, edge: str, pattern: str, ids: list[str]) -> list[dict[str, object]]:
        """Return the ends of edges from some nodes, and note when there are more of them."""
        if not ids:
            return []
        most = self.given.limit * _NEIGHBOURS
        source = (
            f"query near($ids: [String]) {{ match {{ {pattern} $n.id in $ids }}"
            f" return distinct {{ $n.id as start, $o.id as id }} limit {most + 1} }}"
        )
        rows = [dict(each) for each in self.view.query(source, {"ids": ids})]
        if len(rows) > most:
            self.cut.add(edge)
        return rows[:most]


TOOLS = (
    Tool(
        name="search",
        about="Find nodes by words, meaning and id; best first.",
        run=search,
        arguments=SearchArguments,
    ),
)
