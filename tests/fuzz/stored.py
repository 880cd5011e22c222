"""Stored: the targets that read the small records of a graph, a deployment and a person."""

import json
from functools import cache
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from omnigraph.cli.commands.merge import _choices as read_choices
from omnigraph.cli.profiles import HOME, token_of
from omnigraph.cli.queries import read_params
from omnigraph.deploy.definition import Definition, GraphDefinition, PolicyDefinition
from omnigraph.deploy.ledger import Ledger
from omnigraph.deploy.revision import digest_of, encode
from omnigraph.evolve.plan import SavedPlan
from omnigraph.mcp.clients import CLIENTS, plan_installation
from omnigraph.merge.conflict import Resolutions
from omnigraph.merge.review.record import ReviewedEntity, ReviewEvent, ReviewState
from omnigraph.merge.review.reviews import _read as read_event
from omnigraph.merge.run_record import RunRecord, RunStatus
from omnigraph.merge.runs import _record as read_run
from omnigraph.query.stored import StoredQueries, parse_stored
from omnigraph.server.idempotency import _ANSWERED, AnswerLog, Note
from omnigraph.span import Source
from omnigraph.syntax.problems import Problems
from omnigraph.versioning.commit import Commit, CommitKind, TableState, Touched
from omnigraph.versioning.heads.head import Head, decode_head
from omnigraph.versioning.heads.layers import LAYERS, layers_of
from omnigraph.versioning.manifest.fresh import FreshCommit, decode_fresh
from omnigraph.versioning.manifest.records import decode_commit, encode_commit
from tests.fuzz.mutation import hostile_json
from tests.fuzz.target import Broken, Target, scratch, written

_ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@cache
def _commits() -> tuple[Commit, ...]:
    full = Commit(
        id=_ULID,
        parents=(_ULID, _ULID),
        branch="a/b",
        version=7,
        kind=CommitKind.MERGE,
        created_at=1_700_000_000_000_000,
        operation_id="op",
        schema="ab" * 32,
        tables={"node:P": TableState("nodes/x", 3, 10, "main", (("p:v", "model"),))},
        actor="ann",
        message="é",
        affected=(1, 2),
        request="read",
        touched={"node:P": Touched(("ab",), ("x",)), "edge:E": Touched((), None)},
    )
    first = Commit(
        id=_ULID,
        parents=(),
        branch="main",
        version=1,
        kind=CommitKind.INIT,
        created_at=0,
        operation_id="",
        schema="",
        tables={},
    )
    return full, first


@cache
def _records() -> tuple[str, ...]:
    return tuple(map(encode_commit, _commits()))


@cache
def _fresh() -> tuple[str, ...]:
    return tuple(FreshCommit(each, ("node:P",), is_named=True).encoded() for each in _commits())


def _commit(random: Random) -> tuple[str, str]:
    kind = random.choice(("commit", "fresh"))
    return kind, hostile_json(random, _records() if kind == "commit" else _fresh())


def _run_commit(given: tuple[str, str]) -> None:
    kind, text = given
    if kind == "commit":
        commit = decode_commit(text)
        if decode_commit(encode_commit(commit)) != commit:
            raise Broken("the commit that is written again is another one")
        return
    fresh = decode_fresh(text)
    fresh.rows()
    if decode_fresh(fresh.encoded()) != fresh:
        raise Broken("the commit of a key that is written again is another one")


_HEADS = (Head("a/b", _ULID, 3, 5).encoded(), Head("main", _ULID, 1, None).encoded(), "null")
_LAYERS = ('[["0123456789abcdef", 3], ["fedcba9876543210", 10000]]', "[]")


def _head(random: Random) -> tuple[str, str]:
    kind = random.choice(("head", "layers"))
    return kind, hostile_json(random, _HEADS if kind == "head" else _LAYERS)


def _run_head(given: tuple[str, str]) -> None:
    kind, text = given
    if kind == "head":
        head = decode_head(text)
        if head is not None and decode_head(head.encoded()) != head:
            raise Broken("the head that is written again is another one")
        return
    for layer in layers_of(SimpleNamespace(metadata={LAYERS: text})):  # type: ignore[arg-type]
        if not isinstance(layer.id, str) or not isinstance(layer.rows, int):
            raise Broken("a layer has no id or no number of rows")


@cache
def _definition() -> Definition:
    text = "query all() { match { $p: P } return { $p.name } }"
    queries = StoredQueries(parse_stored(Source("q.gq", text), Problems()))
    schema = Source("a.pg", "node P { name: String @key }")
    return Definition(
        name="d",
        graphs={"g": GraphDefinition(schema=schema, queries=queries)},
        policies={"p": PolicyDefinition(source=Source("p.yaml", "version: 1"), applies_to=("g",))},
    )


_ENTRY = json.dumps(
    {
        "number": 1,
        "revision": "ab" * 32,
        "kind": "apply",
        "actor": "ann",
        "at": "2024-01-31T12:00:00.000+00:00",
        "id": "cd" * 16,
        "removed": {"g": _ULID},
    }
)


def _deployed(random: Random) -> tuple[str, str]:
    kind = random.choice(("entry", "revision", "revision"))
    corpus = (_ENTRY,) if kind == "entry" else (encode(_definition()).document.decode(),)
    return kind, hostile_json(random, corpus)


def _run_deployed(given: tuple[str, str]) -> None:
    kind, text = given
    data = text.encode(errors="surrogatepass")
    if kind == "entry":
        found = Ledger(_store(data)).newer(_Before())  # type: ignore[arg-type]
        json.dumps(found.to_json())
        return
    texts = encode(_definition()).texts
    read = {f"__cluster/texts/{each}": text for each, text in texts.items()}
    read[f"__cluster/revisions/{digest_of(data)}.json"] = data
    Ledger(_store(read)).definition(digest_of(data))


class _Before:
    """An entry before the first."""

    number = 0


def _store(held: bytes | dict[str, bytes]) -> Any:
    """Return a store that holds objects by path, or one object at its first reading."""
    left = [held] if isinstance(held, bytes) else []

    def read(path: str) -> bytes | None:
        if isinstance(held, dict):
            return held.get(path)
        return left.pop() if left else None

    return SimpleNamespace(objects=SimpleNamespace(read=read), is_local=True, root="r")


@cache
def _notes() -> dict[str, str]:
    run = RunRecord(
        run_id="r",
        target_branch="main",
        run_branch="__run__/r",
        base_snapshot_id=_ULID,
        base_manifest_version=1,
        operation_hash=None,
        actor_id="ann",
        status=RunStatus.RUNNING,
        published_snapshot_id=None,
        created_at=1,
        updated_at=2,
    )
    event = ReviewEvent(
        id=_ULID,
        at=3,
        actor_id="ann",
        state=ReviewState.APPROVED,
        message="m",
        into="main",
        head=_ULID,
        entity=ReviewedEntity("P", "a", "x"),
    )
    answer = {"request": "digest", "answer": '{"a": 1}'}
    return {
        k: json.dumps(v)
        for k, v in (("run", run.to_json()), ("event", event.to_json()), ("note", answer))
    }


def _note(random: Random) -> tuple[str, str]:
    kind = random.choice(("run", "event", "note"))
    return kind, hostile_json(random, (_notes()[kind],))


def _run_note(given: tuple[str, str]) -> None:
    kind, text = given
    repository: Any = SimpleNamespace(store=_store(text.encode(errors="surrogatepass")))
    if kind == "note":
        note = AnswerLog(repository)._read("name", _ANSWERED)
        if note is not None and not isinstance(note, Note):
            raise Broken("the note is none")
        return
    found = (read_run if kind == "run" else read_event)(repository, "path")
    if found is not None:
        json.dumps(found.to_json())


_SAVED = {
    "plan": json.dumps(
        {"branch": "main", "head": _ULID, "schema_source": "node A {}", "steps": []}
    ),
    "choices": json.dumps(
        {
            "merge_conflicts": [
                {"kind": "DivergentUpdate", "type_name": "P", "row_id": "a", "take": None}
            ]
        }
    ),
    "params": '{"name": "a", "n": 3, "v": [1.5]}',
    "tokens.json": '{"server": "secret-token"}',
    ".mcp.json": '{"mcpServers": {"other": {"command": "x", "args": ["a"]}}}',
}


def _saved(random: Random) -> tuple[str, bytes]:
    kind = random.choice(tuple(_SAVED))
    text = hostile_json(random, (_SAVED[kind],))
    return kind, text.encode(errors=random.choice(("surrogatepass", "replace")))


def _run_saved(given: tuple[str, bytes]) -> None:
    kind, data = given
    path = written(kind, data)
    if kind == "choices":
        Resolutions.chosen(read_choices(str(path)))
    elif kind == "params":
        read_params(None, str(path))
    elif kind == "tokens.json":
        _read_login(path)
    elif kind == ".mcp.json":
        _install(path)
    else:
        from omnigraph.cli.session import read_text

        SavedPlan.read(read_text(str(path)))


def _read_login(path: Path) -> None:
    import os

    os.environ[HOME] = str(scratch())
    path.chmod(0o600)
    token_of("server")


def _install(path: Path) -> None:
    found = plan_installation(CLIENTS[0], "graph", ["omnigraph", "mcp"], path.parent, path.parent)
    if found.known is None:
        found.write()
        again = plan_installation(
            CLIENTS[0], "graph", ["omnigraph", "mcp"], path.parent, path.parent
        )
        if not again.is_there:
            raise Broken("the entry that was written is not there")


STORED = (
    Target("commits", _commit, _run_commit),
    Target("heads", _head, _run_head),
    Target("deployment records", _deployed, _run_deployed),
    Target("notes", _note, _run_note),
    Target("saved files", _saved, _run_saved),
)
