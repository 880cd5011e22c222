"""Refusal: an answer that is no success: its status, its body, and nothing that is secret."""

from collections.abc import Mapping

from omnigraph import errors
from omnigraph.errors import Json, OmniGraphError

# The first class that an error belongs to gives its status.
STATUSES: tuple[tuple[type[OmniGraphError], int], ...] = (
    (errors.BranchExistsError, 409),
    (errors.TagExistsError, 409),
    (errors.SchemaIrError, 500),
    (errors.UnreadableError, 500),
    (errors.ConfigError, 500),
    (errors.StoreError, 503),
    (errors.ReadOnlyError, 403),
    (errors.InputError, 400),
    (errors.GraphNotFoundError, 500),
    (errors.HistoryGapError, 410),
    (errors.NotFoundError, 404),
    (errors.DeniedError, 403),
    (errors.ConflictError, 409),
    (errors.BudgetError, 400),
    (errors.ResultOverflowError, 400),
    (errors.CancelledError, 503),
    (errors.StorageError, 503),
    (errors.EmbeddingModelError, 409),
    (errors.EmbeddingError, 502),
    (errors.UnavailableError, 501),
    (OmniGraphError, 500),
)
# What is said of failures of the server's own, whose messages may name places and keys.
_SAID = {
    "graph_not_found": "the graph is gone",
    "graph_replaced": "the graph was replaced by another; start the server again to serve that one",
    "store_unusable": "the store cannot be used; nothing was done",
    "storage_failed": "the store failed; nothing was done",
    "outcome_unknown": "the store failed, and nobody can tell whether it was done",
    "embedding_failed": "no vector could be made of a text; nothing was done",
    "spark_failed": "a job on Spark failed; nothing was done",
}
_KINDS = {401: "unauthorized", 403: "forbidden", 404: "not_found", 409: "conflict"}
_INTERNAL = "the server failed; its log has more under this request id"


class Refusal(Exception):
    """A request that is not served: with which status, and what is said about it."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        detail: Mapping[str, Json] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers or {}
        self.detail = detail or {}

    def to_json(self, request_id: str) -> dict[str, Json]:
        """Return the body of the answer."""
        found: dict[str, Json] = {
            "error": self.message,
            "code": self.code,
            "kind": kind_of(self.status),
        }
        for name in ("merge_conflicts", "manifest_conflict"):
            found |= {name: self.detail[name]} if name in self.detail else {}
        whole = {"error": self.message, "code": self.code, "hint": None, **self.detail}
        return {**found, "detail": whole, "request_id": request_id}


def cut_off(*, changes: bool) -> Refusal:
    """Return the answer to a request whose work goes on while the server ends."""
    if changes:
        message = "the server stopped before it ended, and nobody can tell whether it was done"
        return Refusal(500, "outcome_unknown", message)
    return Refusal(503, "cancelled", "the server stopped before it ended", {"Retry-After": "1"})


def kind_of(status: int) -> str:
    """Return the coarse kind of a refusal, one of six, by its status."""
    return _KINDS.get(status, "internal" if status >= 500 else "bad_request")


def refusal_of(error: OmniGraphError) -> Refusal:
    """Return the answer that stands for an error; the server's own are told without details."""
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    headers = {"Retry-After": "1"} if status == 503 else None
    if status in (500, 502) or error.code in _SAID:
        return Refusal(status, error.code, _SAID.get(error.code, _INTERNAL), headers)
    return Refusal(status, error.code, error.message, headers, error.to_json())


def internal() -> Refusal:
    """Return the answer to a request at which the server itself went wrong."""
    return Refusal(500, "internal", _INTERNAL)
