"""Samples: for every route a request that is right, and one about something that is not there."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from omnigraph.server.routes.route import Route
from omnigraph.server.table import TABLE
from tests.sample import SCHEMA
from tests.server.serving import ADD, ALL, Served

ROUTES: tuple[Route, ...] = TABLE
NO_COMMIT = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
_LINE = {"type": "Company", "data": {"name": "harbour"}}
_numbers: Iterator[int] = count()


@dataclass(frozen=True, slots=True)
class Sample:
    """What goes with a request: names in its path, a query string, a body."""

    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    body: object = None


def _new_branch(served: Served) -> str:
    name = f"work/{next(_numbers)}"
    served.graph.create_branch(name)
    return name


def _new_tag(served: Served) -> str:
    name = f"release/{next(_numbers)}"
    served.graph.create_tag(name)
    return name


def _new_run(served: Served) -> dict[str, str]:
    return {"run_id": served.graph.begin_run().run_id}


def _last(served: Served) -> str:
    """Return a commit that can be undone."""
    slug = f"p{next(_numbers)}"
    commit = served.graph.mutate(ADD, slug=slug).commit
    assert commit is not None
    return commit.id


def _two_nodes(served: Served) -> dict[str, str]:
    """Return two nodes that can become one."""
    into, duplicate = f"p{next(_numbers)}", f"p{next(_numbers)}"
    for slug in (into, duplicate):
        served.graph.mutate(ADD, slug=slug)
    return {"type": "Person", "into": into, "from": duplicate}


SAMPLES: dict[str, Callable[[Served], Sample]] = {
    "about": lambda _: Sample(),
    "health": lambda _: Sample(),
    "live": lambda _: Sample(),
    "ready": lambda _: Sample(),
    "metrics": lambda _: Sample(),
    "openapi": lambda _: Sample(),
    "studio": lambda _: Sample(),
    "studio_file": lambda _: Sample(path={"path": "review"}),
    "studio_config": lambda _: Sample(query={"branch": "main"}),
    "studio_session": lambda served: Sample(body={"code": served.handover.code}),
    "snapshot": lambda _: Sample(query={"branch": "main"}),
    "lint": lambda _: Sample(body={"query_source": ALL}),
    "complete": lambda _: Sample(body={"query_source": "match { $p: ", "position": 12}),
    "search": lambda _: Sample(query={"text": "ana", "type": ["Person"]}),
    "neighbors": lambda _: Sample(query={"type": "Person", "id": "ana", "edge": "Knows"}),
    "entity": lambda _: Sample(query={"table": "node:Person", "id": "ana", "version": 1}),
    "read": lambda _: Sample(body={"query_source": ALL}),
    "export": lambda _: Sample(body={"type_names": ["Person"]}),
    "change": lambda _: Sample(
        body={"query_source": ADD, "params": {"slug": f"p{next(_numbers)}"}}
    ),
    "algorithm": lambda _: Sample(path={"name": "pagerank"}, body={"edges": ["Knows"]}),
    "write_algorithm": lambda served: Sample(
        path={"name": "k_core"},
        body={"edges": ["Knows"], "property": "age", "branch": _new_branch(served)},
    ),
    "resolve": lambda served: Sample(body=_two_nodes(served)),
    "queries": lambda _: Sample(),
    "query": lambda _: Sample(path={"name": "all"}),
    "invoke_query": lambda _: Sample(path={"name": "all"}, body={}),
    "schema": lambda _: Sample(),
    "plan_schema": lambda _: Sample(body={"schema_source": SCHEMA}),
    "apply_schema": lambda served: Sample(
        body={"schema_source": f"{SCHEMA}\nnode T {{ x: I32? }}", "branch": _new_branch(served)}
    ),
    "ingest": lambda _: Sample(body={"branch": f"new/{next(_numbers)}", "data": json.dumps(_LINE)}),
    "load": lambda served: Sample(body={"branch": _new_branch(served), "data": json.dumps(_LINE)}),
    "diff": lambda served: Sample(body={"from": _new_branch(served)}),
    "changes": lambda _: Sample(query={"type": ["Person"], "limit": 3}),
    "watch": lambda _: Sample(query={"follow": "false"}),
    "branches": lambda _: Sample(),
    "branch_status": lambda _: Sample(query={"limit": 2}),
    "review": lambda served: Sample(query={"branch": _new_branch(served), "limit": 2}),
    "review_record": lambda served: Sample(query={"branch": _new_branch(served)}),
    "set_review": lambda served: Sample(body={"branch": _new_branch(served), "state": "approved"}),
    "comment_review": lambda served: Sample(
        body={"branch": _new_branch(served), "message": "why?", "type": "Person", "id": "ana"}
    ),
    "create_branch": lambda _: Sample(body={"name": f"made/{next(_numbers)}"}),
    "merge": lambda served: Sample(body={"source": _new_branch(served)}),
    "merge_base": lambda served: Sample(query={"one": "main", "other": _new_branch(served)}),
    "rename_branch": lambda served: Sample(
        body={"name": _new_branch(served), "new_name": f"renamed/{next(_numbers)}"}
    ),
    "delete_branch": lambda served: Sample(path={"branch": _new_branch(served)}),
    "revert": lambda served: Sample(body={"commit": _last(served)}),
    "commits": lambda _: Sample(query={"limit": 2}),
    "commit": lambda served: Sample(path={"commit_id": served.graph.snapshot().commit.id}),
    "blame": lambda _: Sample(query={"type": "Person", "id": "ana"}),
    "embed_again": lambda _: Sample(body={}),
    "blob": lambda _: Sample(query={"type": "Person", "id": "ana", "property": "photo"}),
    "tags": lambda _: Sample(),
    "create_tag": lambda _: Sample(body={"name": f"v{next(_numbers)}"}),
    "delete_tag": lambda served: Sample(path={"tag": _new_tag(served)}),
    "runs": lambda _: Sample(),
    "begin_run": lambda _: Sample(body={"target_branch": "main"}),
    "run": lambda served: Sample(path=_new_run(served)),
    "publish_run": lambda served: Sample(path=_new_run(served), body={}),
    "abort_run": lambda served: Sample(path=_new_run(served)),
    "fail_run": lambda served: Sample(path=_new_run(served)),
    "rights": lambda _: Sample(),
    "coverage": lambda _: Sample(),
    "optimize": lambda _: Sample(body={}),
    "cleanup": lambda _: Sample(body={"keep": 100}),
    "fsck": lambda _: Sample(),
}
# A request about something that is not there, for every route that names something.
UNKNOWN: dict[str, Sample] = {
    "snapshot": Sample(query={"branch": "nowhere"}),
    "lint": Sample(body={"query_source": ALL, "branch": "nowhere"}),
    "complete": Sample(body={"query_source": "", "position": 0, "branch": "nowhere"}),
    "search": Sample(query={"text": "ana", "branch": "nowhere"}),
    "neighbors": Sample(query={"type": "Person", "id": "nobody"}),
    "entity": Sample(query={"table": "node:Person", "id": "ana", "version": 999}),
    "read": Sample(body={"query_source": ALL, "branch": "nowhere"}),
    "export": Sample(body={"table_keys": ["node:Nothing"]}),
    "change": Sample(body={"query_source": ADD, "query_name": "sub", "params": {"slug": "x"}}),
    "algorithm": Sample(path={"name": "pagerank"}, body={"branch": "nowhere"}),
    "write_algorithm": Sample(
        path={"name": "k_core"}, body={"property": "age", "branch": "nowhere"}
    ),
    "resolve": Sample(body={"type": "Person", "into": "ana", "from": "nobody"}),
    "queries": Sample(query={"branch": "nowhere"}),
    "query": Sample(path={"name": "nothing"}),
    "invoke_query": Sample(path={"name": "nothing"}, body={}),
    "schema": Sample(query={"snapshot": NO_COMMIT}),
    "plan_schema": Sample(body={"schema_source": SCHEMA, "branch": "nowhere"}),
    "apply_schema": Sample(body={"schema_source": SCHEMA, "branch": "nowhere"}),
    "ingest": Sample(body={"branch": "new/x", "from": "nowhere", "data": ""}),
    "load": Sample(body={"branch": "nowhere", "data": ""}),
    "diff": Sample(body={"from": "main", "to": NO_COMMIT}),
    "changes": Sample(query={"since": NO_COMMIT}),
    "watch": Sample(query={"since": NO_COMMIT}),
    "review": Sample(query={"branch": "nowhere"}),
    "review_record": Sample(query={"branch": "nowhere"}),
    "set_review": Sample(body={"branch": "nowhere", "state": "open"}),
    "comment_review": Sample(body={"branch": "nowhere", "message": "x"}),
    "create_branch": Sample(body={"name": "b", "from": "nowhere"}),
    "merge": Sample(body={"source": "nowhere"}),
    "merge_base": Sample(query={"one": "main", "other": NO_COMMIT}),
    "rename_branch": Sample(body={"name": "nowhere", "new_name": "somewhere"}),
    "delete_branch": Sample(path={"branch": "no/where"}),
    "revert": Sample(body={"commit": NO_COMMIT}),
    "commits": Sample(query={"branch": "nowhere"}),
    "commit": Sample(path={"commit_id": NO_COMMIT}),
    "blame": Sample(query={"type": "Person", "id": "nobody"}),
    "embed_again": Sample(body={"branch": "nowhere"}),
    "blob": Sample(query={"type": "Person", "id": "x", "property": "y", "branch": "nowhere"}),
    "create_tag": Sample(body={"name": "t", "target": "nowhere"}),
    "delete_tag": Sample(path={"tag": "no/tag"}),
    "begin_run": Sample(body={"target_branch": "nowhere"}),
    "run": Sample(path={"run_id": NO_COMMIT}),
    "publish_run": Sample(path={"run_id": NO_COMMIT}),
    "abort_run": Sample(path={"run_id": NO_COMMIT}),
    "fail_run": Sample(path={"run_id": NO_COMMIT}),
    "coverage": Sample(query={"branch": "nowhere"}),
    "optimize": Sample(body={"branch": "nowhere"}),
}


def path_of(route: Route, sample: Sample) -> str:
    """Return the path of a request."""
    return route.template.format(**sample.path)


def nothing(route: Route) -> Sample:
    """Return a request of a route about anything, for those who are refused before it is read."""
    return Sample(path=dict.fromkeys(route.parts.path, "x"), body={} if route.fields else None)
