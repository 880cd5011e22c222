"""Changes: random write sets for the tables of people and edges, with what they leave behind."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import pyarrow as pa
from hypothesis import strategies as st

from omnigraph.versioning.writes import Append, DeleteRows, Overwrite, TableWrite, Upsert
from tests.properties.model import Edges, State
from tests.properties.persons import WORDS, Person, Persons, rows_of
from tests.sample import KNOWS, PERSON, knows

IDS = [f"p{number}" for number in range(12)]
PAIRS = [(a, b) for a in IDS[:4] for b in IDS[:4]]

Writes: TypeAlias = dict[str, tuple[TableWrite, ...]]
Verb: TypeAlias = type[Append] | type[Upsert] | type[DeleteRows] | type[Overwrite]

persons = st.builds(
    Person,
    name=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    age=st.none() | st.integers(0, 4),
)


verbs: st.SearchStrategy[Verb] = st.sampled_from([Append, Upsert, DeleteRows, Overwrite])


def drawn_change(data: st.DataObject, state: State) -> tuple[Writes, State]:
    """Draw a change of persons, of edges or of both, and what it leaves."""
    tables = data.draw(st.sampled_from([(PERSON,), (PERSON, KNOWS), (KNOWS,)]))
    writes: Writes = {}
    if PERSON in tables:
        writes[PERSON], after = drawn_persons(data, state.persons)
        state = State(after, state.edges)
    if KNOWS in tables:
        writes[KNOWS], joined = drawn_edges(data, state.edges)
        state = State(state.persons, joined)
    return writes, state


def drawn_persons(data: st.DataObject, before: Persons) -> tuple[tuple[TableWrite, ...], Persons]:
    """Draw one or two steps on the table of persons."""
    writes: list[TableWrite] = []
    for _ in range(data.draw(st.integers(1, 2))):
        verb = data.draw(verbs)
        ids = drawn_keys(data, [each for each in IDS if verb is not Append or each not in before])
        if verb is DeleteRows:
            writes.append(DeleteRows(pa.array(ids, pa.utf8())))
            before = {each: person for each, person in before.items() if each not in ids}
            continue
        new = {each: data.draw(persons) for each in ids}
        writes.append(verb(rows_of(new)))
        before = new if verb is Overwrite else {**before, **new}
    return tuple(writes), before


def drawn_edges(data: st.DataObject, before: Edges) -> tuple[tuple[TableWrite, ...], Edges]:
    """Draw one step on the table of edges."""
    verb = data.draw(verbs)
    pairs = drawn_keys(data, [each for each in PAIRS if verb is not Append or each not in before])
    if verb is DeleteRows:
        ids = pa.array([f"{a}-{b}" for a, b in pairs], pa.utf8())
        return (DeleteRows(ids),), before - set(pairs)
    kept: Iterable[tuple[str, str]] = () if verb is Overwrite else before
    return (verb(knows(pairs)),), frozenset([*kept, *pairs])


def drawn_keys(data: st.DataObject, keys: list[Any]) -> list[Any]:
    """Draw some keys, each once; none at all is possible too."""
    return data.draw(st.lists(st.sampled_from(keys), max_size=4, unique=True)) if keys else []
