"""View: a graph at one commit; it can be read, and never changes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Union, cast

from omnigraph.api import operations
from omnigraph.api.backend import USUAL, Backend, CallOptions
from omnigraph.api.keywords import check_keywords
from omnigraph.api.operation import Operation, R, place_fields
from omnigraph.api.texts import NamedQuery, named_query, names_of, query_source
from omnigraph.errors import InputError
from omnigraph.html import html_facts, notebook_part
from omnigraph.schema.catalog import Catalog
from omnigraph.span import Source
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.snapshot import Snapshot, snapshot_html

if TYPE_CHECKING:
    from typing import Unpack

    import networkx

    from omnigraph.api.algorithms import Algorithms
    from omnigraph.api.profile import Explanation, Profile
    from omnigraph.api.queries import Queries
    from omnigraph.data.result import Result, ResultStream
    from omnigraph.export.export import ExportResult
    from omnigraph.export.keywords import ExportKeywords
    from omnigraph.merge.blamed import Blamed
    from omnigraph.merge.compare.change_set import ChangeSet
    from omnigraph.notebook.picture import Picture
    from omnigraph.query.editor.complete import Completions
    from omnigraph.query.editor.diagnose import Diagnosis
    from omnigraph.read.blob import Blob
    from omnigraph.read.hits import Hits
    from omnigraph.read.neighbors import Direction, Neighborhood
    from omnigraph.spark.progress import Progress

# A branch or a commit: by its name or id, or by a handle on it.
Place: TypeAlias = Union[str, "View"]


class View:
    """A graph at one commit; it can be read, and never changes."""

    def __init__(self, backend: Backend, place: str, options: CallOptions = USUAL) -> None:
        self._backend = backend
        self._place = place
        self._options = options

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r})"

    def _repr_html_(self) -> str:
        return notebook_part(html_facts(repr(self), (), snapshot_html(self.snapshot)))

    @property
    def place(self) -> str:
        """What is read: the id of a commit, or the name of a branch."""
        return self._place

    @property
    def snapshot(self) -> Snapshot:
        """The commit that is read, with its catalog and tables."""
        return self._run(operations.read.GetSnapshot(**place_fields(self.place)))

    @property
    def commit(self) -> Commit:
        """The commit that is read."""
        return self.snapshot.commit

    @property
    def catalog(self) -> Catalog:
        """The types of the graph."""
        return self._run(operations.read.GetSchema(**place_fields(self.place))).catalog

    @property
    def schema(self) -> str:
        """The text of the schema."""
        return self._run(operations.read.GetSchema(**place_fields(self.place))).source

    @property
    def queries(self) -> Queries:
        """The stored queries that the actor may run here; `queries["name"](key=value)` runs one."""
        from omnigraph.api.queries import Queries

        return Queries(self._run, place_fields(self.place), self._notes)

    @property
    def algo(self) -> Algorithms:
        """What the shape of the graph says of its nodes: `algo.pagerank("Follows")`."""
        from omnigraph.api.algorithms import Algorithms

        return Algorithms(self._run, place_fields(self.place))

    @property
    def _notes(self) -> dict[str, Any]:
        """What goes with the changes that are made through this handle."""
        return {}

    def query(
        self,
        source: str | Path | Source,
        name: str | Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        /,
        **keywords: object,
    ) -> Result:
        """Run a read; the parameters of the query are keywords, or a mapping, or both.

        A `Path` is a file of queries and a `str` is their text; a name is needed when there are
        several.
        """
        return self.stream(source, name, params, **keywords).to_result()

    def stream(
        self,
        source: str | Path | Source,
        name: str | Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        /,
        **keywords: object,
    ) -> ResultStream:
        """Run a read and return its rows as Arrow batches, in their order.

        They are made while they are read, so that a result can be larger than the memory; a
        server sends all of them before the first can be read.
        """
        return cast("ResultStream", self._read(source, named_query(name, params, keywords)))

    def profile(
        self,
        source: str | Path | Source,
        name: str | Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        /,
        **keywords: object,
    ) -> Profile:
        """Run a read and return its result with what each operator took, read and gave."""
        return cast(
            "Profile", self._read(source, named_query(name, params, keywords), mode="profile")
        )

    def explain(self, source: str | Path | Source, name: str | None = None, /) -> Explanation:
        """Return the plan of a read, and the road it would take; nothing is run."""
        return cast("Explanation", self._read(source, named_query(name, None, {}), mode="explain"))

    def lint(self, source: str | Path | Source) -> Diagnosis:
        """Return the problems of queries on this schema, and what each takes and returns."""
        return self._run(
            operations.editing.LintText(
                query_source=query_source(source).text, **place_fields(self.place)
            )
        )

    def complete(self, text: str, position: int) -> Completions:
        """Return what may be written at a position of a text of queries, which need not parse.

        The position counts characters; items replace the text from `start` up to it.
        """
        if not isinstance(position, int) or not 0 <= position < 1 << 31:
            raise InputError(f"a position is a number of characters, not {position!r}")
        return self._run(
            operations.editing.CompleteText(
                query_source=text, position=position, **place_fields(self.place)
            )
        )

    def search(self, text: str, *, types: Iterable[str] = (), limit: int = 20) -> Hits:
        """Return the nodes that a text may mean, best first: by key, by words and by meaning.

        Words are found in texts that the schema indexes, meaning in the vectors that it makes of
        texts; other texts are compared within a bound, of which `notes` tell.
        """
        check_limit(limit, operations.explore.MOST_HITS)
        asked = operations.explore.SearchNodes(
            text=text, types=names_of(types, "types"), limit=limit, **place_fields(self.place)
        )
        return self._run(asked)

    def neighbors(
        self,
        type_name: str,
        node_id: str,
        *,
        edge: str | None = None,
        direction: Direction | None = None,
        limit: int = 50,
        after: str | None = None,
    ) -> Neighborhood:
        """Return a node with the number of its edges by type; with `edge`, some of these edges.

        They come by their ids with the nodes at their other ends; `after` goes on behind the
        `cursor` of a page. Values are those of JSON, without blobs and vectors.
        """
        check_limit(limit, operations.explore.MOST_NEIGHBORS)
        if direction not in (None, "out", "in"):
            raise InputError(f"a direction is 'out' or 'in', not {direction!r}")
        asked = operations.explore.GetNeighbors(
            type=type_name,
            id=node_id,
            edge=edge,
            direction=direction,
            limit=limit,
            cursor=after,
            **place_fields(self.place),
        )
        return self._run(asked)

    def blob(self, type_name: str, row_id: str, name: str, /) -> Blob | None:
        """Return a Blob property of one node or edge to read from; None when it is null."""
        about = {"type": type_name, "id": row_id, "property": name}
        return self._run(operations.read.GetBlob(**about, **place_fields(self.place)))

    def schema_view(self) -> Picture:
        """Return the types and how edges join them as a picture for notebooks."""
        from omnigraph.report.diagram import picture_schema

        return picture_schema(self.snapshot)

    def blame(self, type_name: str, row_id: str) -> list[Blamed]:
        """Return for each property of a node or edge the commit that it has its value from."""
        return self._run(operations.changes.GetBlame(type=type_name, id=row_id, branch=self.place))

    def diff(
        self,
        new: Place,
        *,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
        merge_base: bool = False,
    ) -> ChangeSet:
        """Return the net changes from here to another branch or commit, read as they are used.

        With `merge_base` they start where the two parted.
        """
        wanted = filter_fields(kinds, types, ops)
        diff = operations.changes.GetDiff(
            old=self.place, new=place_of(new), merge_base=merge_base, **wanted
        )
        return self._run(diff)

    def export(
        self,
        *,
        types: Sequence[str] = (),
        tables: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> Iterator[bytes]:
        """Return the rows as JSON lines, many at a time.

        Nodes come first, then edges, by type and by id, so equal graphs give equal bytes.
        """
        rows = operations.read.ExportRows(
            type_names=names_of(types, "types"),
            table_keys=names_of(tables, "tables"),
            **place_fields(self.place),
        )
        return self._run(rows, progress=progress)

    def export_to(
        self, folder: str | os.PathLike[str], **how: Unpack[ExportKeywords]
    ) -> ExportResult:
        """Write the rows as files of a new or empty folder.

        The format is `jsonl` (the default) or `parquet`. A server does not do this.
        """
        from omnigraph.export.keywords import ExportKeywords

        check_keywords("export_to", how, ExportKeywords)
        files = operations.read.ExportFiles(
            folder=os.fspath(folder),
            format=how.get("format"),
            types=list(how.get("types", ())),
            tables=list(how.get("tables", ())),
            **place_fields(self.place),
        )
        return cast("ExportResult", self._backend.run(files, self._options.with_how(how)))

    def to_networkx(
        self, *, types: Sequence[str] | None = None, edges: Sequence[str] | None = None
    ) -> networkx.MultiDiGraph:
        """Return the nodes of some types, or all, and the edges between them for networkx.

        A node is `(type, id)`, and so is the key of an edge; properties are attributes, but for
        blobs. It is held in memory as a whole.
        """
        from omnigraph.export.network import build_network

        nodes = None if types is None else list(types)
        joins = None if edges is None else list(edges)
        records = self._run(
            operations.read.ReadRecords(types=nodes, edges=joins, **place_fields(self.place))
        )
        return build_network(records)

    def _run(self, operation: Operation[R], **options: Any) -> R:  # noqa: ANN401
        """Run an operation with the options of this handle, and some more."""
        known = self._options
        return self._backend.run(operation, replace(known, **options) if options else known)

    def _read(
        self,
        source: str | Path | Source,
        query: NamedQuery,
        **mode: Any,  # noqa: ANN401 - one of a few words
    ) -> object:
        # A text has no name that errors could quote it by.
        named = {} if isinstance(source, str) else {"source": query_source(source)}
        text = source if isinstance(source, str) else named["source"].text
        rows = operations.read.ReadRows(
            query_source=text,
            query_name=query.name,
            params=query.params,
            **place_fields(self.place),
            **mode,
        )
        return self._run(rows, **named)


def place_of(place: Place) -> str:
    """Return the name of a branch or the id of a commit."""
    name: object = place.place if isinstance(place, View) else place
    if not isinstance(name, str):
        hint = "give its name or id, or a handle on it"
        raise InputError(
            f"expected a branch, a tag or a commit, found a {type(name).__name__}", hint=hint
        )
    return name


def check_limit(limit: int, most: int) -> None:
    """Raise InputError unless a number of members is one that an answer can have."""
    if not isinstance(limit, int) or not 1 <= limit <= most:
        raise InputError(f"a limit is a whole number from 1 to {most:,}, not {limit!r}")


def filter_fields(kinds: Iterable[str], types: Iterable[str], ops: Iterable[str]) -> dict[str, Any]:
    """Return which changes are of interest, as operations say it; raise InputError for others."""
    from omnigraph.merge.compare.row_change import ChangeFilter

    wanted = ChangeFilter.parse(
        names_of(kinds, "kinds"), names_of(types, "types"), names_of(ops, "ops")
    )
    return {
        "kinds": [str(each) for each in sorted(wanted.kinds)],
        "types": sorted(wanted.types),
        "ops": [str(each) for each in sorted(wanted.ops)],
    }
