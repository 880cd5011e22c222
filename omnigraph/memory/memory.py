"""Memory: facts are remembered, recalled and ended, and contradictions found."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from omnigraph.api.graph import Graph
from omnigraph.api.view import View
from omnigraph.errors import EmbeddingError, HeadMovedError, InputError, RowNotFoundError
from omnigraph.memory import names, queries
from omnigraph.memory.change import Change
from omnigraph.memory.facts import Contradiction, Fact, Recalled, Remembered
from omnigraph.memory.new_fact import NewFact
from omnigraph.memory.queries import Row
from omnigraph.memory.shape import FACT, SAID_IN, SOURCE, MemoryShape, lacking
from omnigraph.syntax.problems import shorten
from omnigraph.versioning.names import MAIN

if TYPE_CHECKING:
    from threading import Event

T = TypeVar("T")
MOST_FACTS = 100
# How often a fact is noted or ended anew when others wrote to the branch meanwhile.
_ATTEMPTS = 10
# Facts that are looked at for each one that is wanted: how new they are may put others first.
_CANDIDATES = 8


class Memory:
    """What a branch of a graph remembers; its schema has to have the types for it.

    `MemoryShape` says which these are; `omnigraph example memory` has a schema to begin with.
    """

    def __init__(
        self,
        graph: Graph,
        branch: str = MAIN,
        *,
        message: str | None = None,
        cancelled: "Event | None" = None,
    ) -> None:
        self._graph = graph
        self._branch = branch
        self._message = message
        self._cancelled = cancelled

    def __repr__(self) -> str:
        return f"Memory({self._branch!r})"

    def remember(
        self,
        text: str,
        *,
        about: str | Sequence[str],
        source: str,
        since: date | None = None,
        until: date | None = None,
        attribute: str | None = None,
        value: str | None = None,
        aliases: Mapping[str, Sequence[str]] | None = None,
        replaces: str | Sequence[str] = (),
    ) -> Remembered:
        """Note a fact with its source as one commit, and return what it contradicts.

        Entities and the source are found by id and by name, and made where there are none. A fact
        that is known gets one source more. Contradictions are returned and not refused: facts that
        are named in `replaces` end where this one begins.
        """
        given = NewFact(
            text=text,
            about=_listed(about),
            source=source,
            since=since or today(),
            until=until,
            attribute=attribute,
            value=value,
            aliases=dict(aliases or {}),
            replaces=_listed(replaces),
        )
        return _repeated(lambda: self._remember(given))

    def recall(
        self,
        question: str | None = None,
        *,
        about: str | Sequence[str] = (),
        on: date | None = None,
        limit: int = 10,
    ) -> Recalled:
        """Return facts that were true on a day, by default today, best first.

        They are ranked by words and meaning, and how new they are counts as much as one of these
        rankings. Without a question they come newest first, and then `about` has to name an entity.
        """
        if not isinstance(limit, int) or not 1 <= limit <= MOST_FACTS:
            raise InputError(f"a limit is a whole number from 1 to {MOST_FACTS}, not {limit!r}")
        wanted = question.strip() if question is not None else ""
        if not wanted and not about:
            raise InputError("ask a question, or name an entity", hint="give `question` or `about`")
        view, shape = self._pinned()
        asked: dict[str, Any] = {"on": on or today()}
        if about:
            asked["ids"] = [names.known_entity(view, each).id for each in _listed(about)]
        if not wanted:
            text = queries.recall(shape, searched=None, is_limited=True, most=limit)
            return Recalled(_facts(view, queries.rows_of(view, text, **asked)), view.place)
        return self._search(view, shape, asked | {"question": wanted}, limit)

    def contradictions(self, *, limit: int = 50) -> list[Contradiction]:
        """Return facts that give one attribute of an entity different values at one time.

        At most so many are returned.
        """
        view, shape = self._pinned()
        if not shape.has_claims:
            return []
        rows = queries.rows_of(view, queries.contradictions(limit))
        return [
            Contradiction(
                entity=each["entity"],
                attribute=each["attribute"],
                one=_fact(each, each["attribute"], "a_"),
                other=_fact(each, each["attribute"], "b_"),
            )
            for each in rows
        ]

    def end(self, fact: str, *, until: date | None = None) -> str | None:
        """Say that a fact is true only before a day, by default today; return the commit.

        It stays for questions about earlier days. Raises RowNotFoundError for an unknown fact.
        """
        last = until or today()
        return _repeated(lambda: self._end(fact, last))

    def _end(self, fact: str, last: date) -> str | None:
        view, shape = self._pinned()
        _times(view, [fact], last)
        change = Change(shape)
        change.end(fact, last)
        return self._mutate(view, change)

    def _pinned(self) -> tuple[View, MemoryShape]:
        """Return the branch where it stands; raise InputError where it holds no memory."""
        view = self._graph.at(self._branch, cancelled=self._cancelled)
        shape = MemoryShape.of(view.catalog)
        if shape is None:
            lacks = next(lacking(view.catalog))
            raise InputError(
                f"the schema holds no memory: it lacks {lacks}",
                hint="`omnigraph example memory` has a schema with all of it",
            )
        return view, shape

    def _search(
        self, view: View, shape: MemoryShape, asked: Mapping[str, Any], limit: int
    ) -> Recalled:
        """Return the facts that answer a question, by words alone where no vector can be had."""

        def candidates(*, by_meaning: bool) -> list[Row]:
            searched = queries.ranking(shape, by_meaning=by_meaning)
            text = queries.recall(
                shape, searched=searched, is_limited="ids" in asked, most=limit * _CANDIDATES
            )
            return queries.rows_of(view, text, **asked)

        notes: list[str] = []
        is_fused = shape.vector is not None
        try:
            rows = candidates(by_meaning=True)
        except EmbeddingError as failed:
            is_fused = False
            notes.append(f"nothing was searched by meaning: {failed.message}")
            rows = candidates(by_meaning=False)
        best = _by_recency(rows, is_fused=is_fused)[:limit]
        return Recalled(_facts(view, best), view.place, tuple(notes))

    def _remember(self, given: NewFact) -> Remembered:
        view, shape = self._pinned()
        given.check(shape)
        entities, twins = names.entities_of(view, given)
        ids = [each.id for each in entities]
        source = names.find_source(view, given.source)
        source_id = source or names.free_id(view, SOURCE, given.source)
        known = _same_fact(view, shape, given, ids)
        fact = names.free_id(view, FACT, given.text) if known is None else str(known["id"])
        begin = given.since if known is None else known["since"]
        replaced = [each for each in given.replaces if each != fact]
        ended = _going_on(view, replaced, begin)
        change = Change(shape)
        change.entities(entities)
        if source is None:
            change.insert(SOURCE, {shape.source_key: source_id, "title": given.source})
        if known is None:
            change.fact(given, fact, ids)
        elif given.until is not None:
            change.end(fact, given.until)
        if known is None or source_id not in known["sources"]:
            change.insert(SAID_IN, {"from": fact, "to": source_id})
        for each in ended:
            change.end(each, begin)
        against = _against(view, given, ids, fact)
        new = [each.id for each in entities if each.is_new]
        return Remembered(
            branch=self._branch,
            fact=fact,
            commit=self._mutate(view, change),
            is_new=known is None,
            entities=tuple(ids),
            source=source_id,
            new=(*new, *([source_id] if source is None else [])),
            ended=tuple(ended),
            contradictions=tuple(each for each in against if each.other.id not in replaced),
            twins=tuple(twins),
        )

    def _mutate(self, view: View, change: "Change") -> str | None:
        """Publish a change on top of what was read; return the commit."""
        if not change.statements:
            return None
        branch = self._graph.branch(
            self._branch, message=self._message, expect=view.place, cancelled=self._cancelled
        )
        receipt = branch.mutate(change.text, change.values)
        return None if receipt.commit is None else receipt.commit.id


def _repeated(change: Callable[[], T]) -> T:
    """Return what a change returns; one that lost a race is made again on what is known by then."""
    for _ in range(_ATTEMPTS - 1):
        with suppress(HeadMovedError):
            return change()
    return change()


def today() -> date:
    """Return the day that it is, in UTC."""
    return datetime.now(UTC).date()


def _listed(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(dict.fromkeys(given))


def _facts(view: View, rows: Sequence[Row]) -> tuple[Fact, ...]:
    """Return the facts of rows, with what they are about and where they were said."""
    found = queries.rows_of(view, queries.LINKS, ids=[each["id"] for each in rows])
    links = {each["id"]: each for each in found}
    return tuple(
        Fact(
            id=each["id"],
            text=each["text"],
            since=each["since"],
            until=each["until"],
            attribute=each.get("attribute"),
            value=each.get("value"),
            about=tuple(links[each["id"]]["about"]),
            sources=tuple(links[each["id"]]["sources"]),
        )
        for each in rows
    )


def _by_recency(rows: Sequence[Row], *, is_fused: bool) -> list[Row]:
    """Return facts with how new they are counted as one more ranking; the best come first.

    Scores that are not those of a fusion only say the order.
    """
    days = sorted({row["since"] for row in rows}, reverse=True)
    newness = {day: 1 / (queries.DAMPING + rank) for rank, day in enumerate(days, 1)}
    scores = [
        newness[row["since"]] + (row["score"] if is_fused else 1 / (queries.DAMPING + rank))
        for rank, row in enumerate(rows, 1)
    ]
    best = sorted(range(len(rows)), key=lambda at: -scores[at])
    return [rows[at] for at in best]


def _same_fact(view: View, shape: MemoryShape, given: NewFact, about: list[str]) -> Row | None:
    """Return the fact that says the same of the same entities then; None where there is none."""
    for row in queries.rows_of(view, queries.same(shape), text=given.text, on=given.since):
        claims = (row.get("attribute"), row.get("value"))
        if set(row["about"]) == set(about) and claims == (given.attribute, given.value):
            return row
    return None


def _going_on(view: View, facts: Iterable[str], day: date) -> list[str]:
    """Return those of some facts that have not ended on a day; raise for those that begin later."""
    times = _times(view, facts, day)
    return [each for each in facts if (end := times[each]["until"]) is None or end > day]


def _times(view: View, facts: Iterable[str], until: date) -> dict[str, Row]:
    """Return when some facts are true.

    Raise for those that are not there, and for those that begin later than they would end.
    """
    rows = queries.rows_of(view, queries.TIMES, ids=list(facts))
    found = {str(each["id"]): each for each in rows}
    for fact in facts:
        if fact not in found:
            raise RowNotFoundError(f"no {FACT} '{shorten(fact)}'")
        if (begin := found[fact]["since"]) > until:
            raise InputError(f"{FACT} '{shorten(fact)}' begins after {until}, on {begin}")
    return found


def _against(view: View, given: NewFact, about: list[str], fact: str) -> list[Contradiction]:
    """Return what a new fact contradicts."""
    if given.attribute is None or given.value is None:
        return []
    rows = queries.rows_of(
        view,
        queries.AGAINST,
        ids=about,
        attribute=given.attribute,
        value=given.value,
        fact=fact,
        since=given.since,
        until=given.until,
    )
    own = Fact(
        id=fact,
        text=given.text,
        since=given.since,
        until=given.until,
        attribute=given.attribute,
        value=given.value,
    )
    return [
        Contradiction(
            entity=each["entity"],
            attribute=given.attribute,
            one=own,
            other=_fact(each, given.attribute),
        )
        for each in rows
    ]


def _fact(row: Row, attribute: str, prefix: str = "") -> Fact:
    """Return a fact of a row that has its columns under a prefix."""
    names_of = ("id", "text", "since", "until", "value")
    return Fact(attribute=attribute, **{name: row[prefix + name] for name in names_of})
