"""Plain: answers as values that can be compared, whoever gave them and whenever."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any

import networkx

from omnigraph.api.profile import Explanation, Profile
from omnigraph.data.result import Result
from omnigraph.errors import OmniGraphError
from omnigraph.merge.compare.change_set import ChangeSet
from omnigraph.read.blob import Blob
from omnigraph.schema.catalog import Catalog
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.snapshot import Snapshot

_ULID = re.compile(r"\b(?:__run__)?[0-7][0-9A-HJKMNP-TV-Z]{25}\b")
_TIMES = ("at", "created_at", "updated_at", "milliseconds")


@dataclass(frozen=True)
class Raised:
    """An error: its class, and all that it tells."""

    kind: str
    told: object


class Plain:
    """Numbers ids in the order in which they are seen; times are left out."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def of(self, value: Any) -> Any:
        """Return a value in a form that is equal for equal answers."""
        match value:
            case None | bool() | int() | float() | bytes() | datetime() | date() | Catalog():
                return value
            case Enum():
                return type(value).__name__, value.value
            case str():
                return _ULID.sub(self._numbered, value)
            case OmniGraphError():
                return self._error(value)
            case networkx.MultiDiGraph():
                nodes, edges = value.nodes(data=True), value.edges(keys=True, data=True)
                return self.of(list(nodes)), self.of(list(edges))
            case Result() | Profile() | Explanation() | Blob():
                return self._read(value)
            case ChangeSet() | Commit() | Snapshot():
                return self._recorded(value)
        return self._other(value)

    def _read(self, value: Result | Profile | Explanation | Blob) -> object:
        match value:
            case Result():
                return "Result", value.query_name, str(value.table.schema), self.of(list(value))
            case Profile():
                operators = [(cost.operators, cost.rows) for cost in value.costs]
                return "Profile", self.of(value.result), str(value.road), self.of(operators)
            case Explanation():
                return "Explanation", str(value), value.to_json()
            case Blob():
                content = value.read() if value.uri is None else None
                return "Blob", value.uri, value.size, content

    def _recorded(self, value: ChangeSet | Commit | Snapshot) -> object:
        match value:
            case Commit():
                document = value.to_json()
                return "Commit", {n: self.of(v) for n, v in document.items() if n not in _TIMES}
            case Snapshot():
                counts = {name: each.row_count for name, each in value.commit.tables.items()}
                return "Snapshot", self.of(value.commit), counts, self.of(value.catalog)
            case ChangeSet():
                versions = value.from_version, value.to_version, value.branch
                changes = self.of(value.stats), self.of(list(value))
                return "ChangeSet", repr(value), versions, value.schema_steps, changes

    def _other(self, value: Any) -> object:
        if is_dataclass(value):
            named = {each.name: getattr(value, each.name) for each in fields(value)}
            return type(value).__name__, {
                n: self.of(v) for n, v in named.items() if n not in _TIMES
            }
        if isinstance(value, Mapping):
            return {self.of(name): self.of(each) for name, each in value.items()}
        if isinstance(value, Iterable):
            return [self.of(each) for each in value]
        return type(value).__name__, self.of(value.place)

    def _error(self, error: OmniGraphError) -> "Raised":
        about = error.to_json(), error.render(), error.args, error.__dict__
        return Raised(type(error).__name__, self.of(about))

    def _numbered(self, found: re.Match[str]) -> str:
        return self._ids.setdefault(found[0], f"id-{len(self._ids)}")
