"""Tokens without a policy may read and nothing else, unless the server was told otherwise."""

import json
from pathlib import Path

import pytest

from tests.server.serving import ADD, ALL, serving

_ROW = json.dumps({"type": "Company", "data": {"name": "sea"}})
_CHANGE = {"query_source": ADD, "params": {"slug": "eve"}}
_WRITES = [
    ("POST", "/change", _CHANGE),
    ("POST", "/load", {"data": _ROW}),
    ("POST", "/ingest", {"data": _ROW, "branch": "new"}),
    ("POST", "/branches", {"name": "other"}),
    ("POST", "/schema/apply", {"schema_source": ""}),
    ("POST", "/runs", {"target_branch": "main"}),
    ("POST", "/optimize", {}),
    ("POST", "/branches/merge", {"source": "main", "target": "other"}),
    ("POST", "/revert", {"commit": "01k9", "branch": "main"}),
    ("POST", "/queries/add", {"params": {"slug": "eve"}}),
]


def test_a_token_without_a_policy_reads_and_cannot_write(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(tmp_path, policy=None) as served:
        read = served.ask("POST", "/read", {"query_source": ALL}, actor="reader")
        export = served.ask("POST", "/export", {}, actor="reader")
        refused = [served.ask(*each, actor="reader") for each in _WRITES]

    assert (read.status_code, export.status_code) == (200, 200)
    assert [each.status_code for each in refused] == [403] * len(_WRITES)
    assert {each.json()["code"] for each in refused} == {"denied"}
    said = {(each.json()["error"], each.json()["detail"]["hint"]) for each in refused}
    assert said == {
        (
            "'reader' may only read: this server has no policy",
            "start the server with --policy FILE, or with --allow-writes-without-policy",
        )
    }
    told = [each for each in caplog.messages if "without a policy" in each]
    assert len(told) == 1


def test_a_token_without_a_policy_writes_where_the_server_was_told_so(tmp_path: Path) -> None:
    with serving(tmp_path, policy=None, allows_writes=True) as served:
        assert served.ask("POST", "/change", _CHANGE, actor="reader").status_code == 200
