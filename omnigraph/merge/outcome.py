"""Outcome: what a merge did or would do."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Self

from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.html import html_facts, html_table, notebook_part
from omnigraph.look.colours import colour_types
from omnigraph.merge.compare.differences import render_counts
from omnigraph.merge.compare.row_change import Op, stats_from_json, stats_json
from omnigraph.merge.conflict import Conflict
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.values import to_json_value
from omnigraph.syntax.problems import shorten
from omnigraph.versioning.commit import Commit, commit_if_named, commit_named, with_commits


class Outcome(StrEnum):
    """What a merge came to."""

    ALREADY_UP_TO_DATE = "already_up_to_date"
    FAST_FORWARD = "fast_forward"
    MERGED = "merged"
    CONFLICTS = "conflicts"


def _sides(conflict: Conflict) -> tuple[object, object, object]:
    return conflict.base, conflict.ours, conflict.theirs


def _text(value: object) -> str:
    return "null" if value is None else shorten(str(value))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Merge:
    """What a merge did or would do; `stats` counts rows by type and operation."""

    source: str
    target: str
    outcome: Outcome
    base: Commit
    ours: Commit
    theirs: Commit
    stats: Mapping[str, Mapping[Op, int]]
    conflicts: tuple[Conflict, ...] = ()
    commit: Commit | None = None

    def __repr__(self) -> str:
        commit = None if self.commit is None else self.commit.id
        sides = f"{self.source!r} into {self.target!r}"
        count = len(self.conflicts)
        found = f", {count} conflict{'' if count == 1 else 's'}" if count else ""
        return f"Merge({sides}, outcome='{self.outcome}'{found}, commit={commit!r})"

    def _repr_html_(self) -> str:
        counts = render_counts(self.stats, colour_types(self.stats))
        shown = [
            (each.type, each.row_id or "", each.property or "", *map(_text, _sides(each)))
            for each in self.conflicts
        ]
        head = ("type", "id", "property", "base", "ours", "theirs")
        more = counts + (html_table(head, shown) if shown else "")
        return notebook_part(html_facts(repr(self), (), more), "diff")

    def conflicts_json(self) -> list[dict[str, Json]]:
        """Return the conflicts as JSON, each with who is on its sides."""
        return [self._conflict(each) for each in self.conflicts]

    def to_json(self) -> dict[str, Json]:
        """Return the merge as JSON."""
        return {
            "source": self.source,
            "target": self.target,
            "outcome": str(self.outcome),
            "actor_id": None if self.commit is None else self.commit.actor,
            "commit": None if self.commit is None else self.commit.id,
            "base_commit": self.base.id,
            "stats": stats_json(self.stats),
            "merge_conflicts": list(self.conflicts_json()),
        }

    def to_answer(self) -> dict[str, Json]:
        """Return the JSON from which `from_json` reads the merge back."""
        sides: dict[str, Json] = {"ours_commit": self.ours.id, "theirs_commit": self.theirs.id}
        commits = (self.base, self.ours, self.theirs, self.commit)
        return with_commits({**self.to_json(), **sides}, *commits)

    @classmethod
    def from_json(cls, document: Mapping[str, Any], catalog: Callable[[], Catalog]) -> Self:
        """Return the merge that `to_answer` wrote; the catalog is asked for with conflicts."""
        written = document["merge_conflicts"]
        types = catalog() if written else None
        return cls(
            source=document["source"],
            target=document["target"],
            outcome=Outcome(document["outcome"]),
            base=commit_named(document, "base_commit"),
            ours=commit_named(document, "ours_commit"),
            theirs=commit_named(document, "theirs_commit"),
            stats=stats_from_json(document["stats"]),
            conflicts=tuple(Conflict.from_json(each, types) for each in written),
            commit=commit_if_named(document),
        )

    def _conflict(self, conflict: Conflict) -> dict[str, Json]:
        return {
            "kind": str(conflict.kind),
            "table_key": conflict.table_key,
            "type_name": conflict.type,
            "row_id": conflict.row_id,
            "property": conflict.property,
            "message": conflict.message,
            "base": to_json_value(conflict.base),
            "ours": to_json_value(conflict.ours),
            "theirs": to_json_value(conflict.theirs),
            "ours_commit": self.ours.id,
            "ours_actor": self.ours.actor,
            "theirs_commit": self.theirs.id,
            "theirs_actor": self.theirs.actor,
        }
