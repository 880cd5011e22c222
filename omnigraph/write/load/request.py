"""Request: the digest of a load in its commit, which tells a repetition from another load."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from omnigraph.versioning.names import normalize_name
from omnigraph.write.load.loaded import LoadMode
from omnigraph.write.load.splits import Source


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for: the branch, the mode, and the rows.

    `content` is the digest of the input, however it was passed: the bytes of files, text and
    streams, whatever their names; objects of a bucket by size and ETag; and frames by the Parquet
    files that they are stored as. So a Spark frame whose rows come in another order or other
    partitions is another input.
    """

    branch: str
    base: str | None
    mode: LoadMode
    content: str

    def __str__(self) -> str:
        verb = "load" if self.base is None else f"ingest from {normalize_name(self.base)}"
        return f"{verb} {self.mode} {normalize_name(self.branch)} {self.content}"

    def noted(self, rows: Mapping[str, int], *, makes_branch: bool) -> str:
        """Return what a commit stores: the request, and the answer for when it is repeated."""
        return f"{self} {json.dumps([makes_branch, dict(rows)], ensure_ascii=False)}"

    def answered(self, noted: str | None) -> tuple[bool, dict[str, int]] | None:
        """Return whether a branch was created and the rows by type; None for another request."""
        if noted is None or not noted.startswith(f"{self} "):
            return None
        makes_branch, rows = json.loads(noted.removeprefix(f"{self} "))
        return makes_branch, rows


def content_of(sources: Sequence[Source]) -> str:
    """Return the digest of all content of the sources, whatever their order and names."""
    found = sorted(
        json.dumps([source.format, source.type, source.file.identity()]) for source in sources
    )
    return sha256("\n".join(found).encode()).hexdigest()
