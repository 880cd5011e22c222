"""Noted: what a commit keeps of its change for when it is repeated, and the receipt made of it."""

import json
from typing import Any

from omnigraph.errors import Json
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.transact import Intent
from omnigraph.write.counts import RowCounts
from omnigraph.write.receipt import Receipt


def note(request: str | None, found: dict[str, Json]) -> str | None:
    """Return what a commit stores: the request, and what was found for when it is repeated."""
    return None if request is None else f"{request} {json.dumps(found)}"


def noted(intent: Intent, commit: Commit | None) -> dict[str, Any] | None:
    """Return what was found when the commit of a change was made; None if it does not say."""
    stored = None if commit is None else commit.request
    if stored is None or intent.request is None or not stored.startswith(f"{intent.request} "):
        return None
    found: dict[str, Any] = json.loads(stored.removeprefix(f"{intent.request} "))
    return found


def receipt(name: str, counts: RowCounts | None, intent: Intent, commit: Commit | None) -> Receipt:
    """Return the receipt of a change that was made, now or at an earlier time, or was none."""
    nodes, edges = (0, 0) if commit is None or commit.affected is None else commit.affected
    return Receipt(
        branch=intent.branch if commit is None else commit.branch,
        query_name=name,
        affected_nodes=nodes,
        affected_edges=edges,
        counts=counts,
        commit=commit,
        actor=intent.actor if commit is None else commit.actor,
    )
