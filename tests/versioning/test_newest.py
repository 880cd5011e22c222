"""The newest version of a graph is found, also where the store does not say which it is."""

from datetime import timedelta
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph.versioning.manifest.freshness import Freshness
from omnigraph.versioning.manifest.manifest import Manifest

SCHEMA = "node Person { name: String @key }"
NAMES = "query q() { match { $p: Person } return { $p.name as name } order { name } }"


def _forget_hint(root: Path) -> None:
    (root / "__manifest" / "_versions" / "latest_version_hint.json").unlink(missing_ok=True)


def test_without_a_hint_commits_of_others_are_seen(tmp_path: Path) -> None:
    with og.init(tmp_path / "g", SCHEMA) as one, og.open(tmp_path / "g") as other:
        assert one.query(NAMES).to_dicts() == []
        for name in ("Ana", "Ben", "Cleo"):
            other.load([{"name": name}], type="Person", engine="inline")
        _forget_hint(tmp_path / "g")

        assert [row["name"] for row in one.query(NAMES)] == ["Ana", "Ben", "Cleo"]

        other.load([{"name": "Dan"}], type="Person", engine="inline")
        _forget_hint(tmp_path / "g")

        assert [row["name"] for row in one.query(NAMES)] == ["Ana", "Ben", "Cleo", "Dan"]


def test_two_handles_see_each_commit_of_both(tmp_path: Path) -> None:
    with og.init(tmp_path / "g", SCHEMA) as one, og.open(tmp_path / "g") as other:
        for number in range(12):
            writer = (one, other, other)[number % 3]
            writer.load([{"name": f"{number:02}"}], type="Person", engine="inline")
            expected = [f"{each:02}" for each in range(number + 1)]

            assert [row["name"] for row in one.query(NAMES)] == expected
            if number % 2:
                assert [row["name"] for row in other.query(NAMES)] == expected


def test_a_version_that_was_lost_is_not_read_from_memory(tmp_path: Path) -> None:
    with og.init(tmp_path / "g", SCHEMA) as one:
        one.load([{"name": "Ana"}], type="Person", engine="inline")
        assert len(one.query(NAMES)) == 1
        versions = tmp_path / "g" / "__manifest" / "_versions"
        min(versions.glob("*.manifest")).unlink()

        assert one.query(NAMES).to_dicts() == []


def test_where_a_branch_stands_after_a_commit_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with og.init(tmp_path / "g", SCHEMA) as one:
        one.load([{"name": "Ana"}], type="Person", engine="inline")
        monkeypatch.setattr(Manifest, "head_commit", lambda *_: pytest.fail("it was looked up"))

        assert one.query(NAMES).to_dicts() == [{"name": "Ana"}]


def test_reads_that_follow_each_other_closely_share_what_they_saw(tmp_path: Path) -> None:
    with og.init(tmp_path / "g", SCHEMA) as one, og.open(tmp_path / "g") as other:
        tables = one.repository.tables
        seen = {id(tables.newest("__manifest")) for _ in range(3)}
        assert len(seen) == 1

        other.load([{"name": "Ana"}], type="Person", engine="inline")

        assert id(tables.newest("__manifest")) not in seen


def test_a_version_that_is_noted_again_and_again_grows_no_older_than_it_is() -> None:
    noted = Freshness()
    steady, day = noted.now()
    for tenths in range(50):
        noted.note(7, (steady - 5 + tenths / 10, day - 5 + tenths / 10))

    assert timedelta(0) <= noted.age(7) < timedelta(seconds=2)
    assert noted.age(8) == timedelta.max
