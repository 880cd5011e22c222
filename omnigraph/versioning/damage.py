"""Damage: the kinds of damage that a graph can have; their names are stable."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

from omnigraph.errors import Json
from omnigraph.frozen import dataclass


class Damage(StrEnum):
    """The kinds of damage; their names are stable."""

    LEDGER_UNREADABLE = "ledger_unreadable"
    ROW_UNKNOWN = "row_unknown"
    ROW_TWICE = "row_twice"
    ROW_DANGLING = "row_dangling"
    COMMIT_UNREADABLE = "commit_unreadable"
    COMMIT_DISAGREES = "commit_disagrees"
    COMMIT_LOST = "commit_lost"
    PARENT_MISSING = "parent_missing"
    PARENT_ORDER = "parent_order"
    HEAD_UNREADABLE = "head_unreadable"
    HEAD_MISSING = "head_missing"
    HEAD_DISAGREES = "head_disagrees"
    HEAD_CLEANED = "head_cleaned"
    FIRST_COMMIT_MISSING = "first_commit_missing"
    VERSION_ROW_MISSING = "version_row_missing"
    VERSION_ROW_DISAGREES = "version_row_disagrees"
    SCHEMA_MISSING = "schema_missing"
    SCHEMA_DAMAGED = "schema_damaged"
    SCHEMA_FILE_DIFFERS = "schema_file_differs"
    TABLE_MISSING = "table_missing"
    TABLE_UNKNOWN = "table_unknown"
    TABLE_SCHEMA = "table_schema"
    VERSION_MISSING = "version_missing"
    VERSION_UNREADABLE = "version_unreadable"
    DATA_MISSING = "data_missing"
    DATA_SIZE = "data_size"
    DELETIONS_MISSING = "deletions_missing"
    INDEX_MISSING = "index_missing"
    INDEX_SIZE = "index_size"
    INDEX_WRONG = "index_wrong"
    ROW_COUNT = "row_count"
    ROWS_UNREADABLE = "rows_unreadable"
    ID_TWICE = "id_twice"
    END_MISSING = "end_missing"
    RUN_UNREADABLE = "run_unreadable"
    RUN_BRANCH_MISSING = "run_branch_missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One damage: its kind, what is damaged, and how."""

    kind: Damage
    where: str
    message: str

    def to_json(self) -> dict[str, Json]:
        return {"kind": str(self.kind), "where": self.where, "message": self.message}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the finding that `to_json` wrote."""
        return cls(Damage(document["kind"]), document["where"], document["message"])
