"""Typescript page: what docs/typescript.md shows is a program; requests to servers that fail."""

import json
from pathlib import Path

from tests.clients.node import CLIENT, served
from tests.docs.blocks import ROOT, blocks_of

_PAGE = ROOT / "docs/typescript.md"
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
        "typeRoots": [str(CLIENT / "node_modules/@types")],
    },
    "files": ["page.ts"],
}


def test_requests_are_sent_again_only_where_that_is_safe(tmp_path: Path) -> None:
    with served(tmp_path, "node Person { slug: String @key }", "") as node:
        node.test("requests")


def test_the_page_type_checks_and_runs_where_the_client_is_installed(tmp_path: Path) -> None:
    blocks = blocks_of(_PAGE)
    schema = next(block.text for block in blocks if block.is_schema)
    program = "".join(block.text for block in blocks if block.language == "typescript")
    modules = tmp_path / "node_modules"
    modules.mkdir()
    (modules / "omnigraph-client").symlink_to(CLIENT)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "tsconfig.json").write_text(json.dumps(_TYPES))
    (tmp_path / "page.ts").write_text(program)
    with served(tmp_path, schema, _BY_VISITS) as node:
        node.run(tmp_path, str(CLIENT / "node_modules/typescript/bin/tsc"))
        assert node.run(tmp_path, "page.ts") == ""
