"""Machine: Hypothesis branches, changes and merges a graph and its model, and compares them."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from omnigraph.api.graph import Graph, init
from omnigraph.errors import MergeConflictsError
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.compile import compile_schema
from omnigraph.versioning.writes import DeleteRows, Overwrite, TableWrite, Upsert
from tests.merging.model import (
    KNOWS,
    PERSON,
    Key,
    Merging,
    Model,
    Row,
    State,
    Terms,
    changed,
    merged_across,
)
from tests.sample import write

SCHEMA = """
node Person { slug: String @key  name: String?  age: I32? }
edge Knows: Person -> Person { weight: I32?  @key(src, dst) }
"""
QUERY = """query q() {
  match { $a: Person  $a knows $b }
  return { $a.slug as a, $b.slug as b, $b.age as age }
}"""
TABLES = {PERSON: "node:Person", KNOWS: "edge:Knows"}
_CATALOG = compile_schema(SCHEMA)
_SCHEMAS = {name: arrow_schema(_CATALOG.stored(name)) for name in TABLES}  # type: ignore[arg-type]

BRANCHES = ["main", "draft", "next", "review/one"]
HISTORIES_OF_A_FIELD = 40
SLUGS = ["a", "b", "c"]
PAIRS = [(one, other) for one in SLUGS for other in SLUGS[:2]]
numbers = st.none() | st.integers(0, 2)
all_terms = st.builds(
    Terms,
    take=st.sampled_from([None, "ours", "theirs"]),
    strict=st.sampled_from([False, False, True]),
)


def edge_id(source: str, target: str) -> str:
    return f'["{source}","{target}"]'


FIRST: State = {
    **{(PERSON, slug): {"slug": slug, "name": "x", "age": 0} for slug in SLUGS[:2]},
    (KNOWS, edge_id("a", "b")): {"src": "a", "dst": "b", "weight": 0},
}


class Field:
    """A graph on which many histories take place, each on branches of its own."""

    def __init__(self) -> None:
        memory = "/dev/shm"
        place = memory if os.access(memory, os.W_OK) else None
        self.folder = tempfile.TemporaryDirectory(prefix="omnigraph-merges-", dir=place)
        self.graph = init(Path(self.folder.name, "g"), SCHEMA, durable=False)
        self.empty = self.graph.snapshot().commit.id
        self.first = write(self.graph, writes({}, FIRST, {*FIRST})).id
        self.histories = 0

    @staticmethod
    def newest() -> "Field":
        """Return the field for the next history; after some of them a new one."""
        if not _FIELDS or _FIELDS[-1].histories >= HISTORIES_OF_A_FIELD:
            while _FIELDS:
                _FIELDS.pop().folder.cleanup()
            _FIELDS.append(Field())
        _FIELDS[-1].histories += 1
        return _FIELDS[-1]


_FIELDS: list[Field] = []


class MergeMachine(RuleBasedStateMachine):
    """A real graph beside its model; the branch `x` of the model is `history/x` of the graph."""

    def __init__(self) -> None:
        super().__init__()
        ground = Field.newest()
        self.graph, self.history = ground.graph, f"h{ground.histories}"
        self.model = Model(ground.empty)
        self.model.commit("main", ground.first, FIRST)
        for name in BRANCHES[:2]:
            self.graph.create_branch(self.real(name))
            self.model.heads[name] = self.model.heads["main"]

    def real(self, place: str) -> str:
        """Return the name of a branch in the graph; a commit has one id in both worlds."""
        return f"{self.history}/{place}" if place in BRANCHES else place

    def teardown(self) -> None:
        for name, head in self.model.heads.items():
            assert self.graph.snapshot(self.real(name)).commit.id == head
            assert content(self.graph, head) == self.model.state(name)
        mine = [name for name in self.graph.branches() if name.startswith(f"{self.history}/")]
        assert mine == sorted(self.real(name) for name in self.model.heads)

    # What is done.

    @initialize(data=st.data(), terms=all_terms)
    def part_and_merge(self, data: st.DataObject, terms: Terms) -> None:
        for branch in ("main", "draft"):
            self.change(data, branch)
        one, other = data.draw(st.permutations(["main", "draft"]))
        self.merge(one, other, terms)

    @rule(data=st.data())
    def change_a_branch(self, data: st.DataObject) -> None:
        self.change(data, self.some_branch(data))

    @precondition(lambda self: len(self.model.heads) > 1)
    @rule(data=st.data(), terms=all_terms)
    def change_two_branches_and_merge_them(self, data: st.DataObject, terms: Terms) -> None:
        one, other = data.draw(st.permutations(sorted(self.model.heads)))[:2]
        for branch in (one, other):
            self.change(data, branch)
        self.merge(one, other, terms)

    @precondition(lambda self: len(self.model.heads) < len(BRANCHES))
    @rule(data=st.data())
    def create_a_branch(self, data: st.DataObject) -> None:
        free = [name for name in BRANCHES if name not in self.model.heads]
        name = data.draw(st.sampled_from(free))
        source = data.draw(st.sampled_from([*sorted(self.model.heads), *self.model.points]))

        self.graph.create_branch(self.real(name), self.real(source))

        self.model.heads[name] = self.model.heads.get(source, source)

    @precondition(lambda self: len(self.model.heads) > 2)
    @rule(data=st.data())
    def delete_a_branch(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted({*self.model.heads} - {"main"})))

        self.graph.delete_branch(self.real(name))

        del self.model.heads[name]

    @precondition(lambda self: len({*self.model.heads.values()}) > 1)
    @rule(data=st.data(), terms=all_terms)
    def merge_a_branch(self, data: st.DataObject, terms: Terms) -> None:
        heads = self.model.heads
        into = self.some_branch(data)
        others = sorted(name for name in heads if heads[name] != heads[into])
        self.merge(data.draw(st.sampled_from(others or [into])), into, terms)

    @rule(data=st.data(), terms=all_terms)
    def merge_a_commit(self, data: st.DataObject, terms: Terms) -> None:
        self.merge(data.draw(st.sampled_from([*self.model.points])), self.some_branch(data), terms)

    @rule(data=st.data())
    def compare_two_points(self, data: st.DataObject) -> None:
        old, new = (self.model.points[data.draw(self.points())] for _ in range(2))

        found = {(str(c.op), c.type_name, c.id) for c in self.graph.diff(old.id, new.id)}

        assert found == changed(old.state, new.state)

    def change(self, data: st.DataObject, branch: str) -> None:
        """Draw a change of a branch, which may come to nothing."""
        after = dict(self.model.state(branch))
        touched: set[Key] = set()
        for _ in range(data.draw(st.integers(1, 3))):
            touched |= drawn_edit(data, after)
        self.write(branch, after, touched)

    def write(self, branch: str, after: State, touched: set[Key]) -> None:
        """Make a commit that leaves a state."""
        replaces = len(self.model.points) % 2 == 0
        done = writes(self.model.state(branch), after, touched, replaces=replaces)
        commit = write(self.graph, done, self.real(branch))
        self.model.commit(branch, commit.id, after)

    # What must be true.

    def merge(self, source: str, into: str, terms: Terms) -> None:
        """Merge in both worlds, and compare outcome, conflicts and content."""
        theirs, ours = self.model.heads.get(source, source), self.model.heads[into]
        base = self.graph.merge_base(ours, theirs).id
        assert base in self.model.bases(ours, theirs)
        mergings = self.mergings(ours, theirs, terms)
        merging = mergings[0]
        wanted = merging.merged if base not in (ours, theirs) else self.model.points[theirs].state
        here, there = self.real(into), self.real(source)
        if len(mergings) > 1 and (merging.clashes or any(other != merging for other in mergings)):
            self.merge_where_bases_differ(source, into, mergings)
            return
        if merging.clashes:
            with pytest.raises(MergeConflictsError) as refused:
                self.graph.merge(there, here, resolutions=terms.take, strict=terms.strict)
            assert _clashes(refused.value) == merging.clashes
            assert self.graph.snapshot(here).commit.id == ours
            return
        done = self.graph.merge(there, here, resolutions=terms.take, strict=terms.strict)
        if base == theirs:
            assert (str(done.outcome), done.commit) == ("already_up_to_date", None)
            return
        assert str(done.outcome) == ("fast_forward" if base == ours else "merged")
        assert done.commit is not None
        assert done.commit.parents == (ours, theirs)
        assert content(self.graph, here) == wanted
        assert known(self.graph, here) == known_in(wanted)
        self.model.commit(into, done.commit.id, wanted, theirs)

    def mergings(self, ours: str, theirs: str, terms: Terms) -> list[Merging]:
        """Return what a merge comes to, based on each of the last common ancestors."""
        mine, yours = (self.model.points[each].state for each in (ours, theirs))
        found = []
        for base in sorted(self.model.bases(ours, theirs)):
            found.append(Merging(self.model.points[base].state, mine, yours, terms))
            found[-1].run()
        return [replace(each, base={}) for each in found]

    def merge_where_bases_differ(self, source: str, into: str, mergings: list[Merging]) -> None:
        """A merge is refused then, or merges the bases first, or takes values as the terms say."""
        terms, here, there = mergings[0].terms, self.real(into), self.real(source)
        ours, theirs = self.model.heads[into], self.model.heads.get(source, source)
        try:
            done = self.graph.merge(there, here, resolutions=terms.take, strict=terms.strict)
        except MergeConflictsError:
            assert self.graph.snapshot(here).commit.id == ours
            return
        assert done.commit is not None
        assert done.commit.parents == (ours, theirs)
        found = content(self.graph, here)
        if terms.take is None:
            assert not terms.strict, "what the bases differ in was not told"
            assert found == self.merged_across(ours, theirs, mergings)
        sides = [mergings[0].ours, mergings[0].theirs, *(each.merged for each in mergings)]
        for key in {*found}.union(*sides):
            assert is_made_of(found.get(key), [side.get(key) for side in sides]), key
        assert known(self.graph, here) == known_in(found)
        self.model.commit(into, done.commit.id, found, theirs)

    def merged_across(self, ours: str, theirs: str, mergings: list[Merging]) -> State:
        """Return what a merge comes to that merges its two bases first."""
        one, other = sorted(self.model.bases(ours, theirs))
        (root,) = self.model.bases(one, other)
        before, *bases = (self.model.points[each].state for each in (root, one, other))
        return merged_across(before, mergings, (bases[0], bases[1]))

    def some_branch(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.model.heads)))

    def points(self) -> st.SearchStrategy[str]:
        return st.sampled_from([*self.model.points])


def is_made_of(row: Row | None, sides: list[Row | None]) -> bool:
    """Whether a row is there or not as it is for one of the sides, with values that they have."""
    if row is None:
        return None in sides
    there = [each for each in sides if each is not None]
    return all(any(each[name] == value for each in there) for name, value in row.items())


def _clashes(refused: MergeConflictsError) -> set[tuple[object, ...]]:
    found = [
        (each["kind"], each["type_name"], each["row_id"], each["property"])
        for each in refused.documents
    ]
    assert len(set(found)) == len(found), "a conflict is told twice"
    return set(found)


def drawn_edit(data: st.DataObject, state: State) -> set[Key]:
    """Draw one change of a state, which stays valid; give the rows that it may touch."""
    verb = data.draw(st.sampled_from(["put", "put", "set", "remove", "join", "part", "touch"]))
    slugs = sorted(row_id for name, row_id in state if name == PERSON)
    if verb == "put" or not slugs:
        slug = data.draw(st.sampled_from(SLUGS))
        row = {"slug": slug, "name": data.draw(st.sampled_from(["x", "y"]))}
        state[PERSON, slug] = {**row, "age": data.draw(numbers)}
        return {(PERSON, slug)}
    slug = data.draw(st.sampled_from(slugs))
    match verb:
        case "set":
            state[PERSON, slug] = {**state[PERSON, slug], "age": data.draw(numbers)}
            return {(PERSON, slug)}
        case "remove":
            gone = [key for key, row in state.items() if slug in (row.get("src"), row.get("dst"))]
            for key in [(PERSON, slug), *gone]:
                del state[key]
            return set()
        case "touch":
            return {(PERSON, slug)}
    pairs = [pair for pair in PAIRS if {*pair} <= {*slugs}]
    if not pairs:
        return set()
    source, target = data.draw(st.sampled_from(pairs))
    key = KNOWS, edge_id(source, target)
    if verb == "part":
        state.pop(key, None)
        return set()
    state[key] = {"src": source, "dst": target, "weight": data.draw(numbers)}
    return {key}


def writes(
    before: State, after: State, touched: set[Key], *, replaces: bool = False
) -> dict[str, tuple[TableWrite, ...]]:
    """Return the writes that make one state of another, also of rows that stay as they are.

    Whoever replaces writes whole tables.
    """
    found: dict[str, tuple[TableWrite, ...]] = {}
    for name, table in TABLES.items():
        changes = {key for key in {*before, *after} if before.get(key) != after.get(key)}
        if replaces and any(key[0] == name for key in changes | touched):
            rows = [{"id": key[1], **row} for key, row in after.items() if key[0] == name]
            found[table] = (Overwrite(pa.Table.from_pylist(rows, schema=_SCHEMAS[name])),)
            continue
        gone = [key[1] for key in before if key not in after and key[0] == name]
        put = {
            key[1]: row
            for key, row in after.items()
            if key[0] == name and (key in touched or before.get(key) != row)
        }
        steps: list[TableWrite] = [DeleteRows(pa.array(gone, pa.utf8()))] if gone else []
        if put:
            rows = [{"id": row_id, **row} for row_id, row in put.items()]
            steps.append(Upsert(pa.Table.from_pylist(rows, schema=_SCHEMAS[name])))
        if steps:
            found[table] = tuple(steps)
    return found


def known(graph: Graph, target: str) -> set[tuple[object, ...]]:
    """Return who knows whom, and how old they are, as a query finds it."""
    return {tuple(row.values()) for row in graph.at(target).query(QUERY)}


def known_in(state: State) -> set[tuple[object, ...]]:
    """Return what the query must find."""
    edges = [(str(row["src"]), str(row["dst"])) for key, row in state.items() if key[0] == KNOWS]
    return {(one, other, state[PERSON, other]["age"]) for one, other in edges}


def content(graph: Graph, target: str) -> State:
    """Return what a graph holds at a branch or commit."""
    snapshot = graph.snapshot(target)
    found: State = {}
    for name, table in TABLES.items():
        rows = snapshot.table(table).scan().to_pylist()
        assert len(rows) == snapshot.state(table).row_count
        found |= {(name, row.pop("id")): row for row in rows}
        assert len([key for key in found if key[0] == name]) == len(rows), "an id is there twice"
    return found
