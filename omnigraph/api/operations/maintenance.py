"""Maintenance: operations on indexes, files and the health of a graph."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, field

from omnigraph.api.backend import Backend
from omnigraph.api.operation import Document, Key, Operation, PlaceOperation, Shape, get, post
from omnigraph.api.operations.commits import CommitShape
from omnigraph.errors import Json, UnavailableError
from omnigraph.maintain.reports import Checkup, Cleaned, Copied, Coverage, Optimized
from omnigraph.policy.actions import Action
from omnigraph.versioning.names import MAIN

# A length of time: text as `7d` in a request, and also a timedelta at hand.
if TYPE_CHECKING:
    Age = str | timedelta
else:
    Age = str


class CoverageShape(Shape, frozen=True, kw_only=True):
    """How many rows are in each index."""

    uri: str
    branch: str
    indexes: list[dict[str, Any]]


class OptimizedShape(Shape, frozen=True, kw_only=True):
    """What an optimize did; without a commit nothing was due."""

    uri: str
    branch: str
    engine: str
    commit: str | None
    tables: list[dict[str, Any]]
    commits: dict[str, CommitShape]


class CleanedShape(Shape, frozen=True, kw_only=True):
    """What a cleanup removed, or would remove."""

    uri: str
    confirmed: bool
    commits_kept: int
    commits_cleaned: int
    tables: list[dict[str, Any]]
    others: list[dict[str, Any]]


class CheckupShape(Shape, frozen=True, kw_only=True):
    """What a check of the whole graph found."""

    uri: str
    sound: bool
    ledger_rows: int
    commits: int
    table_versions: int
    files: int
    findings: list[dict[str, Any]]


class GetCoverage(PlaceOperation[list[Coverage]], frozen=True, kw_only=True):
    """Return for each index how many rows are in it, and why not all."""

    endpoint = get("/coverage", "coverage", CoverageShape)

    def answer(self, result: list[Coverage], backend: Backend) -> dict[str, Json]:
        indexes: list[Json] = [each.to_json() for each in result]
        return {"uri": backend.uri, "branch": self.place, "indexes": indexes}

    def result(self, answer: Document, backend: Backend) -> list[Coverage]:
        return [Coverage.from_json(each) for each in answer["indexes"]]


class OptimizeBranch(Operation[Optimized], frozen=True, kw_only=True):
    """Rewrite a branch in few large files, all indexed; no content changes.

    With `types`, only their tables are rewritten, and those of `exclude` never are.
    """

    endpoint = post("/optimize", "optimize", Action.ADMIN, OptimizedShape, "OptimizeBody")
    result_type = Optimized

    branch: Key = MAIN
    indexes_only: bool = False
    types: list[str] | None = None
    exclude: list[str] | None = None

    def answer(self, result: Optimized, backend: Backend) -> dict[str, Json]:
        return result.to_answer(backend.uri)


class CleanUp(Operation[Cleaned], frozen=True, kw_only=True):
    """Remove what only old commits need; without `confirm`, report what that would be."""

    endpoint = post("/cleanup", "cleanup", Action.ADMIN, CleanedShape, "CleanupBody", errors=(409,))
    result_type = Cleaned

    keep: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    older_than: Age | None = None
    grace: Age | None = None
    branches: list[str] | None = None
    types: list[str] | None = None
    confirm: bool = False

    @property
    def writes(self) -> bool:
        return self.confirm

    def answer(self, result: Cleaned, backend: Backend) -> dict[str, Json]:
        return result.to_json(backend.uri)


class CheckFiles(Operation[Checkup], frozen=True, kw_only=True):
    """Check everything that the graph is made of, and name all damage."""

    endpoint = get("/fsck", "fsck", CheckupShape, guard=Action.ADMIN, errors=(404,))
    result_type = Checkup

    branches: list[str] | None = field(name="branch", default=None)
    types: list[str] | None = field(name="type", default=None)

    def answer(self, result: Checkup, backend: Backend) -> dict[str, Json]:
        return result.to_json(backend.uri)


class BackUp(Operation[Copied], frozen=True, kw_only=True):
    """Make or renew a consistent copy of the graph in another place."""

    dest: str
    verify: bool = True

    def unavailable(self) -> UnavailableError:
        message = f"a server makes no backup at '{self.dest}' or anywhere else"
        return UnavailableError(message, hint="run it where the graph itself is")


OPERATIONS = (GetCoverage, OptimizeBranch, CleanUp, CheckFiles)
