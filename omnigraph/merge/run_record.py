"""Run record: one run: where it publishes to, where it writes, and how it ended."""

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any, Self

from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.html import html_facts, notebook_part
from omnigraph.versioning.commit import time_text


class RunStatus(StrEnum):
    """How far a run has come."""

    RUNNING = "running"
    PUBLISHED = "published"
    FAILED = "failed"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RunRecord:
    """A run: where it publishes to, where it writes, and how it ended.

    Whoever may not read the target is not told where it stood or stands.
    """

    run_id: str
    target_branch: str
    run_branch: str
    base_snapshot_id: str | None
    base_manifest_version: int | None
    operation_hash: str | None
    actor_id: str | None
    status: RunStatus
    published_snapshot_id: str | None
    created_at: int
    updated_at: int

    def __repr__(self) -> str:
        made = "" if self.actor_id is None else f", actor={self.actor_id!r}"
        begun = f"begun {time_text(self.created_at)}"
        about = f"{self.run_id!r}, '{self.status}', into {self.target_branch!r}{made}, {begun}"
        return f"RunRecord({about})"

    def _repr_html_(self) -> str:
        facts = [
            ("status", self.status),
            ("target", self.target_branch),
            ("branch", self.run_branch),
            ("actor", self.actor_id),
            ("begun", time_text(self.created_at)),
            ("changed", time_text(self.updated_at)),
            ("published as", self.published_snapshot_id),
        ]
        return notebook_part(html_facts(f"Run {self.run_id}", facts))

    def to_json(self) -> dict[str, Json]:
        """Return the record as JSON."""
        found: dict[str, Json] = asdict(self)
        return {**found, "status": str(self.status)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the record that `to_json` wrote."""
        return cls(**{**document, "status": RunStatus(document["status"])})
