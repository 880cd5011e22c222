"""Request: the digest of a load in its commit, which tells a repetition from another load."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256

from omnigraph.frozen import dataclass
from omnigraph.versioning.names import normalize_name
from omnigraph.write.counts import RowCounts
from omnigraph.write.load.loaded import LoadMode
from omnigraph.write.load.sources.splits import LoadSource


@dataclass(frozen=True, slots=True)
class LoadRequest:
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

    def noted(
        self, rows: Mapping[str, int], counts: RowCounts | None, *, makes_branch: bool
    ) -> str:
        """Return what a commit stores: the request, and the answer for when it is repeated."""
        answer = [makes_branch, dict(rows), *([] if counts is None else [counts.to_json()])]
        return f"{self} {json.dumps(answer, ensure_ascii=False)}"

    def answered(self, noted: str | None) -> tuple[bool, dict[str, int], RowCounts | None] | None:
        """Return whether a branch was created, the rows by type and their counts.

        None for another request. A load that 0.1 made stored no counts.
        """
        if noted is None or not noted.startswith(f"{self} "):
            return None
        makes_branch, rows, *counts = json.loads(noted.removeprefix(f"{self} "))
        return makes_branch, rows, RowCounts.from_json(counts[0]) if counts else None


def content_of(sources: Sequence[LoadSource]) -> str:
    """Return the digest of all content of the sources, whatever their order and names."""
    found = sorted(
        json.dumps([source.format, source.type, source.file.identity()]) for source in sources
    )
    return sha256("\n".join(found).encode()).hexdigest()
