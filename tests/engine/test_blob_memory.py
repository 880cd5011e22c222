"""What a large blob costs in memory when it is inserted and exported."""

import subprocess
import sys
from pathlib import Path

import pytest

from omnigraph.api.graph import init

SCHEMA = "node Photo { slug: String @key  content: Blob? }"
PUT = """query put($slug: String, $content: Blob?) {
  insert Photo { slug: $slug, content: $content }
}"""
# Inserts a blob of 60 MB and prints by how many times its size the peak of the process grew.
INSERT = """
import resource, sys
from base64 import b64encode
from omnigraph import init
graph = init(sys.argv[1], "node Photo { slug: String @key  content: Blob? }", durable=False)
put = "query put($slug: String, $b: Blob?) { insert Photo { slug: $slug, content: $b } }"
for slug in "ab":
    graph.mutate(put, slug=slug, b=b"small")
size = 60_000_000
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
content = bytes(range(256)) * (size // 256)
if sys.argv[2] == "text":
    content = "base64:" + "AAEC" * (size // 3)
graph.mutate(put, slug="c", b=content)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024 / size)
"""


def test_a_table_of_large_blobs_is_read_in_small_batches(tmp_path: Path) -> None:
    graph = init(tmp_path / "g", SCHEMA, durable=False)
    for number in range(4):
        graph.mutate(PUT, slug=str(number), content=bytes(12 << 20))
    graph.optimize()

    sizes = [len(part) for part in graph.at().export() if part]

    assert sum(sizes) > 4 * (16 << 20)
    assert max(sizes) < 40 << 20


@pytest.mark.parametrize("given", ["bytes", "text"])
def test_an_insert_needs_little_more_memory_than_the_blob(tmp_path: Path, given: str) -> None:
    command = [sys.executable, "-c", INSERT, str(tmp_path / "g"), given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)

    assert float(done.stdout) < 2.5
