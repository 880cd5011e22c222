"""Joined: nodes that both sides made and that are the same become one in the merge."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from omnigraph.api.graph import Graph
from omnigraph.cli.main import omnigraph
from omnigraph.cli.program import Program
from omnigraph.errors import InputError, MergeConflictsError, RowNotFoundError
from omnigraph.merge.conflict import Resolutions
from tests.templates import copied_graph, fresh_graph

SCHEMA = """
node Person { slug: String @key  email: String? @unique  name: String  born: I32?  city: String? }
node Company { slug: String @key }
edge WorksAt: Person -> Company { @key(src, dst)  since: I32? }
edge Knows: Person -> Person
"""
BASE = """{"type": "Company", "data": {"slug": "mill"}}
{"type": "Company", "data": {"slug": "sea"}}
{"type": "Person", "data": {"slug": "bob", "name": "Bob"}}"""
OURS = """{"type": "Person", "data": {"slug": "ana", "email": "a@x.example", "name": "Ana"}}
{"edge": "WorksAt", "from": "ana", "to": "mill", "data": {"since": 2019}}
{"edge": "Knows", "from": "bob", "to": "ana"}"""
THEIRS = """{"type": "Person", "data": {"slug": "ana-r", "email": "a@x.example", "name": "Ana R.", \
"born": 1990}}
{"edge": "WorksAt", "from": "ana-r", "to": "mill", "data": {"since": 2020}}
{"edge": "WorksAt", "from": "ana-r", "to": "sea"}
{"edge": "Knows", "from": "ana-r", "to": "bob"}"""
PEOPLE = """match { $p: Person } return { $p.slug as slug, $p.name as name, $p.born as born }
  order { slug }"""
JOBS = """match { $p $w:worksAt $c } return { $p.slug as who, $c.slug as at, $w.since as since }
  order { who, at }"""


def drafted(root: Path) -> Graph:
    found = fresh_graph(root, SCHEMA)
    found.load(BASE)
    found.create_branch("draft")
    found.branch().load(OURS)
    found.branch("draft").load(THEIRS)
    return found


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with copied_graph(tmp_path / "graph", drafted) as found:
        yield found


def chosen(graph: Graph, into: str = "ana", duplicate: str = "ana-r") -> Resolutions:
    """Return the conflict of the preview, with the node that is the same."""
    (conflict,) = graph.branch().preview_merge("draft").conflicts_json()
    return Resolutions.chosen([{**conflict, "row_id": duplicate, "into": into}])


def rows(graph: Graph, query: str) -> list[tuple[object, ...]]:
    return [tuple(each.values()) for each in graph.query(query)]


def test_nodes_of_one_unique_value_conflict_and_can_be_made_one(graph: Graph) -> None:
    with pytest.raises(MergeConflictsError) as refused:
        graph.merge("draft")
    assert [each.kind for each in refused.value.conflicts] == ["UniqueViolation"]
    choice = chosen(graph)
    preview = graph.branch().preview_merge("draft", resolutions=choice)
    assert preview.conflicts == ()
    done = graph.merge("draft", resolutions=choice)
    assert done.commit is not None
    assert str(done.commit.message).endswith("resolved: Person.ana-r is ana")
    assert rows(graph, PEOPLE) == [("ana", "Ana", 1990), ("bob", "Bob", None)]
    assert rows(graph, JOBS) == [("ana", "mill", 2019), ("ana", "sea", None)]
    assert graph.fsck().is_sound


def test_the_node_of_the_other_side_can_be_the_one_that_stays(graph: Graph) -> None:
    graph.merge("draft", resolutions=chosen(graph, into="ana-r", duplicate="ana"))
    assert rows(graph, PEOPLE) == [("ana-r", "Ana R.", 1990), ("bob", "Bob", None)]
    assert rows(graph, JOBS) == [("ana-r", "mill", 2020), ("ana-r", "sea", None)]
    knows = "match { $p knows $o } return { $p.slug as a, $o.slug as b } order { a }"
    assert rows(graph, knows) == [("ana-r", "bob"), ("bob", "ana-r")]
    assert graph.fsck().is_sound


def test_what_was_joined_goes_back_with_a_revert_of_the_merge(graph: Graph) -> None:
    before = rows(graph, PEOPLE), rows(graph, JOBS)
    done = graph.merge("draft", resolutions=chosen(graph))
    assert done.commit is not None
    graph.branch().revert(done.commit.id)
    assert (rows(graph, PEOPLE), rows(graph, JOBS)) == before


def test_another_conflict_stays_one(graph: Graph) -> None:
    rename = 'query r($name: String) { update Person set { name: $name } where slug = "bob" }'
    graph.branch().mutate(rename, name="Robert")
    graph.branch("draft").mutate(rename, name="Bobby")
    choice = Resolutions(joined={("Person", "ana-r"): "ana"})
    with pytest.raises(MergeConflictsError) as refused:
        graph.merge("draft", resolutions=choice)
    assert [(each.row_id, each.property) for each in refused.value.conflicts] == [("bob", "name")]


def test_a_choice_survives_json_and_says_what_is_wrong_with_it(graph: Graph) -> None:
    choice = Resolutions(joined={("Person", "ana-r"): "ana"})
    document = json.loads(json.dumps(choice.to_json()))
    assert Resolutions.from_json(**document) == choice
    row = {"type_name": "Person", "row_id": "ana-r", "into": "ana"}
    with pytest.raises(InputError, match="another choice"):
        Resolutions.chosen([{**row, "take": "ours"}])
    with pytest.raises(InputError, match="id of a node"):
        Resolutions.chosen([{**row, "into": 7}])
    for name in row:
        with pytest.raises(InputError, match=f"the '{name}' of a resolution contains invalid"):
            Resolutions.chosen([{**row, name: "\ud800"}])
    with pytest.raises(RowNotFoundError, match="no Person 'none'"):
        graph.merge("draft", resolutions=Resolutions(joined={("Person", "ana-r"): "none"}))
    with pytest.raises(InputError, match="Persn"):
        graph.merge("draft", resolutions=Resolutions(joined={("Persn", "ana-r"): "ana"}))


def test_a_fast_forward_joins_nothing(graph: Graph) -> None:
    graph.create_branch("ahead")
    graph.branch("ahead").load([{"slug": "cy", "name": "Cy"}], type="Person")
    with pytest.raises(InputError, match="fast-forward"):
        graph.merge("ahead", resolutions=Resolutions(joined={("Person", "cy"): "bob"}))


def test_the_command_line_takes_the_choice_in_a_file(graph: Graph, tmp_path: Path) -> None:
    found = graph.branch().preview_merge("draft").conflicts_json()
    choices = [{**each, "row_id": "ana-r", "into": "ana"} for each in found]
    file = tmp_path / "choices.json"
    file.write_text(json.dumps({"merge_conflicts": choices}))
    words = ["branch", "merge", "draft", "--resolutions", str(file), graph.uri]
    done = CliRunner().invoke(omnigraph, words, obj=Program())
    assert done.exit_code == 0, done.output
    assert rows(graph, PEOPLE) == [("ana", "Ana", 1990), ("bob", "Bob", None)]
