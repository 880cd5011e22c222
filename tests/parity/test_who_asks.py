"""Who has no token, another one, or too few rights is told so by the same errors."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from omnigraph import open as open_graph
from omnigraph.api.graph import connect
from omnigraph.errors import DeniedError, InputError, UnauthorizedError
from tests.api.people import QUERIES, people
from tests.parity.serving import serving

POLICY = """
version: 1
groups: {readers: [ana]}
rules:
  - id: readers-read
    allow: {actors: {group: readers}, actions: [read], branch_scope: any}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    at = tmp_path_factory.mktemp("who")
    people(at / "g").close()
    (at / "policy.yaml").write_text(POLICY)
    tokens = '{"ana": "token-of-ana", "bo": "token-of-bo"}'
    environment = {"OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": tokens}
    with serving(at / "g", environment=environment, policy=at / "policy.yaml") as url:
        yield at, url


@pytest.mark.parametrize("token", [None, "token-of-nobody"])
def test_a_token_that_is_missing_or_wrong_is_unauthorized(
    served: tuple[Path, str], token: str | None
) -> None:
    with connect(served[1], token=token) as graph, pytest.raises(UnauthorizedError):
        graph.branches()


def test_a_denial_is_the_same_error_at_hand_and_behind_a_server(served: tuple[Path, str]) -> None:
    at, url = served
    with connect(url, token="token-of-ana") as there:
        assert len(there.query(QUERIES, "ages")) == 3
        with pytest.raises(DeniedError) as remote:
            there.mutate(QUERIES, "add", slug="x")
    with open_graph(at / "g", policy=at / "policy.yaml") as here, pytest.raises(DeniedError) as own:
        here.acting_as("ana").mutate(QUERIES, "add", slug="x")
    assert (remote.value.code, remote.value.actor, remote.value.action) == (
        own.value.code,
        own.value.actor,
        own.value.action,
    )


def test_an_actor_without_any_right_cannot_read(served: tuple[Path, str]) -> None:
    with connect(served[1], token="token-of-bo") as graph, pytest.raises(DeniedError):
        graph.query(QUERIES, "ages")


def test_threads_share_a_connection(served: tuple[Path, str]) -> None:
    with connect(served[1], token="token-of-ana") as graph, ThreadPoolExecutor(4) as pool:
        main = graph.branch()
        counts = list(pool.map(lambda _: len(main.query(QUERIES, "ages")), range(12)))
    assert counts == [3] * 12


def test_a_notebook_shows_a_graph_that_is_elsewhere(served: tuple[Path, str]) -> None:
    with connect(served[1], token="token-of-ana") as graph:
        html = graph._repr_html_()
    assert f"Graph(&#x27;{served[1]}&#x27;)" in html
    assert '<td class="short">Person</td><td class="number">3</td>' in html


def test_a_closed_connection_is_told(served: tuple[Path, str]) -> None:
    graph = connect(served[1], token="token-of-ana")
    main = graph.branch()
    graph.close()
    with pytest.raises(InputError, match="was closed"):
        main.query(QUERIES, "ages")
