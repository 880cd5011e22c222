"""Reading: the handlers of requests that change nothing."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeVar

import msgspec

from omnigraph import __version__
from omnigraph.api import wire
from omnigraph.data.result import json_value
from omnigraph.errors import InputError, Json, OmniGraphError
from omnigraph.merge.changes import ChangeSet, CommitChanges
from omnigraph.schema.codec import content_hash, encode_catalog
from omnigraph.server.call import (
    ARROW,
    JSON,
    LINES,
    Answer,
    Call,
    Whole,
    json_answer,
    place,
)
from omnigraph.server.metrics import MEDIA_TYPE
from omnigraph.server.refusal import Refusal
from omnigraph.storage.layout import FORMAT
from omnigraph.versioning.names import MAIN

_Item = TypeVar("_Item")
_CHANGES_AT_A_TIME = 500
_BYTES_AT_A_TIME = 256 << 10


def about(_: Call) -> Answer:
    """Tell what this is, and where it is described."""
    return json_answer(
        {
            "name": "omnigraph-server",
            "version": __version__,
            "format_version": FORMAT,
            "openapi": "/openapi.json",
            "health": "/healthz",
        }
    )


def health(call: Call) -> Answer:
    """Tell that the server answers, and whether it works with old tokens or an old policy."""
    failing: list[Json] = [*sorted(call.about.metrics.failing)]
    return json_answer(
        {
            "status": "ok",
            "version": __version__,
            "format_version": FORMAT,
            "reload_failing": failing,
        }
    )


def ready(call: Call) -> Answer:
    """Tell that the graph can be read; a Refusal when it cannot."""
    try:
        call.graph.repository.manifest.newest()
    except OmniGraphError:
        raise Refusal(503, "not_ready", "the graph cannot be read now") from None
    return health(call)


def metrics(call: Call) -> Answer:
    """Give what the server counts."""
    return Whole(call.about.metrics.text().encode(), MEDIA_TYPE)


def openapi(call: Call) -> Answer:
    """Give the OpenAPI document of the server."""
    return Whole(call.about.openapi)


def snapshot(call: Call) -> Answer:
    """Give the tables of a branch or commit, or of a branch as it was at a version."""
    asked = call.query
    where = place(asked.branch, asked.snapshot, MAIN)
    if asked.version is None:
        found = call.graph.snapshot(where)
    elif asked.snapshot is not None:
        raise InputError("a version is one of a branch", hint="leave the snapshot out")
    else:
        found = call.graph.snapshot_at_version(asked.version, where)
    return json_answer(wire.snapshot_json(found, where))


def entity(call: Call) -> Answer:
    """Give a node or edge as it was at a version of a branch."""
    asked = call.query
    found = call.graph.entity_at(asked.table, asked.id, asked.version, asked.branch)
    return json_answer({"entity": json_value(found)})


def read(call: Call) -> Answer:
    """Run a read, or tell how it would be run."""
    asked = call.body
    where = place(asked.branch, asked.snapshot, MAIN)
    view = call.graph.at(where, budget=call.budget, cancelled=call.cancelled)
    params = asked.params or {}
    about: dict[str, Json] = {
        "branch": None if asked.snapshot else where,
        "snapshot": asked.snapshot,
    }
    if asked.mode == "explain":
        explained = view.explain(asked.query_source, asked.query_name)
        head: dict[str, Json] = {"query_name": explained.plan.name, "target": about}
        return json_answer({**head, **explained.to_json()})
    if asked.mode == "profile":
        profile = view.profile(asked.query_source, asked.query_name, **params)
        if call.accept == ARROW:
            return call.rows(profile.to_ipc(), ARROW)
        head = {"query_name": profile.result.query_name, "target": about}
        return json_answer({**head, **profile.to_json()})
    found = view.stream(asked.query_source, asked.query_name, **params)
    if call.accept == ARROW:
        return call.rows(found.to_ipc(), ARROW)
    head = {
        "query_name": found.query_name,
        "target": about,
        "row_count": found.count,
        "columns": [*found.columns],
    }
    return call.rows(_listed(head, "rows", found.to_json()), JSON)


def export(call: Call) -> Answer:
    """Give the rows of a branch or commit as JSON lines, while they are read."""
    asked = call.body
    where = place(asked.branch, asked.snapshot, MAIN)
    view = call.graph.at(where, cancelled=call.cancelled)
    parts = view.export(types=asked.type_names or (), tables=asked.table_keys or ())
    return call.export(parts, LINES)


def schema(call: Call) -> Answer:
    """Give the text of a schema: as JSON, or as it is for those who accept plain text."""
    view = call.graph.at(place(call.query.branch, call.query.snapshot, MAIN))
    if call.accept == "text/plain":
        return Whole(view.schema.encode(), "text/plain; charset=utf-8")
    catalog = view.catalog
    return json_answer(
        {
            "schema_source": view.schema,
            "schema_hash": content_hash(catalog),
            "schema_ir": encode_catalog(catalog),
        }
    )


def plan_schema(call: Call) -> Answer:
    """Tell what a schema would change on a branch, and what is in its way."""
    planned = call.graph.plan_schema(call.body.schema_source, call.body.branch)
    return json_answer({"uri": call.graph_name, **planned.to_json()})


def fsck(call: Call) -> Answer:
    """Check everything that the graph is made of, and name all damage."""
    return json_answer(call.graph.fsck().to_json(call.graph_name))


def coverage(call: Call) -> Answer:
    """Tell for each index how many rows are in it, and why not all."""
    where = place(call.query.branch, call.query.snapshot, MAIN)
    indexes: list[Json] = [each.to_json() for each in call.graph.coverage(where)]
    return json_answer({"uri": call.graph_name, "branch": where, "indexes": indexes})


def diff(call: Call) -> Answer:
    """Give the net changes from one branch or commit to another, while they are read."""
    asked = call.body
    found = call.graph.diff(
        asked.old,
        asked.new,
        types=asked.types or (),
        ops=asked.ops or (),
        kinds=asked.kinds or (),
    )
    head: dict[str, Json] = {
        "from_version": found.from_version,
        "to_version": found.to_version,
        "from_commit": found.old.commit.id,
        "to_commit": found.new.commit.id,
        **wire.changes_json(found),
    }
    if asked.stat:
        return json_answer({**head, "changes": []})
    return call.export(_listed(head, "changes", _change_parts(found)), JSON)


def changes(call: Call) -> Answer:
    """Give what the next commits of a branch changed, and where to go on."""
    asked = call.query
    feed = call.graph.changes(
        asked.branch,
        since=asked.since,
        types=asked.types or (),
        ops=asked.ops or (),
        kinds=asked.kinds or (),
    )
    found = list(islice(feed, asked.limit + 1))
    shown = found[: asked.limit]
    head: dict[str, Json] = {
        "branch": asked.branch,
        "cursor": shown[-1].cursor if shown else asked.since,
        "more": len(found) > len(shown),
    }
    return call.export(_listed(head, "commits", _feed_parts(shown)), JSON)


def branches(call: Call) -> Answer:
    """List the branches, `main` first."""
    after = call.query.after
    every = call.graph.branches()
    rest = every if after is None else [each for each in every if _place(each) > _place(after)]
    shown, cursor = _page(iter(rest), call.query.limit, str)
    return json_answer({"branches": [*shown], "cursor": cursor})


def merge_base(call: Call) -> Answer:
    """Give the newest commit that two branches or commits came from."""
    return json_answer(call.graph.merge_base(call.query.one, call.query.other).to_json())


def commits(call: Call) -> Answer:
    """List the commits of a branch."""
    asked = call.query
    found = call.graph.log(asked.branch, limit=asked.limit + 1, after=asked.after)
    shown, cursor = _page(found, asked.limit, lambda each: each.id)
    return json_answer({"commits": [each.to_json() for each in shown], "cursor": cursor})


def commit(call: Call) -> Answer:
    """Give a commit by its id."""
    return json_answer(call.graph.commit(call.path["commit_id"]).to_json())


def blame(call: Call) -> Answer:
    """Give for each property of a node or edge the commit that it has its value from."""
    asked = call.query
    found = call.graph.blame(asked.type, asked.id, asked.branch)
    about: dict[str, Json] = {"type_name": asked.type, "id": asked.id}
    return json_answer({**about, **wire.blame_json(found)})


def blob(call: Call) -> Answer:
    """Give a Blob property of a node or edge, as rows have it."""
    asked = call.query
    view = call.graph.at(place(asked.branch, asked.snapshot, MAIN))
    found = view.blob(asked.type, asked.id, asked.property)
    return json_answer({"blob": None if found is None else found.text})


def tags(call: Call) -> Answer:
    """List the tags."""
    after = call.query.after
    found = call.graph.tags()
    rest = (name for name in sorted(found) if after is None or name > after)
    shown, cursor = _page(rest, call.query.limit, str)
    named: list[Json] = [{"name": name, "commit": found[name]} for name in shown]
    return json_answer({"tags": named, "cursor": cursor})


def runs(call: Call) -> Answer:
    """List the runs, newest first."""
    asked = call.query
    found = call.graph.runs(limit=asked.limit + 1, after=asked.after)
    shown, cursor = _page(iter(found), asked.limit, lambda each: each.run_id)
    return json_answer({"runs": [each.to_json() for each in shown], "cursor": cursor})


def run(call: Call) -> Answer:
    """Give a run by its id."""
    return json_answer(call.graph.run(call.path["run_id"]).to_json())


def _page(
    every: Iterator[_Item], limit: int, cursor_of: Callable[[_Item], str]
) -> tuple[list[_Item], str | None]:
    """Give the first items, and behind which one the list goes on; None when it does not."""
    found = list(islice(every, limit + 1))
    shown = found[:limit]
    return shown, cursor_of(shown[-1]) if len(found) > limit else None


def _place(branch: str) -> tuple[bool, str]:
    """Give where a branch stands in the list, in which `main` is the first."""
    return branch != MAIN, branch


def _listed(head: dict[str, Json], name: str, members: Iterator[bytes]) -> Iterator[bytes]:
    """Give a document whose last field is a list that is made some members at a time."""
    yield msgspec.json.encode(head)[:-1] + b',"%s":[' % name.encode()
    yield from members
    yield b"]}"


def _feed_parts(found: list[CommitChanges]) -> Iterator[bytes]:
    for number, each in enumerate(found):
        about: dict[str, Json] = {
            "commit": each.commit.to_json(),
            "from_version": each.changes.from_version,
            **wire.changes_json(each.changes),
        }
        yield b"," if number else b""
        yield from _listed(about, "changes", _change_parts(each.changes))


def _change_parts(found: ChangeSet) -> Iterator[bytes]:
    """Give the changes as the members of a JSON list."""
    made: list[bytes] = []
    size, before = 0, b""
    for each in found:
        made.append(msgspec.json.encode(each.to_json()))
        size += len(made[-1])
        if len(made) >= _CHANGES_AT_A_TIME or size >= _BYTES_AT_A_TIME:
            yield before + b",".join(made)
            made, size, before = [], 0, b","
    if made:
        yield before + b",".join(made)
