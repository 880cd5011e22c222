"""Whole deployments as people publish them: accepted as they are, loaded, every query answers."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from omnigraph.deploy.declaration import read_declaration
from omnigraph.deploy.live import look_at
from omnigraph.errors import DeclarationError
from tests.deploy.serving import applied, fleet

COOKBOOKS = Path(__file__).parents[1] / "fixtures" / "cookbooks"
NAMES = sorted(each.name for each in COOKBOOKS.iterdir())


def copied(name: str, folder: Path) -> Path:
    return Path(shutil.copytree(COOKBOOKS / name, folder / name))


@pytest.mark.parametrize("name", NAMES)
def test_every_stored_query_of_a_deployment_answers(name: str, tmp_path: Path) -> None:
    folder = copied(name, tmp_path)
    declared = read_declaration(folder)
    expected: dict[str, dict[str, Any]] = json.loads((folder / "params.json").read_text())
    assert {graph: set(each.queries) for graph, each in declared.definition.graphs.items()} == {
        graph: set(queries) for graph, queries in expected.items()
    }
    applied(folder)
    assert applied(folder).plan.is_empty

    with fleet(folder) as served:
        for graph, queries in expected.items():
            rows = {"data": (folder / "seed.jsonl").read_text(), "mode": "merge"}
            loaded = served.ask("POST", f"/graphs/{graph}/load", rows)
            assert loaded.status_code == 200, loaded.text
            for query, asked in queries.items():
                path = f"/graphs/{graph}/queries/{query}"
                answer = served.ask("POST", path, {"params": asked["params"]})
                assert answer.status_code == 200, (query, answer.text)
                if asked["rows"] is not None:
                    assert answer.json()["row_count"] == asked["rows"], query
            assert look_at(declared.storage, graph).is_there


def test_what_a_policy_of_a_deployment_says_holds(tmp_path: Path) -> None:
    folder = copied("market", tmp_path)
    applied(folder)

    with fleet(folder) as served:
        listed = served.ask("GET", "/graphs/market/queries", actor="ann").json()["queries"]
        assert "company" in [each["name"] for each in listed]
        assert "grow" not in [each["name"] for each in listed]
        body = {"params": {"slug": "birch", "people": 1}}
        hidden = served.ask("POST", "/graphs/market/queries/grow", body, actor="ann")
        missing = served.ask("POST", "/graphs/market/queries/grw", body, actor="ann")
        assert hidden.status_code == missing.status_code == 404
        assert served.ask("GET", "/graphs", actor="ann").status_code == 200
        assert served.ask("GET", "/graphs", actor="cy").status_code == 403


def test_what_has_no_effect_is_said(tmp_path: Path) -> None:
    notes = read_declaration(copied("market", tmp_path)).notes

    assert notes == ("'state' has no effect: revisions need no lock and no backend",)


def test_keys_and_actions_that_are_not_known_are_listed_with_their_lines(tmp_path: Path) -> None:
    folder = copied("market", tmp_path)
    cluster = (folder / "cluster.yaml").read_text()
    (folder / "cluster.yaml").write_text(
        cluster.replace("    queries: queries/", "    queries: queries/\n    replicas: 3")
        + "telemetry: {sink: otel}\n"
    )
    policy = (folder / "market.policy.yaml").read_text()
    (folder / "market.policy.yaml").write_text(
        policy.replace("export, change", "export, time_travel")
    )

    with pytest.raises(DeclarationError) as wrong:
        read_declaration(folder)

    told = [str(each) for each in wrong.value.file_problems]
    assert any(
        each.startswith("cluster.yaml:11: unknown key 'graphs.market.replicas'") for each in told
    )
    assert any(each.startswith("cluster.yaml:20: unknown key 'telemetry'") for each in told)
    assert any("market.policy.yaml:" in each and "time_travel" in each for each in told)
