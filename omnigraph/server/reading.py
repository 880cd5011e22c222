"""Reading: the handlers of requests that change nothing."""

from collections.abc import Iterator
from itertools import islice

import msgspec

from omnigraph import __version__
from omnigraph.api import wire
from omnigraph.errors import InputError, Json, OmniGraphError
from omnigraph.merge.change_set import ChangeSet, CommitChanges
from omnigraph.schema.codec import content_hash, encode_catalog
from omnigraph.schema.values import json_value
from omnigraph.server.call import (
    ARROW,
    JSON,
    LINES,
    Answer,
    Call,
    Stream,
    Whole,
    json_answer,
    place,
)
from omnigraph.server.metrics import MEDIA_TYPE
from omnigraph.server.refusal import Refusal
from omnigraph.versioning.names import MAIN

_CHANGES_AT_A_TIME = 500


def health(_: Call) -> Answer:
    """Tell that the server answers."""
    return json_answer({"status": "ok", "version": __version__})


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
            return Whole(profile.to_ipc(), ARROW)
        head = {"query_name": profile.result.query_name, "target": about}
        return json_answer({**head, **profile.to_json()})
    result = view.query(asked.query_source, asked.query_name, **params)
    if call.accept == ARROW:
        return Whole(result.to_ipc(), ARROW)
    return json_answer(
        {
            "query_name": result.query_name,
            "target": about,
            "row_count": len(result),
            "columns": [*result.columns],
            "rows": result.to_json(),
        }
    )


def export(call: Call) -> Answer:
    """Give the rows of a branch or commit as JSON lines, while they are read."""
    asked = call.body
    where = place(asked.branch, asked.snapshot, MAIN)
    view = call.graph.at(where)
    parts = view.export(types=asked.type_names or (), tables=asked.table_keys or ())
    return Stream(parts, LINES)


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
    return json_answer({"uri": call.graph.uri, **planned.to_json()})


def fsck(call: Call) -> Answer:
    """Check everything that the graph is made of, and name all damage."""
    return json_answer(call.graph.fsck().to_json(call.graph.uri))


def coverage(call: Call) -> Answer:
    """Tell for each index how many rows are in it, and why not all."""
    where = place(call.query.branch, call.query.snapshot, MAIN)
    indexes: list[Json] = [each.to_json() for each in call.graph.coverage(where)]
    return json_answer({"uri": call.graph.uri, "branch": where, "indexes": indexes})


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
    return Stream(_diff_parts(head, found), JSON)


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
    return Stream(_feed_parts(head, shown), JSON)


def branches(call: Call) -> Answer:
    """List the branches."""
    return json_answer({"branches": [*call.graph.branches()]})


def merge_base(call: Call) -> Answer:
    """Give the newest commit that two branches or commits came from."""
    return json_answer(call.graph.merge_base(call.query.one, call.query.other).to_json())


def commits(call: Call) -> Answer:
    """List the commits of a branch."""
    asked = call.query
    found = call.graph.log(asked.branch, limit=asked.limit, after=asked.after)
    return json_answer({"commits": [each.to_json() for each in found]})


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
    found = call.graph.tags().items()
    return json_answer({"tags": [{"name": name, "commit": commit} for name, commit in found]})


def runs(call: Call) -> Answer:
    """List the runs."""
    return json_answer({"runs": [each.to_json() for each in call.graph.runs()]})


def run(call: Call) -> Answer:
    """Give a run by its id."""
    return json_answer(call.graph.run(call.path["run_id"]).to_json())


def _diff_parts(head: dict[str, Json], found: ChangeSet) -> Iterator[bytes]:
    """Give the document of a diff, some changes at a time."""
    yield msgspec.json.encode(head)[:-1]
    yield b',"changes":['
    yield from _change_parts(found)
    yield b"]}"


def _feed_parts(head: dict[str, Json], found: list[CommitChanges]) -> Iterator[bytes]:
    yield msgspec.json.encode(head)[:-1]
    yield b',"commits":['
    for number, each in enumerate(found):
        about: dict[str, Json] = {
            "commit": each.commit.to_json(),
            "from_version": each.changes.from_version,
            **wire.changes_json(each.changes),
        }
        yield (b"," if number else b"") + msgspec.json.encode(about)[:-1]
        yield b',"changes":['
        yield from _change_parts(each.changes)
        yield b"]}"
    yield b"]}"


def _change_parts(found: ChangeSet) -> Iterator[bytes]:
    """Give the changes as the members of a JSON list."""
    rows = iter(found)
    is_first = True
    while some := list(islice(rows, _CHANGES_AT_A_TIME)):
        text = msgspec.json.encode([each.to_json() for each in some])[1:-1]
        yield text if is_first else b"," + text
        is_first = False
