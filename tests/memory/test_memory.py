"""Memory: facts are noted with sources and times, recalled, ended, and contradictions shown."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from omnigraph.api.graph import Graph, init
from omnigraph.errors import HeadMovedError, InputError, RowNotFoundError
from omnigraph.memory import Memory, MemoryShape
from omnigraph.schema.compile import compile_schema
from tests.templates import fresh_graph

EXAMPLE = Path(__file__).parents[2] / "omnigraph/cli/examples/memory"
SCHEMA = (EXAMPLE / "memory.pg").read_text()
WORDS_ONLY = SCHEMA.replace('meaning: Vector(64)? @embed("text")', "")
TODAY = date(2026, 11, 16)
MOVED = date(2026, 11, 1)


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Graph]:
    monkeypatch.setenv("OMNIGRAPH_EMBED_MODEL", "mock")
    with fresh_graph(tmp_path / "memory", SCHEMA) as found:
        found.load(EXAMPLE / "memory.jsonl")
        yield found


def texts(memory: Memory, question: str | None = None, **how: object) -> list[str]:
    how.setdefault("on", TODAY)
    return [each.text for each in memory.recall(question, **how)]  # type: ignore[arg-type]


def test_a_fact_is_one_commit_with_its_source_and_entities(graph: Graph) -> None:
    done = Memory(graph, message="heard today").remember(
        "Bob repairs pumps.", about="Bob Lee", source="Second conversation", since=MOVED
    )
    assert (done.is_new, done.entities, done.source) == (
        True,
        ("bob-lee",),
        "second-conversation",
    )
    assert done.new == ("bob-lee", "second-conversation")
    assert done.commit == graph.branch().commit.id
    assert graph.branch().commit.message == "heard today"
    (fact,) = Memory(graph).recall("pumps", about="Bob Lee", on=TODAY)
    assert (fact.text, fact.about, fact.sources, fact.since) == (
        "Bob repairs pumps.",
        ("Bob Lee",),
        ("Second conversation",),
        MOVED,
    )


def test_an_entity_is_found_by_id_by_name_and_by_another_name(graph: Graph) -> None:
    memory = Memory(graph)
    for at, name in enumerate(("ana", "ana reis", "A. Reis")):
        done = memory.remember(f"Fact {at}.", about=name, source="chat-1", since=MOVED)
        assert (done.entities, done.new, done.source) == (("ana",), (), "chat-1")


def test_other_names_that_are_given_under_two_names_of_an_entity_are_all_kept(graph: Graph) -> None:
    memory = Memory(graph)
    more = {"Ana": ["Dr. Reis"], "A. Reis": ["Ana R."]}
    memory.remember("Ana sings.", about=["Ana", "A. Reis"], source="chat-1", aliases=more)
    for name in ("Dr. Reis", "Ana R."):
        assert "Ana sings." in [each.text for each in memory.recall("sings", about=name)]


def test_what_is_known_gets_one_source_more_and_is_not_noted_twice(graph: Graph) -> None:
    memory = Memory(graph)
    again = memory.remember(
        "Ana prefers tea to coffee.",
        about="Ana",
        source="The handbook of the survey",
        since=TODAY,
        attribute="drink",
        value="tea",
    )
    assert (again.fact, again.is_new, again.source) == ("ana-tea", False, "handbook")
    (fact,) = memory.recall("tea coffee", about="ana", on=TODAY, limit=1)
    assert set(fact.sources) == {"First conversation", "The handbook of the survey"}
    third = memory.remember(
        "Ana prefers tea to coffee.",
        about="Ana",
        source="handbook",
        since=TODAY,
        attribute="drink",
        value="tea",
    )
    assert third.commit is None


def test_a_contradiction_is_shown_and_ends_where_the_new_fact_begins(graph: Graph) -> None:
    memory = Memory(graph)
    new = {
        "about": "ana",
        "source": "chat-2",
        "since": MOVED,
        "attribute": "employer",
        "value": "mill",
    }
    done = memory.remember("Ana works for the North Mill.", **new)  # type: ignore[arg-type]
    (found,) = done.contradictions
    assert (found.entity, found.attribute, found.other.id) == (
        "Ana Reis",
        "employer",
        "ana-employer-1",
    )
    assert [(each.one.value, each.other.value) for each in memory.contradictions()] in (
        [("harbour", "mill")],
        [("mill", "harbour")],
    )
    settled = memory.remember(
        "Ana works for the North Mill.",
        **new,  # type: ignore[arg-type]
        replaces="ana-employer-1",
    )
    assert (settled.is_new, settled.ended, settled.contradictions) == (
        False,
        ("ana-employer-1",),
        (),
    )
    assert memory.contradictions() == []
    assert "Ana works for the North Mill." in texts(memory, about="ana")
    assert "Ana Reis works for the Harbour Survey." not in texts(memory, about="ana")
    before = texts(memory, about="ana", on=date(2026, 6, 1))
    assert "Ana Reis works for the Harbour Survey." in before


def test_a_fact_that_ended_before_contradicts_nothing(graph: Graph) -> None:
    done = Memory(graph).remember(
        "Ana worked for the mill.",
        about="ana",
        source="chat-1",
        since=date(2010, 1, 1),
        until=date(2019, 2, 1),
        attribute="employer",
        value="mill",
    )
    assert done.contradictions == ()
    assert Memory(graph).contradictions() == []


def test_a_known_fact_replaces_others_from_the_day_on_which_it_begins(graph: Graph) -> None:
    memory = Memory(graph)
    new = {"about": "ana", "source": "chat-2", "attribute": "employer", "value": "mill"}
    first = memory.remember("Ana works for the Mill.", since=MOVED, **new)  # type: ignore[arg-type]
    (old,) = (each.other.id for each in first.contradictions)

    again = memory.remember("Ana works for the Mill.", since=TODAY, replaces=[old], **new)  # type: ignore[arg-type]

    assert (again.is_new, again.ended) == (False, (old,))
    assert memory.contradictions() == []
    early = memory.recall(about="ana", on=date(2026, 10, 31))
    assert {each.until for each in early if each.id == old} == {MOVED}


def test_a_fact_that_ended_earlier_is_not_ended_later_by_one_that_replaces_it(
    graph: Graph,
) -> None:
    memory = Memory(graph)
    about = {"about": "ana", "source": "chat-2", "attribute": "employer"}
    year, later = date(2025, 1, 1), date(2026, 1, 1)
    old = memory.remember("Ana works for the Quay.", value="quay", since=year, until=later, **about)  # type: ignore[arg-type]
    new = memory.remember(
        "Ana works for the Mill.",
        value="mill",
        since=MOVED,
        replaces=[old.fact],
        **about,  # type: ignore[arg-type]
    )
    assert new.ended == ()
    found = memory.recall(about="ana", on=year)
    assert {each.until for each in found if each.id == old.fact} == {later}


def test_an_id_is_found_among_any_number_of_the_same_name(graph: Graph) -> None:
    many = [{"slug": f"a{number:02}", "name": "smith"} for number in range(20)]
    graph.load([*many, {"slug": "smith", "name": "smith"}], type="Entity")
    sources = [{"slug": f"a{number:02}", "title": "letter"} for number in range(20)]
    graph.load([*sources, {"slug": "letter", "title": "letter"}], type="Source")
    done = Memory(graph).remember("Smith sings.", about="smith", source="letter")
    assert (done.entities, done.source, done.new) == (("smith",), "letter", ())


def test_of_facts_that_fit_alike_the_newer_one_comes_first(tmp_path: Path) -> None:
    with init(tmp_path / "graph", WORDS_ONLY) as graph:
        memory = Memory(graph)
        for year in (2001, 2020, 2012):
            memory.remember(
                f"The gauge was read in {year}.",
                about="Gauge",
                source="chat-1",
                since=date(year, 1, 1),
            )
        found = texts(memory, "gauge read")
        assert found == [f"The gauge was read in {year}." for year in (2020, 2012, 2001)]


def test_a_fact_about_several_entities_is_recalled_once(graph: Graph) -> None:
    memory = Memory(graph)
    memory.remember("Ana met Bob.", about=["ana", "Bob"], source="chat-1", since=MOVED)
    found = [each for each in memory.recall("met", on=TODAY) if each.text == "Ana met Bob."]
    assert len(found) == 1
    assert set(found[0].about) == {"Ana Reis", "Bob"}


@pytest.mark.parametrize(
    ("question", "about"), [("mill rule", ()), (None, "Mill")], ids=["asked", "named"]
)
def test_facts_with_many_entities_and_sources_are_all_recalled(
    graph: Graph, question: str | None, about: str | tuple[()]
) -> None:
    memory = Memory(graph)
    entities = ["Mill", "Cy", "Dee"]
    for source in ("1st minutes", "2nd minutes", "3rd minutes"):
        for at in range(4):
            memory.remember(f"Rule {at} of the mill.", about=entities, source=source, since=MOVED)
    found = memory.recall(question, about=about, on=TODAY, limit=4)
    assert {each.text for each in found} == {f"Rule {at} of the mill." for at in range(4)}
    for each in found:
        assert each.about == ("Cy", "Dee", "Mill")
        assert each.sources == ("1st minutes", "2nd minutes", "3rd minutes")


def test_other_names_are_kept_and_entities_that_share_one_are_pointed_out(graph: Graph) -> None:
    memory = Memory(graph)
    memory.remember("North Mill is old.", about="North Mill", source="chat-1", since=MOVED)
    done = memory.remember(
        "The mill burnt.",
        about="Old Mill",
        source="chat-1",
        since=MOVED,
        aliases={"Old Mill": ["North Mill", "the mill"]},
    )
    assert done.twins == (("old-mill", "north-mill"),)
    more = memory.remember(
        "It was rebuilt.",
        about="the mill",
        source="chat-1",
        since=MOVED,
        aliases={"the mill": ["Mill No. 1"]},
    )
    assert more.entities == ("old-mill",)
    known = memory.remember("It grinds.", about="Mill No. 1", source="chat-1", since=MOVED)
    assert known.entities == ("old-mill",)
    with pytest.raises(InputError, match="may be any of the entities"):
        memory.remember("It is red.", about="North Mill", source="chat-1")


def test_without_a_model_words_are_searched_and_a_note_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OMNIGRAPH_EMBED_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    schema = SCHEMA.replace('@embed("text")', '@embed("text", model="openai/some-model")')
    rows = (EXAMPLE / "memory.jsonl").read_text()
    vector = str([0.5] * 64)
    with init(tmp_path / "graph", schema) as graph:
        graph.load(rows.replace('"valid_from"', f'"meaning": {vector}, "valid_from"'))
        found = Memory(graph).recall("tea", on=TODAY)
    assert [each.id for each in found] == ["ana-tea"]
    assert found.notes[0].startswith("nothing was searched by meaning")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"about": []}, "at least one entity"),
        ({"source": " "}, "needs a source"),
        ({"until": date(2000, 1, 1)}, "cannot end"),
        ({"attribute": "employer"}, "needs a value"),
        ({"aliases": {"bob": ["B"]}}, "not about it"),
    ],
)
def test_a_note_that_says_too_little_is_refused(
    graph: Graph, wrong: dict[str, object], message: str
) -> None:
    before = graph.branch().commit.id
    given = {"about": "ana", "source": "chat-1", **wrong}
    with pytest.raises(InputError, match=message):
        Memory(graph).remember("A fact.", **given)  # type: ignore[arg-type]
    assert graph.branch().commit.id == before


def test_only_a_fact_that_is_there_and_began_before_can_end(graph: Graph) -> None:
    memory = Memory(graph)
    with pytest.raises(RowNotFoundError, match="no Fact 'none'"):
        memory.end("none")
    with pytest.raises(InputError, match="begins after"):
        memory.end("ana-tea", until=date(2020, 1, 1))
    memory.end("ana-tea", until=TODAY)
    assert "Ana prefers tea to coffee." not in texts(memory, about="ana")
    with pytest.raises(RowNotFoundError, match="called 'Nobody'"):
        memory.recall(about="Nobody")
    with pytest.raises(InputError, match="ask a question"):
        memory.recall()


def test_two_who_remember_at_once_meet_one_entity(graph: Graph) -> None:
    """The second finds what the first made, because its branch moved."""
    memory, other = Memory(graph), Memory(graph)
    moved: list[int] = []

    class Hasty(Memory):
        def _mutate(self, view, change):  # type: ignore[no-untyped-def]
            if not moved:
                moved.append(1)
                other.remember("Cy sails.", about="Cy", source="chat-1", since=MOVED)
            return super()._mutate(view, change)

    done = Hasty(graph).remember("Cy rows.", about="Cy", source="chat-1", since=MOVED)
    assert done.entities == ("cy",)
    assert done.new == ()
    assert len(memory.recall(about="Cy", on=TODAY)) == 2


def test_a_fact_ends_although_others_remember_meanwhile(graph: Graph) -> None:
    memory = Memory(graph)
    fact = memory.remember("Cy rows.", about="Cy", source="chat-1", since=MOVED).fact
    moved: list[int] = []

    class Hasty(Memory):
        def _mutate(self, view, change):  # type: ignore[no-untyped-def]
            if not moved:
                moved.append(1)
                memory.remember("Cy sails.", about="Cy", source="chat-1", since=MOVED)
            return super()._mutate(view, change)

    assert Hasty(graph).end(fact, until=TODAY) is not None
    assert texts(memory, about="Cy", on=TODAY) == ["Cy sails."]


def test_a_branch_that_moves_all_the_time_is_given_up(graph: Graph) -> None:
    class Restless(Memory):
        def _mutate(self, view, change):  # type: ignore[no-untyped-def]
            raise HeadMovedError("moved")

    with pytest.raises(HeadMovedError):
        Restless(graph).remember("Cy rows.", about="Cy", source="chat-1")


@pytest.mark.parametrize(
    ("old", "new", "lacks"),
    [
        ("node Fact ", "node Claim ", "node Fact"),
        ("valid_to: Date?", "valid_to: DateTime?", "Fact.valid_to: Date?"),
        ("aliases: [String]?", "names: [String]?", "Entity.aliases"),
        ("title: String", "title: String\n  shelf: I32", "Source.shelf that is nullable"),
        ("edge SaidIn: Fact -> Source", "edge SaidIn: Source -> Fact", "edge SaidIn"),
    ],
)
def test_a_schema_that_lacks_a_part_holds_no_memory(
    tmp_path: Path, old: str, new: str, lacks: str
) -> None:
    schema = SCHEMA.replace(old, new)
    if new == "node Claim ":
        schema = schema.replace("Fact ->", "Claim ->")
    assert MemoryShape.of(compile_schema(schema)) is None
    with init(tmp_path / "graph", schema) as graph:
        with pytest.raises(InputError, match=lacks.replace("?", r"\?")) as refused:
            Memory(graph).recall("x")
        assert "omnigraph example memory" in str(refused.value)


def test_a_memory_may_do_without_vectors_and_claims(tmp_path: Path) -> None:
    schema = WORDS_ONLY.replace("value: String?", "amount: I64?")
    with init(tmp_path / "graph", schema) as graph:
        memory = Memory(graph)
        memory.remember("Dee paints.", about="Dee", source="talk", since=MOVED)
        assert texts(memory, "paints") == ["Dee paints."]
        assert memory.contradictions() == []
        with pytest.raises(InputError, match="no properties 'attribute'"):
            memory.remember("X.", about="Dee", source="talk", attribute="a", value="b")
