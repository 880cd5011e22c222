"""A graph that the wheel of 0.1.0 made opens, answers as it did, migrates and goes on living.

`tests/fixtures/release-0.1.0.tar.gz` holds the graph, the answers of 0.1.0, and the program that
made both.
"""

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

import omnigraph as og
from omnigraph.api.graph import Graph
from omnigraph.connector.options import SourceOptions
from omnigraph.errors import MergeConflictsError
from omnigraph.versioning.manifest.records import FORMAT, stamp_of
from tests.archives import unpack
from tests.versioning.formats import FIXTURES

Answers = dict[str, Any]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    with tarfile.open(FIXTURES / "release-0.1.0.tar.gz") as archive:
        unpack(archive, tmp_path)
    return tmp_path / "graph.omni"


@pytest.fixture
def answers(root: Path) -> Answers:
    stored: Answers = json.loads((root.parent / "answers.json").read_text())
    return stored


def answers_now(graph: Graph, queries: dict[str, str]) -> Answers:
    """Return what this release answers to what 0.1.0 was asked."""
    views = {name: graph.branch(name) for name in graph.branches()} | {"v1": graph.at("v1")}
    return {
        "branches": graph.branches(),
        "tags": graph.tags(),
        "runs": [[run.run_id, run.status] for run in graph.runs()],
        "log": {
            name: [[commit.id, commit.message, commit.actor] for commit in graph.log(name)]
            for name in graph.branches()
        },
        "queries": queries,
        "rows": {
            name: {key: view.query(text).to_json() for key, text in queries.items()}
            for name, view in views.items()
        },
        "exports": {name: b"".join(view.export()).decode() for name, view in views.items()},
        "blame": [blamed.to_json() for blamed in graph.blame("Person", "ana")],
        "diff": [change.to_json() for change in graph.diff("main", "draft")],
    }


def without_new_keys(now: Any, then: Any) -> Any:
    """Return what is said now without the keys that documents did not have then."""
    if isinstance(then, dict) and isinstance(now, dict):
        return {
            key: without_new_keys(value, then[key]) for key, value in now.items() if key in then
        }
    if isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        return [without_new_keys(*pair) for pair in zip(now, then, strict=True)]
    return now


@pytest.mark.parametrize("read_only", [True, False])
def test_it_answers_as_0_1_0_did(root: Path, answers: Answers, read_only: bool) -> None:
    graph = og.open(root, read_only=read_only)
    now = answers_now(graph, answers["queries"])
    for question, answer in answers.items():
        assert without_new_keys(now[question], answer) == answer, question


def age_of_bo(branch: og.Branch) -> object:
    return branch.query('match { $p: Person { slug: "bo" } } return { $p.age as age }')[0]["age"]


def test_reading_it_writes_nothing_and_writing_migrates_it_once(root: Path) -> None:
    before = sorted(path for path in root.rglob("*"))
    assert stamp_of(og.open(root, read_only=True).repository.manifest.newest()) < FORMAT
    assert sorted(path for path in root.rglob("*")) == before
    migrated = og.open(root).repository.manifest.newest()
    assert stamp_of(migrated) == FORMAT
    assert og.open(root).repository.manifest.newest().version == migrated.version


def test_its_branches_merge_and_their_conflicts_are_told(root: Path) -> None:
    graph = og.open(root, durable=False)
    main = graph.branch()
    graph.create_branch("rival", "draft")
    graph.branch("rival").mutate(
        'query change() { update Person set { age: 27 } where slug = "bo" }'
    )
    main.merge("draft")
    assert age_of_bo(main) == 26
    main.mutate('query change() { update Person set { age: 28 } where slug = "bo" }')
    with pytest.raises(MergeConflictsError):
        main.merge("rival")
    main.merge("rival", resolutions="theirs")
    assert age_of_bo(main) == 27


def test_its_rules_hold_and_its_rows_change(root: Path) -> None:
    main = og.open(root, durable=False).branch()
    with pytest.raises(og.ViolationsError):
        main.mutate('query change() { insert Person { slug: "x", name: "X", email: "ana@x.org" } }')
    with pytest.raises(og.ViolationsError):
        main.mutate('query change() { insert LivesIn { from: "ana", to: "oslo" } }')
    main.mutate(
        "query change() { insert Person {"
        ' slug: "fay", name: "Fay", photo: "base64:AQID", bio: "lances too" } }'
    )
    assert b"AQID" in b"".join(main.export(types=["Person"]))
    found = (
        'match { $p: Person  search($p.bio, "lances") } return { $p.slug as slug } order { slug }'
    )
    assert [row["slug"] for row in main.query(found)] == ["ana", "bo", "fay"]
    main.mutate('query change() { delete Person where slug = "fay" }')
    assert main.query("match { $p: Person } return { count(*) as people }")[0] == {"people": 4}


def test_its_open_run_is_published(root: Path) -> None:
    graph = og.open(root, durable=False)
    (run,) = (run for run in graph.runs() if run.status == "running")
    graph.publish_run(run.run_id)
    assert {
        row["slug"] for row in graph.branch().query("match { $c: City } return { $c.slug as slug }")
    } == {
        "bern",
        "lima",
        "oslo",
        "rome",
    }


def test_its_schema_grows_and_every_commit_of_before_is_there(root: Path, answers: Answers) -> None:
    graph = og.open(root, durable=False)
    grown = graph.schema.replace("people: I64?", "people: I64?  mayor: String?")
    graph.branch().apply_schema(grown)
    graph.branch().mutate(
        'query change() { update City set { mayor: "Roberto" } where slug = "rome" }'
    )
    people = answers["queries"]["people"]
    assert graph.at("v1").query(people).to_json() == answers["rows"]["v1"]["people"]
    assert [commit.id for commit in graph.log("main")][2:] == [
        entry[0] for entry in answers["log"]["main"]
    ]


def test_it_is_checked_optimized_cleaned_and_copied(
    root: Path, tmp_path: Path, answers: Answers
) -> None:
    graph = og.open(root, durable=False)
    assert graph.fsck().is_sound
    graph.optimize()
    graph.cleanup(keep=1)
    assert graph.fsck().is_sound
    graph.backup(tmp_path / "copy")
    og.restore(tmp_path / "copy", tmp_path / "restored.omni")
    copy = og.open(tmp_path / "restored.omni")
    assert (
        copy.branch("draft").query(answers["queries"]["people"]).to_json()
        == answers["rows"]["draft"]["people"]
    )


def test_it_migrates_before_a_frame_is_written_to_it(root: Path) -> None:
    options = SourceOptions.of({"path": str(root)}, ["path"])
    assert stamp_of(options.open().manifest.newest()) < FORMAT

    repository = options.open(read_only=False)

    assert stamp_of(repository.manifest.newest()) == FORMAT
