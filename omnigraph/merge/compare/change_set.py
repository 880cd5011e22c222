"""Change set: the net changes from one commit to another, read here or sent by a server."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from html import escape
from itertools import islice
from typing import Any

from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.look.colours import colour_types
from omnigraph.merge.compare.differences import render_counts, render_differences
from omnigraph.merge.compare.row_change import (
    Change,
    Op,
    stats_from_json,
    stats_json,
)
from omnigraph.notebook.picture import Picture
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.migration import plan_schema_migration
from omnigraph.schema.steps import MigrationStep, step_json
from omnigraph.versioning.commit import Commit

_SHOWN_CHANGES = 20


class ChangeSet(ABC):
    """The net changes from one commit to another; iterating reads them."""

    @property
    @abstractmethod
    def from_version(self) -> int:
        """The version of the older commit."""

    @property
    @abstractmethod
    def to_version(self) -> int:
        """The version of the newer commit."""

    @property
    @abstractmethod
    def old_commit(self) -> str:
        """The id of the older commit."""

    @property
    @abstractmethod
    def new_commit(self) -> str:
        """The id of the newer commit."""

    @property
    @abstractmethod
    def branch(self) -> str | None:
        """The branch that was compared to; None when a commit or a tag was, and in a feed."""

    @property
    @abstractmethod
    def stats(self) -> Mapping[str, Mapping[Op, int]]:
        """Rows of each type that were inserted, deleted and updated."""

    @property
    @abstractmethod
    def schema_steps(self) -> tuple[MigrationStep, ...]:
        """The steps that lead from the older schema to the newer one."""

    @abstractmethod
    def __iter__(self) -> Iterator[Change]: ...

    def __repr__(self) -> str:
        return f"ChangeSet({self.from_version} → {self.to_version})"

    def picture(self, most: int = 100) -> Picture:
        """Return the first changes as a picture for notebooks: before, after, and what is left."""
        stats = self.stats
        colours = colour_types(stats)
        shown = list(islice(self, most))
        more = sum(sum(counts.values()) for counts in stats.values()) - len(shown)
        steps = "".join(f"<p>schema: {escape(str(step))}</p>" for step in self.schema_steps)
        found = render_counts(stats, colours) + render_differences(shown, colours)
        below = f"… and {more:,} more changes" if more > 0 else "" if shown else "no row differs"
        foot = f'<p class="soft">{below}</p>' if below else ""
        return Picture(repr(self), steps + (found if shown else "") + foot, sheets=("diff",))

    def _repr_html_(self) -> str:
        return self.picture(_SHOWN_CHANGES)._repr_html_()

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        return self.picture()._repr_mimebundle_()

    def documents(self) -> Iterator[dict[str, Json]]:
        """Yield the changes one by one, each as JSON with the version in which it is there."""
        return ({**change.to_json(), "manifest_version": self.to_version} for change in self)

    def summary(self) -> dict[str, Json]:
        """Return everything but the rows as JSON: versions, counts and schema steps."""
        steps: list[Json] = [{**step_json(step), "text": str(step)} for step in self.schema_steps]
        return {
            "from_version": self.from_version,
            "to_version": self.to_version,
            "branch": self.branch,
            "stats": stats_json(self.stats),
            "schema_steps": steps,
        }

    def to_json(self) -> dict[str, Json]:
        """Return all changes as JSON."""
        return {
            "from_version": self.from_version,
            "to_version": self.to_version,
            "branch": self.branch,
            "changes": list(self.documents()),
            "stats": stats_json(self.stats),
            "schema_steps": [step_json(step) for step in self.schema_steps],
        }


@dataclass(frozen=True, repr=False)
class SentChanges(ChangeSet):
    """Net changes as a server sent them; catalogs are fetched when values are needed."""

    document: Mapping[str, Any] = field(repr=False)
    catalogs: Callable[[], tuple[Catalog, Catalog]] = field(repr=False)

    @property
    def from_version(self) -> int:
        return int(self.document["from_version"])

    @property
    def to_version(self) -> int:
        return int(self.document["to_version"])

    @property
    def old_commit(self) -> str:
        return str(self.document["from_commit"])

    @property
    def new_commit(self) -> str:
        return str(self.document["to_commit"])

    @property
    def branch(self) -> str | None:
        found: str | None = self.document.get("branch")
        return found

    @property
    def stats(self) -> Mapping[str, Mapping[Op, int]]:
        return stats_from_json(self.document["stats"])

    @cached_property
    def schema_steps(self) -> tuple[MigrationStep, ...]:
        if not self.document["schema_steps"]:
            return ()
        return plan_schema_migration(*self.catalogs()).steps

    def __iter__(self) -> Iterator[Change]:
        if not self.document["changes"]:
            return
        old, new = self.catalogs()
        for each in self.document["changes"]:
            yield Change.from_json(each, (new, old))

    def documents(self) -> Iterator[dict[str, Json]]:
        return iter(self.document["changes"])

    def summary(self) -> dict[str, Json]:
        names = ("from_version", "to_version", "branch", "stats", "schema_steps")
        return {name: self.document.get(name) for name in names}


@dataclass(frozen=True, slots=True)
class CommitChanges:
    """What one commit of a branch changed; its id is the cursor to continue from."""

    commit: Commit
    changes: ChangeSet

    @property
    def cursor(self) -> str:
        return self.commit.id

    def summary(self) -> dict[str, Json]:
        """Return the commit and everything but the rows of its changes as JSON."""
        found = self.changes.summary()
        del found["to_version"], found["branch"]
        return {"commit": self.commit.to_json(), **found}

    @classmethod
    def from_json(
        cls, document: Mapping[str, Any], catalogs: Callable[[], tuple[Catalog, Catalog]]
    ) -> "CommitChanges":
        """Return what one commit changed, as a server sent it."""
        commit = Commit.from_json(document["commit"])
        ends = {"from_commit": commit.parent, "to_commit": commit.id, "to_version": commit.version}
        return cls(commit, SentChanges({**document, **ends}, catalogs))
