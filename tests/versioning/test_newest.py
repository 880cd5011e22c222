"""The newest version of a graph is found, also where the store does not say which it is."""

from pathlib import Path

import omnigraph as og

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
