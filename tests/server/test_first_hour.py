"""What clients of the first hour rely on: coarse kinds of errors, and the commit of a read."""

from tests.server.serving import ADD, ALL, Served


def test_errors_have_one_of_six_kinds_beside_their_code(served: Served) -> None:
    wrong = {"query_source": "query q() {"}
    found = {
        "bad_request": served.ask("POST", "/read", wrong, actor="owner"),
        "not_found": served.ask("GET", "/commits/01ARZ3NDEKTSV4RRFFQ69G5FAV", None, actor="owner"),
        "forbidden": served.ask("POST", "/change", {"query_source": ADD}, actor="drafter"),
        "unauthorized": served.client.get("/branches"),
    }
    for kind, answer in found.items():
        assert answer.json()["kind"] == kind, answer.text
        assert answer.json()["code"]
    stale = {"query_source": ADD, "params": {"slug": "x"}, "expect": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}
    moved = served.ask("POST", "/change", stale, actor="owner")
    assert (moved.status_code, moved.json()["kind"]) == (409, "conflict")


def test_a_read_says_which_commit_it_read_so_that_a_change_can_expect_it(served: Served) -> None:
    read = served.ask("POST", "/read", {"query_source": ALL}, actor="owner").json()

    assert read["graph_commit_id"] == served.graph.branch().commit.id
    body = {
        "query_source": ADD,
        "params": {"slug": "expected"},
        "expect": read["graph_commit_id"],
    }
    assert served.ask("POST", "/change", body, actor="owner").status_code == 200
    assert served.ask("POST", "/change", body, actor="owner").status_code == 409
    result = served.graph.query(ALL)
    assert result.commit == served.graph.branch().commit.id
