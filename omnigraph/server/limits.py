"""Limits: how much the server takes of a connection, a request and an actor."""

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Self

from omnigraph.api.budgets import Budgets
from omnigraph.api.operation import Work
from omnigraph.errors import BudgetError
from omnigraph.frozen import dataclass

MIB = 1 << 20

_ADVICE = {
    Work.QUERY: "ask for less: a filter, a limit, fewer hops",
    Work.LOAD: "load fewer rows at a time",
    Work.MERGE: "merge more often, so that less has changed",
    Work.EXPORT: "export some of the types at a time",
    Work.CHANGES: "ask for some of the types, or for commits that are nearer to each other",
    Work.WRITE: "run it where the graph itself is, which has no limit",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a client may send and use; times are in seconds.

    `threads` requests are worked on at the same time, `share` of them for one actor when there are
    others, and `waiting` more of an actor may wait for their turn. An actor has at most `streams`
    answers that are too large to be made at once; each has to be taken within `answer_seconds`.
    It follows at most `feeds` branches at a time in one process.

    The seconds of a load and a merge are `write_seconds` unless they are set, and those of changes
    `export_seconds`.
    """

    body_bytes: int = MIB
    ingest_bytes: int = 32 * MIB
    header_bytes: int = 32 << 10
    header_count: int = 100
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    ingest_seconds: float = 300.0
    send_seconds: float = 60.0
    keep_alive_seconds: int = 15
    connections: int = 512
    address_connections: int = 256
    threads: int = 2 * (os.cpu_count() or 1)
    share: int = max(1, (os.cpu_count() or 1) // 2)
    waiting: int = 64
    query_seconds: float = 60.0
    query_bytes: int = 1024 * MIB
    answer_seconds: float = 600.0
    streams: int = 2 * (os.cpu_count() or 1)
    feeds: int = 32
    load_seconds: float | None = None
    load_bytes: int = 1024 * MIB
    merge_seconds: float | None = None
    merge_bytes: int = 1024 * MIB
    export_seconds: float = 3600.0
    export_bytes: int = 64 * 1024 * MIB
    changes_seconds: float | None = None
    changes_bytes: int = 1024 * MIB
    write_seconds: float = 600.0
    stop_seconds: float = 30.0

    def with_values(self, values: Mapping[str, Any]) -> Self:
        """Return the limits with some others."""
        return replace(self, **values) if values else self

    def within(self, budgets: Budgets, actor: str | None) -> Self:
        """Return the limits that hold for an actor on a graph."""
        return self.with_values(budgets.of(actor))

    def seconds_of(self, work: Work) -> float:
        """Return how long some work may take."""
        match work:
            case Work.LOAD:
                return self.write_seconds if self.load_seconds is None else self.load_seconds
            case Work.MERGE:
                return self.write_seconds if self.merge_seconds is None else self.merge_seconds
            case Work.CHANGES:
                return self.export_seconds if self.changes_seconds is None else self.changes_seconds
            case Work.QUERY | Work.EXPORT | Work.WRITE:
                return float(getattr(self, f"{work}_seconds"))

    def bytes_of(self, work: Work) -> int | None:
        """Return how much some work may hold in memory; None for work that holds a fixed part."""
        return None if work in (Work.EXPORT, Work.WRITE) else int(getattr(self, f"{work}_bytes"))

    def explain(self, work: Work, exceeded: BudgetError) -> BudgetError:
        """Return an error that says which limit of the server it was, and what can be done."""
        if exceeded.limit not in ("seconds", "bytes"):
            return exceeded
        setting = exceeded.setting or f"{work}_{exceeded.limit}"
        hint = f"{_ADVICE[work]}; who runs the server can raise its limit {setting}"
        return BudgetError(exceeded.message, limit=exceeded.limit, hint=hint)


def parse_limit(text: str) -> tuple[str, float]:
    """Return the name and the value of a limit such as `threads=4`; raise ValueError for others."""
    name, _, value = text.partition("=")
    known = {each.name: each.default for each in fields(Limits)}
    if name not in known:
        raise ValueError(f"no limit '{name}'; the limits are: {', '.join(known)}")
    try:
        number = int(value) if isinstance(known[name], int) else float(value)
    except ValueError:
        raise ValueError(f"the limit '{name}' is a number, not '{value}'") from None
    if not number > 0:
        raise ValueError(f"the limit '{name}' has to be more than 0")
    return name, number
