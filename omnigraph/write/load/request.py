"""Request: what stands for a load in its commit, so that a repetition is told from another one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from omnigraph.versioning.names import normalize_name
from omnigraph.write.load.loaded import LoadMode
from omnigraph.write.load.splits import Source


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for: where rows go, in which mode, and what they are.

    `content` is the digest of the input, however it was handed over: the bytes of files, of text
    and of streams, whatever their names; objects of a bucket by their size and ETag; and frames by
    the Parquet files that they are laid down as. So a frame of Spark whose rows come in another
    order or other partitions is another input.
    """

    branch: str
    base: str | None
    mode: LoadMode
    content: str

    def __str__(self) -> str:
        verb = "load" if self.base is None else f"ingest from {normalize_name(self.base)}"
        return f"{verb} {self.mode} {normalize_name(self.branch)} {self.content}"

    def noted(self, rows: Mapping[str, int], *, makes_branch: bool) -> str:
        """Return what a commit keeps: the request, and the answer for when it is repeated."""
        return f"{self} {json.dumps([makes_branch, dict(rows)], ensure_ascii=False)}"

    def answered(self, noted: str | None) -> tuple[bool, dict[str, int]] | None:
        """Return whether a branch was made and the rows by type; None for another request."""
        if noted is None or not noted.startswith(f"{self} "):
            return None
        makes_branch, rows = json.loads(noted.removeprefix(f"{self} "))
        return makes_branch, rows


def content_of(sources: Sequence[Source]) -> str:
    """Return the digest of all that sources hold, whatever their order and their names."""
    found = sorted(
        json.dumps([source.format, source.type, source.file.identity()]) for source in sources
    )
    return sha256("\n".join(found).encode()).hexdigest()
