"""Options: who merges, on what terms, and how tables of any size are merged."""

from collections.abc import Mapping
from dataclasses import field
from hashlib import sha256
from typing import Protocol

from omnigraph.frozen import dataclass
from omnigraph.merge.conflict import Resolutions
from omnigraph.merge.rowmerge import MergedType, TypeMerge
from omnigraph.merge.settle import SettledRows
from omnigraph.merge.stored_change import Soundness, StoredChange
from omnigraph.merge.threeway import Terms
from omnigraph.spark.deadline import Deadline
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import Models
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent
from omnigraph.write.draft import TypeChange
from omnigraph.write.filling import VectorFiller
from omnigraph.write.load.aside import Aside


class BulkMerger(Protocol):
    """Merges tables in which more rows changed than are held in memory at once."""

    @property
    def deadline(self) -> Deadline:
        """Until when the merge may run."""

    def takes(self, type_merge: TypeMerge) -> bool:
        """Whether a type is merged this way."""

    def merged(self, type_merge: TypeMerge, terms: Terms, aside: Aside | None) -> MergedType:
        """Merge a type without writing it; finds only what rules between rows read.

        It is kept in files of `aside`; without that, this process holds it.
        """

    def soundness(
        self, ours: Snapshot, changes: Mapping[str, StoredChange], aside: Aside
    ) -> Soundness:
        """Return whether the rules between rows hold on what a merge would leave."""

    def written(
        self,
        type_merge: TypeMerge,
        terms: Terms,
        change: TypeChange,
        settled: SettledRows,
        vectors: VectorFiller | None,
    ) -> tuple[Table, Models]:
        """Write the result of `merged`; rows that were settled since are as `change` has them.

        Vectors that no side made are made by `vectors`. Returns the models of these, too.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeOptions:
    """Who merges, and whose version is taken where both sides changed the same.

    Without `bulk` every table is merged in this process' memory. An `operation_id` that was used
    before returns the result of that time. With `holds` the source is a branch that must not have
    moved when the merge is published. With `expect` the target has to stand at this commit.
    """

    actor: str | None = None
    message: str | None = None
    operation_id: str | None = None
    resolutions: Resolutions = field(default_factory=Resolutions)
    strict: bool = False
    bulk: BulkMerger | None = None
    holds: bool = False
    expect: str | None = None

    @property
    def deadline(self) -> Deadline:
        """Until when the merge may run."""
        return Deadline() if self.bulk is None else self.bulk.deadline

    def check(self) -> None:
        """Raise when the deadline has passed; not called once a merge begins to publish."""
        self.deadline.check()

    @property
    def terms(self) -> Terms:
        """The terms on which rows are merged."""
        return Terms(self.resolutions, self.strict)

    def intent(self, target: str, verb: str, source: str) -> Intent:
        """Return the intent of a merge; its request says what is merged, and on what terms."""
        values = dict(self.resolutions.values)
        asked = repr(((verb, source, target), self.resolutions.with_sorted_sides, self.strict))
        asked += repr(sorted(values.items(), key=repr)) if values else ""
        joined = dict(self.resolutions.joined)
        asked += repr(("joined", sorted(joined.items()))) if joined else ""
        rules = dict(self.resolutions.rules)
        asked += repr(("rules", sorted(rules.items()))) if rules else ""
        is_named = self.operation_id is not None
        return Intent(
            branch=target,
            actor=self.actor,
            message=self.message,
            expect=self.expect,
            operation_id=self.operation_id,
            request=sha256(asked.encode()).hexdigest() if is_named else None,
            check=self.check,
        )
