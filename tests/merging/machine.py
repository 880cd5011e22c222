"""Machine: Hypothesis branches, changes and merges a graph and its model, and compares them."""

import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from omnigraph.errors import MergeConflictsError
from omnigraph.graph import Graph, init
from omnigraph.graph import open as open_graph
from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.compile import compile_schema
from omnigraph.versioning.writes import Delete, TableWrite, Upsert
from tests.merging.model import KNOWS, PERSON, Key, Merging, Model, State, Terms, changed
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


class MergeMachine(RuleBasedStateMachine):
    """A real graph in a folder, beside its model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="omnigraph-merges-"))
        self.graph = init(self.folder / "g", SCHEMA, durable=False)
        self.model = Model(self.graph.snapshot().commit.id)
        self.write("main", FIRST, {*FIRST})
        for name in BRANCHES[1:3]:
            self.graph.create_branch(name)
            self.model.heads[name] = self.model.heads["main"]

    def teardown(self) -> None:
        try:
            self.graph = open_graph(self.graph.uri, read_only=True)
            for point in self.model.points.values():
                assert content(self.graph, point.id) == point.state
            assert self.graph.branches() == ["main", *sorted({*self.model.heads} - {"main"})]
        finally:
            shutil.rmtree(self.folder)

    # What is done.

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

        self.graph.create_branch(name, source)

        self.model.heads[name] = self.model.heads.get(source, source)

    @precondition(lambda self: len(self.model.heads) > 2)
    @rule(data=st.data())
    def delete_a_branch(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted({*self.model.heads} - {"main"})))

        self.graph.delete_branch(name)

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
        commit = write(self.graph, writes(self.model.state(branch), after, touched), branch)
        self.model.commit(branch, commit.id, after)

    # What must be true.

    def merge(self, source: str, into: str, terms: Terms) -> None:
        """Merge in both worlds, and compare outcome, conflicts and content."""
        theirs, ours = self.model.heads.get(source, source), self.model.heads[into]
        base = self.graph.merge_base(ours, theirs).id
        assert base in self.model.bases(ours, theirs)
        was, mine, yours = (self.model.points[each].state for each in (base, ours, theirs))
        merging = Merging(was, mine, yours, terms)
        wanted = merging.run() if base not in (ours, theirs) else yours
        if merging.clashes:
            with pytest.raises(MergeConflictsError) as refused:
                self.graph.merge(source, into, resolutions=terms.take, strict=terms.strict)
            assert _clashes(refused.value) == merging.clashes
            assert self.graph.snapshot(into).commit.id == ours
            return
        done = self.graph.merge(source, into, resolutions=terms.take, strict=terms.strict)
        if base == theirs:
            assert (str(done.outcome), done.commit) == ("already_up_to_date", None)
            return
        assert str(done.outcome) == ("fast_forward" if base == ours else "merged")
        assert done.commit is not None
        assert done.commit.parents == (ours, theirs)
        assert content(self.graph, into) == wanted
        assert known(self.graph, into) == known_in(wanted)
        self.model.commit(into, done.commit.id, wanted, theirs)

    def some_branch(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.model.heads)))

    def points(self) -> st.SearchStrategy[str]:
        return st.sampled_from([*self.model.points])


def _clashes(refused: MergeConflictsError) -> set[tuple[object, ...]]:
    found = [
        (each["kind"], each["type_name"], each["row_id"], each["property"])
        for each in refused.conflicts
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


def writes(before: State, after: State, touched: set[Key]) -> dict[str, tuple[TableWrite, ...]]:
    """Give the writes that make one state of another, also of rows that stay as they are."""
    found: dict[str, tuple[TableWrite, ...]] = {}
    for name, table in TABLES.items():
        gone = [key[1] for key in before if key not in after and key[0] == name]
        put = {
            key[1]: row
            for key, row in after.items()
            if key[0] == name and (key in touched or before.get(key) != row)
        }
        steps: list[TableWrite] = [Delete(pa.array(gone, pa.utf8()))] if gone else []
        if put:
            rows = [{"id": row_id, **row} for row_id, row in put.items()]
            steps.append(Upsert(pa.Table.from_pylist(rows, schema=_SCHEMAS[name])))
        if steps:
            found[table] = tuple(steps)
    return found


def known(graph: Graph, target: str) -> set[tuple[object, ...]]:
    """Give who knows whom, and how old they are, as a query finds it."""
    return {tuple(row.values()) for row in graph.at(target).query(QUERY)}


def known_in(state: State) -> set[tuple[object, ...]]:
    """Give what the query must find."""
    edges = [(str(row["src"]), str(row["dst"])) for key, row in state.items() if key[0] == KNOWS]
    return {(one, other, state[PERSON, other]["age"]) for one, other in edges}


def content(graph: Graph, target: str) -> State:
    """Give what a graph holds at a branch or commit."""
    snapshot = graph.snapshot(target)
    found: State = {}
    for name, table in TABLES.items():
        rows = snapshot.table(table).scan().to_pylist()
        assert len(rows) == snapshot.state(table).row_count
        found |= {(name, row.pop("id")): row for row in rows}
        assert len([key for key in found if key[0] == name]) == len(rows), "an id is there twice"
    return found
