"""Terms: what the options of a command ask for, as values that either backend takes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from omnigraph.cli.output import Document
from omnigraph.span import Source

if TYPE_CHECKING:
    from omnigraph.write.load.options import BulkHow


@dataclass(frozen=True, slots=True)
class Question:
    """A query of a text, and the parameters that it is given."""

    source: Source
    name: str | None
    params: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Target:
    """What is read: a branch where it stands now, or else a commit or tag."""

    branch: str | None
    snapshot: str | None = None

    @property
    def name(self) -> str:
        """The branch, or the commit or tag."""
        name = self.branch if self.snapshot is None else self.snapshot
        assert name is not None
        return name


@dataclass(frozen=True, slots=True)
class Given:
    """Rows to load: files, or a stream of JSON lines; CSV and Parquet rows have a type."""

    data: list[str] | BinaryIO
    type_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTerms:
    """On what terms a mutation is done."""

    branch: str
    message: str | None = None
    expect: str | None = None
    operation_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationTerms:
    """Where a schema is applied; with `expect` only where the branch stands at this commit."""

    branch: str
    message: str | None = None
    expect: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTerms:
    """How a merge is done; `choices` are conflicts that have `take` set to a side.

    `bulk` are the keywords that say who merges large changes.
    """

    only_preview: bool = False
    strict: bool = False
    message: str | None = None
    side: str | None = None
    choices: Sequence[Document] = ()
    bulk: "BulkHow | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffTerms:
    """Which changes are of interest; nothing given means all."""

    types: Sequence[str] = ()
    ops: Sequence[str] = ()
    kinds: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupTerms:
    """What a cleanup keeps; without `confirm` it only tells what it would remove."""

    keep: int | None
    older_than: str | None
    grace: str
    confirm: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """The changes between two places, read as they are used, and what is known of all of them."""

    about: Document
    changes: Iterable[Document]
