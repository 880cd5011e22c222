"""However a branch name is spelt, it names one branch."""

import unicodedata
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnigraph.api.graph import Graph
from omnigraph.errors import BranchExistsError, BranchNameError, BranchNotFoundError
from omnigraph.versioning.writes import Append
from tests.sample import PERSON, ages, new_graph, people, write

COMPOSED, APART = "\N{LATIN SMALL LETTER U WITH DIAERESIS}ber", "u\N{COMBINING DIAERESIS}ber"


def test_a_branch_written_to_under_another_spelling_keeps_its_name(tmp_path: Path) -> None:
    graph = new_graph(tmp_path / "g")
    graph.create_branch(COMPOSED)

    write(graph, {PERSON: (Append(people({"ann": 1})),)}, APART)

    assert graph.branches() == ["main", COMPOSED]
    assert ages(graph, COMPOSED) == ages(graph, APART) == {"ann": 1}


def test_a_name_in_the_form_of_a_commit_id_is_refused_or_names_the_branch(tmp_path: Path) -> None:
    graph = new_graph(tmp_path / "g")
    name = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    try:
        graph.create_branch(name)
    except BranchNameError:
        return

    assert graph.snapshot(name).commit == graph.snapshot().commit


@settings(max_examples=8)
@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=6))
def test_a_name_is_refused_or_works_everywhere(names: list[str]) -> None:
    with TemporaryDirectory() as folder:
        graph = new_graph(Path(folder, "g"))
        for name in names:
            _use(graph, name)


def _use(graph: Graph, name: str) -> None:
    known = graph.branches()
    try:
        graph.create_branch(name)
    except (BranchNameError, BranchExistsError):
        assert graph.branches() == known
        return
    kept = unicodedata.normalize("NFC", name)
    assert set(graph.branches()) == {*known, kept}
    with pytest.raises(BranchExistsError):
        graph.create_branch(name)
    write(graph, {PERSON: (Append(people({name: 1})),)}, kept)
    assert ages(graph, name) == {name: 1}
    graph.delete_branch(name)
    with pytest.raises(BranchNotFoundError):
        graph.snapshot(name)
    assert graph.branches() == known
