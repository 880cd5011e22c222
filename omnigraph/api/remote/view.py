"""View: a server's graph at one commit to read, and a branch of it to read and to change."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, Union, cast

import pyarrow as pa

from omnigraph.api import wire
from omnigraph.api.client import Client, Field
from omnigraph.api.given import (
    change_filter,
    query_source,
    refuse_expect,
    resolutions_of,
    schema_source,
)
from omnigraph.api.profile import Explanation, Profile, profile_from
from omnigraph.api.remote.sending import Lines, can_be_sent, lines_of, params_json, record_of, split
from omnigraph.api.wire import SentChanges, SentCommit
from omnigraph.data.result import Result, ResultStream
from omnigraph.errors import Json, TableNotFoundError, UnavailableError, ViolationsError
from omnigraph.evolve.plan import SavedPlan, SchemaApplied, SchemaPlan
from omnigraph.export.network import chosen_types, network_of
from omnigraph.html import html_facts
from omnigraph.merge.blame import Blamed
from omnigraph.merge.changes import ChangeFilter
from omnigraph.merge.merge import Merge
from omnigraph.merge.threeway import Resolutions, Side
from omnigraph.query.compile import compile_query, query_name
from omnigraph.query.params import bind_params
from omnigraph.query.plan import ReadPlan
from omnigraph.read.blob import Blob, blob_in
from omnigraph.read.road import Choice, Road
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.codec import decode_catalog
from omnigraph.span import Source
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.ulid import is_ulid
from omnigraph.write.load.options import LoadMode, chosen
from omnigraph.write.mutation import Receipt

if TYPE_CHECKING:
    import networkx

    from omnigraph.write.load.inputs import Data
    from omnigraph.write.load.load import Loaded

# A branch or a commit: by its name or id, or by a handle on it.
Place: TypeAlias = Union[str, "RemoteView"]


class RemoteView:
    """A graph of a server at one commit; it can be read, and never changes."""

    def __init__(self, client: Client, place: str) -> None:
        self._client = client
        self._place = place

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r})"

    def _repr_html_(self) -> str:
        return html_facts(repr(self), (), self.snapshot._repr_html_())

    @property
    def place(self) -> str:
        """What is read: the id of a commit, or the name of a branch."""
        return self._place

    @property
    def snapshot(self) -> Snapshot:
        """The commit that is read, with its catalog and what is known of its tables."""
        return snapshot_at(self._client, **self._at())

    @property
    def commit(self) -> Commit:
        """The commit that is read."""
        return self.snapshot.commit

    @property
    def catalog(self) -> Catalog:
        """The types of the graph."""
        return decode_catalog(self._get("/schema", **self._at())["schema_ir"])

    @property
    def schema(self) -> str:
        """The text of the schema."""
        return str(self._get("/schema", **self._at())["schema_source"])

    def query(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Result:
        """Run a read; keywords are the parameters of the query."""
        text = query_source(source)
        named = query_name(text, name)
        body = self._asked(text, named, params)
        return Result(named, _table(self._client.ask_arrow("/read", body, source=text)))

    def stream(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> ResultStream:
        """Run a read and give its rows as Arrow batches; they were all sent before the first."""
        return self.query(source, name, **params).to_stream()

    def profile(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Profile:
        """Run a read and give its result with what each operator took, read and gave."""
        text = query_source(source)
        body = {**self._asked(text, query_name(text, name), params), "mode": "profile"}
        return profile_from(_table(self._client.ask_arrow("/read", body, source=text)))

    def explain(self, source: str | Path | Source, name: str | None = None, /) -> Explanation:
        """Give the plan of a read, and the road it would take; nothing is run."""
        text = query_source(source)
        named = query_name(text, name)
        body = {**self._asked(text, named, {}), "mode": "explain"}
        road = cast(Any, self._client.ask("/read", body, source=text))["road"]
        plan = cast(ReadPlan, compile_query(text, self.catalog, named))
        return Explanation(plan, Choice(Road(road["road"]), road["lookups"], road["rows_to_read"]))

    def blob(self, type_name: str, row_id: str, name: str, /) -> Blob | None:
        """Give a Blob property of one node or edge to read from; None when it is null."""
        about = {"type": type_name, "id": row_id, "property": name}
        found = self._get("/blob", **about, **self._at())["blob"]
        return None if found is None else blob_in(pa.py_buffer(found.encode()))

    def blame(self, type_name: str, row_id: str) -> list[Blamed]:
        """Give for each property of a node or edge the commit that it has its value from."""
        found = self._get("/blame", type=type_name, id=row_id, branch=self.place)
        stored = self.catalog.stored(type_name)
        if stored is None:
            raise TableNotFoundError(f"no type '{type_name}'")
        return wire.blame_of(found, stored)

    def diff(
        self,
        new: Place,
        *,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> SentChanges:
        """Give the net changes from here to another branch or commit."""
        wanted = _wanted(change_filter(kinds, types, ops))
        body: dict[str, Json] = {"from": self.place, "to": place_of(new)}
        body |= {name: list(each) for name, each in wanted.items()}
        found = cast(Any, self._client.ask("/diff", body))
        return wire.changes_of(found, *self._catalogs(found["from_commit"], found["to_commit"]))

    def export(self, *, types: Sequence[str] = (), tables: Sequence[str] = ()) -> Iterator[bytes]:
        """Give the rows as JSON lines, many at a time."""
        body: Json = {**self._at(), "type_names": list(types), "table_keys": list(tables)}
        return self._client.download("/export", body)

    def export_to(self, folder: str | os.PathLike[str], **_: object) -> NoReturn:
        """Refuse it: many tasks write such files, and each reads the tables itself."""
        message = f"a server does not export to '{os.fspath(folder)}' or any other folder"
        hint = "write the lines of `export` to a file, or run it where the graph is"
        raise UnavailableError(message, hint=hint)

    def to_networkx(
        self, *, types: Sequence[str] | None = None, edges: Sequence[str] | None = None
    ) -> "networkx.MultiDiGraph":
        """Give the nodes of some types, or all, and the edges between them to networkx."""
        catalog = self.catalog
        chosen = chosen_types(catalog, types, edges)
        rows = split(self.export(types=[each.name for each in chosen])) if chosen else ()
        return network_of(record_of(line, catalog) for line in rows)

    def _catalogs(self, *commits: str) -> tuple[Catalog, ...]:
        return tuple(RemoteView(self._client, each).catalog for each in commits)

    def _at(self) -> dict[str, str]:
        """Give what is read, as requests name it."""
        return place_query(self.place)

    def _asked(self, text: Source, name: str, params: dict[str, object]) -> dict[str, Json]:
        if not can_be_sent(params):
            params = {**bind_params(compile_query(text, self.catalog, name), params)}
        given: Json = params_json(params)
        return {"query_source": text.text, "query_name": name, "params": given, **self._at()}

    def _get(self, path: str, **query: Field) -> Any:  # noqa: ANN401 - a document
        return self._client.get(path, **query)


class RemoteBranch(RemoteView):
    """A branch of a server's graph: read where it stands now, each change one commit of it."""

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        message: str | None = None,
        expect: str | None = None,
        operation_id: str | None = None,
    ) -> None:
        super().__init__(client, name)
        self._message = message
        self._expect = expect
        self._operation_id = operation_id

    @property
    def name(self) -> str:
        """The name of the branch."""
        return self.place

    def mutate(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Receipt:
        """Run a mutation as one commit; keywords are the parameters of the query."""
        text = query_source(source)
        about: dict[str, Json] = {"message": self._message, "expect": self._expect}
        body = {**self._asked(text, query_name(text, name), params), **about}
        return wire.receipt_of(self._post("/change", body, source=text))

    change = mutate

    def load(
        self,
        data: "Data",
        *,
        type: str | None = None,  # noqa: A002 - the word of the command line
        mode: str = "append",
        message: str | None = None,
        dry_run: bool = False,
    ) -> "Loaded":
        """Load rows as one commit, or raise ViolationsError and change nothing."""
        refuse_expect(self._expect)
        lines = lines_of(data, type, self.catalog)
        query = load_query(self.name, mode, message or self._message, dry_run)
        return wire.loaded_of(uploaded(self._client, "/load", lines, query, self._operation_id))

    def merge(
        self,
        source: Place,
        *,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
    ) -> Merge:
        """Merge a branch or commit into this branch, as one commit with two parents."""
        refuse_expect(self._expect)
        return self._merged(source, resolutions, message=message or self._message, strict=strict)

    def preview_merge(
        self,
        source: Place,
        *,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
    ) -> Merge:
        """Give what a merge would do, conflicts included; nothing is written."""
        return self._merged(source, resolutions, preview=True, strict=strict)

    def revert(
        self,
        commit_id: str,
        *,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
    ) -> Merge:
        """Undo what a commit did, as a new commit."""
        refuse_expect(self._expect)
        body: dict[str, Json] = {
            "commit": commit_id,
            "branch": self.name,
            "message": message or self._message,
            **wire.choices_json(resolutions_of(resolutions)),
        }
        catalog = self.catalog
        return wire.merge_of(self._post("/revert", body)["merge"], catalog)

    def plan_schema(self, schema: str | Path | Source) -> SchemaPlan:
        """Give what a schema would change, and what is in its way; nothing is written."""
        source = schema_source(schema)
        body: Json = {"schema_source": source.text, "branch": self.name}
        found = cast(Any, self._client.ask("/schema/plan", body, source=source))
        return wire.plan_of(found, RemoteView(self._client, found["head"]).catalog, source)

    def apply_schema(self, schema: str | Path | Source | SavedPlan) -> SchemaApplied:
        """Get another schema, with everything that follows for the tables, as one commit."""
        expect = self._expect
        if isinstance(schema, SavedPlan):
            expect, schema = schema.head_for(self.name), schema.schema_source
        source = schema_source(schema)
        before = self.snapshot
        body: Json = {
            "schema_source": source.text,
            "branch": self.name,
            "message": self._message,
            "expect": expect,
        }
        found = self._post("/schema/apply", body, source=source)
        is_there = found["plan"]["head"] == before.commit.id
        accepted = before if is_there else RemoteView(self._client, found["plan"]["head"])
        return wire.applied_of(found, accepted.catalog, source)

    def log(self, *, limit: int | None = None, after: str | None = None) -> Iterator[Commit]:
        """Give the commits, newest first; `after` goes on behind one of them."""
        about: dict[str, Field] = {"branch": self.name, "after": after}
        found = self._client.listed("/commits", "commits", limit=limit, **about)
        return map(wire.commit_of, found)

    def changes(
        self,
        *,
        since: str | None = None,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> Iterator[SentCommit]:
        """Give what each commit changed, oldest first, after the one of a cursor."""
        wanted = _wanted(change_filter(kinds, types, ops))
        asked = {"kind": wanted["kinds"], "type": wanted["types"], "op": wanted["ops"]}
        return self._changes(self._page(since, asked), asked)

    def _page(self, since: str | None, asked: dict[str, list[str]]) -> Any:  # noqa: ANN401
        return self._get("/changes", branch=self.name, since=since, **asked)

    def _changes(self, page: Any, asked: dict[str, list[str]]) -> Iterator[SentCommit]:  # noqa: ANN401
        catalogs: tuple[Catalog, ...] = ()
        while True:
            for each in page["commits"]:
                if not catalogs or each["schema_steps"]:
                    made = each["commit"]
                    ids = made["parent_commit_id"], made["graph_commit_id"]
                    catalogs = self._catalogs(*ids)
                yield wire.sent_commit_of(each, *catalogs)
            if not page["more"]:
                return
            page = self._page(page["cursor"], asked)

    def _merged(
        self,
        source: Place,
        resolutions: Resolutions | Side | str | None,
        **how: str | bool | None,
    ) -> Merge:
        body: dict[str, Json] = {
            "source": place_of(source),
            "target": self.name,
            **wire.choices_json(resolutions_of(resolutions)),
            **how,
        }
        catalog = self.catalog
        return wire.merge_of(self._post("/branches/merge", body), catalog)

    def _post(self, path: str, body: Json, *, source: Source | None = None) -> Any:  # noqa: ANN401
        return self._client.post(path, body, key=self._operation_id, source=source)


def place_query(place: str) -> dict[str, str]:
    """Give a branch or a commit as requests name it."""
    return {"snapshot" if is_ulid(place) else "branch": place}


def snapshot_at(client: Client, **where: Field) -> Snapshot:
    """Give the snapshot that a query string means."""
    found = cast(Any, client.get("/snapshot", **where))
    return wire.snapshot_of(found, RemoteView(client, found["commit"]).catalog)


def place_of(place: Place) -> str:
    """Give the name of a branch or the id of a commit."""
    return place if isinstance(place, str) else place.place


def uploaded(
    client: Client, path: str, lines: Lines, query: dict[str, str | None], key: str | None = None
) -> Any:  # noqa: ANN401 - a document
    """Send rows and give the answer; what is wrong with them is told of where they came from."""
    try:
        return client.upload(path, lines, key=key, **query)
    except ViolationsError as wrong:
        raise lines.placed(wrong) from None


def load_query(branch: str, mode: str, message: str | None, dry_run: bool) -> dict[str, str | None]:
    """Give where rows go and how, as requests say it; a mode that does not exist is refused."""
    return {
        "branch": branch,
        "mode": str(chosen(LoadMode, mode)),
        "message": message,
        "dry_run": "true" if dry_run else None,
    }


def _wanted(wanted: ChangeFilter) -> dict[str, list[str]]:
    """Give which changes are of interest, as requests say it."""
    return {
        "kinds": sorted(wanted.kinds),
        "types": sorted(wanted.types),
        "ops": sorted(wanted.ops),
    }


def _table(stream: bytes) -> pa.Table:
    with pa.ipc.open_stream(stream) as reader:
        return reader.read_all()
