"""Snapshot: one commit with its catalog and tables, where every read and write starts."""

from collections.abc import Callable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast

from omnigraph.errors import Json, StorageError, TableNotFoundError, UnavailableError
from omnigraph.frozen import dataclass
from omnigraph.html import html_facts, html_table, notebook_part
from omnigraph.schema.catalog import Catalog
from omnigraph.versioning.commit import Commit, Models, TableState, commit_named, with_commits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnigraph.storage.table import Table
    from omnigraph.storage.tables import Tables


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole graph at one commit; the head is not looked at again while it is used."""

    commit: Commit
    catalog: Catalog = field(repr=False)
    tables: "Tables" = field(repr=False, compare=False)
    refuse_cleaned: Callable[[str], None] = field(repr=False, compare=False)

    @property
    def version(self) -> int:
        return self.commit.version

    def _repr_html_(self) -> str:
        return notebook_part(snapshot_html(self))

    def table(self, key: str) -> "Table":
        """Return the table of a key such as `node:Person`; see `state`."""
        state = self.state(key)
        try:
            return self.tables.open(state.path, state.version, rows=state.row_count)
        except StorageError:
            self.refuse_cleaned(self.commit.id)
            raise

    def state(self, key: str) -> TableState:
        """Return the path, version and row count of a table.

        Its key is the identity of its type, which is the name under which the type was first
        accepted, or the name that the type has at this commit.
        """
        found = self.commit.tables.get(key)
        if found is None:
            stored = self.catalog.by_table_key.get(key)
            found = None if stored is None else self.commit.tables.get(stored.identity)
        if found is None:
            known = ", ".join(map(self.key_of, self.commit.tables)) or "none"
            raise TableNotFoundError(f"no table '{key}'", hint=f"the tables are: {known}")
        return found

    def models(self, key: str) -> Models:
        """Return the models that filled the vector properties of a table; a new one has none."""
        found = self.commit.tables.get(key)
        return () if found is None else found.models

    def key_of(self, identity: str) -> str:
        """Return the key by which users know the table of a type, by the name it has here."""
        stored = self.catalog.by_identity.get(identity)
        return identity if stored is None else stored.table_key

    def to_json(self, branch: str) -> dict[str, Json]:
        """Return the snapshot of a branch as JSON."""
        return {
            "branch": branch,
            "manifest_version": self.version,
            "commit": self.commit.id,
            "tables": [
                {
                    "table_key": self.key_of(key),
                    "table_path": state.path,
                    "table_version": str(state.version),
                    "table_branch": state.branch,
                    "row_count": state.row_count,
                }
                for key, state in self.commit.tables.items()
            ],
        }

    def to_answer(self, branch: str) -> dict[str, Json]:
        """Return the JSON from which `from_json` reads the snapshot back."""
        return with_commits(self.to_json(branch), self.commit)

    @classmethod
    def from_json(cls, document: "Mapping[str, Any]", catalog: Catalog) -> Self:
        """Return a snapshot whose tables are described but cannot be opened."""
        types = catalog.by_table_key
        states = {
            types[each["table_key"]].identity: TableState(
                each["table_path"],
                int(each["table_version"]),
                each["row_count"],
                each["table_branch"],
            )
            for each in document["tables"]
        }
        commit = replace(commit_named(document, "commit"), tables=states)
        return cls(commit, catalog, cast("Tables", _NoTables()), lambda _: None)


def snapshot_html(snapshot: Snapshot) -> str:
    """Return a snapshot as a part of a page: where it is, and the rows of each type."""
    commit = snapshot.commit
    counts = [
        (kind, stored.name, f"{commit.tables[stored.identity].row_count:,}")
        for kind, types in (("node", snapshot.catalog.nodes), ("edge", snapshot.catalog.edges))
        for stored in types.values()
    ]
    facts = [
        ("commit", commit.id),
        ("branch", commit.branch),
        ("version", commit.version),
        ("actor", commit.actor),
        ("message", commit.message),
    ]
    return html_facts("", facts, html_table(("kind", "type", "rows"), counts) if counts else "")


class _NoTables:
    """The tables of a graph that is on a server."""

    def open(self, *_: object) -> NoReturn:
        hint = "run a query, or open the graph itself"
        raise UnavailableError("a server does not hand out tables", hint=hint)
