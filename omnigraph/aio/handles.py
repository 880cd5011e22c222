"""Handles: the async handles on a graph; made from the blocking ones by `make docs`.

Each method has the name, the parameters and the promise of the blocking one, which it runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias, Union

from omnigraph.aio.calls import Pending
from omnigraph.aio.handle import Handle, blocking_place
from omnigraph.aio.items import (
    MANY,
    AsyncBlock,
    AsyncChangeSet,
    AsyncCommitChanges,
    AsyncItems,
    AsyncResultStream,
    AsyncWatch,
    blocking_changes,
    changes_of,
)
from omnigraph.aio.queries import AsyncQueries
from omnigraph.api.algorithms import Algorithms
from omnigraph.api.branch import Branch
from omnigraph.api.graph import Graph
from omnigraph.api.view import View
from omnigraph.schema.catalog import Catalog
from omnigraph.span import Source
from omnigraph.spark.deadline import TimeKeywords
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.history.retention import GRACE
from omnigraph.versioning.names import MAIN
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.write.load.keywords import AgainKeywords, BulkKeywords, LoadKeywords
from omnigraph.write.receipt import Receipt
from omnigraph.write.resolved import Choice

if TYPE_CHECKING:
    from threading import Event
    from typing import Unpack

    import networkx

    from omnigraph.aio.computed import AsyncAlgorithmResult
    from omnigraph.api.operations.reviews import BranchStatus
    from omnigraph.api.profile import Explanation, Profile
    from omnigraph.data.result import Result
    from omnigraph.evolve.plan import SavedPlan, SchemaApplied, SchemaPlan
    from omnigraph.export.export import ExportResult
    from omnigraph.export.keywords import ExportKeywords
    from omnigraph.maintain.keywords import BackupKeywords, OptimizeKeywords
    from omnigraph.maintain.reports import Checkup, Cleaned, Copied, Coverage, Optimized
    from omnigraph.merge.blamed import Blamed
    from omnigraph.merge.conflict import Resolutions, Side
    from omnigraph.merge.outcome import Merge
    from omnigraph.merge.review.page import ReviewPage
    from omnigraph.merge.review.record import Review
    from omnigraph.merge.run_record import RunRecord
    from omnigraph.notebook.picture import Picture
    from omnigraph.policy.rights import Rights
    from omnigraph.query.editor.complete import Completions
    from omnigraph.query.editor.diagnose import Diagnosis
    from omnigraph.read.blob import Blob
    from omnigraph.read.execution import Budget
    from omnigraph.read.hits import Hits
    from omnigraph.read.neighbors import Direction, Neighborhood
    from omnigraph.report.page import ShownChanges
    from omnigraph.spark.choice import Engine
    from omnigraph.spark.progress import Progress
    from omnigraph.spark.settings import SparkSettings
    from omnigraph.write.load.loaded import Ingested, Loaded
    from omnigraph.write.load.sources.inputs import Data
    from omnigraph.write.receipt import Receipt
    from omnigraph.write.resolved import Resolved

Place: TypeAlias = Union[str, "AsyncView"]


class AsyncAlgorithms(Handle[Algorithms]):
    """What the shape of a graph says of its nodes.

    `edges` are the types of the edges that count, without any all; `types` those of the nodes in
    the result, without any those at the ends of the edges. With `engine="spark"` Spark computes
    components, PageRank, communities and triangles.
    """

    async def pagerank(
        self,
        edges: str | Iterable[str] = (),
        *,
        types: str | Iterable[str] = (),
        direction: str | None = None,
        weight: str | None = None,
        damping: float | None = None,
        tolerance: float | None = None,
        engine: str | None = None,
    ) -> AsyncAlgorithmResult:
        """Return the `rank` of each node; all of them together are 1.

        Ranks are passed on along the edges (`direction` is `out`, `in` or `both`), by the numbers
        in the property `weight`; the damping is 0.85. It ends when the ranks of all nodes together
        change by less than the tolerance, 1e-9.
        """
        from omnigraph.aio.computed import AsyncAlgorithmResult

        return AsyncAlgorithmResult.of(
            self._calls,
            await self._calls.run(
                self._handle.pagerank,
                edges,
                types=types,
                direction=direction,
                weight=weight,
                damping=damping,
                tolerance=tolerance,
                engine=engine,
            ),
        )

    async def components(
        self,
        edges: str | Iterable[str] = (),
        *,
        types: str | Iterable[str] = (),
        direction: str | None = None,
        engine: str | None = None,
    ) -> AsyncAlgorithmResult:
        """Return the `component` of each node: nodes that edges join have the same number.

        With the direction `out` these are nodes that can reach each other along the edges (strong
        components), with `both`, the usual one, direction does not matter (weak components).
        """
        from omnigraph.aio.computed import AsyncAlgorithmResult

        return AsyncAlgorithmResult.of(
            self._calls,
            await self._calls.run(
                self._handle.components, edges, types=types, direction=direction, engine=engine
            ),
        )

    async def communities(
        self,
        edges: str | Iterable[str] = (),
        *,
        types: str | Iterable[str] = (),
        method: str | None = None,
        weight: str | None = None,
        resolution: float | None = None,
        engine: str | None = None,
    ) -> AsyncAlgorithmResult:
        """Return the `community` of each node: groups with many edges inside, and few between.

        The method `labels`, the usual one, passes labels on between neighbours until each has the
        one that most of its neighbours have. `louvain` makes groups of the highest modularity that
        it finds; it takes a `weight`, and a `resolution` above 1 for more and smaller groups.
        """
        from omnigraph.aio.computed import AsyncAlgorithmResult

        return AsyncAlgorithmResult.of(
            self._calls,
            await self._calls.run(
                self._handle.communities,
                edges,
                types=types,
                method=method,
                weight=weight,
                resolution=resolution,
                engine=engine,
            ),
        )

    async def betweenness(
        self,
        edges: str | Iterable[str] = (),
        *,
        types: str | Iterable[str] = (),
        direction: str | None = None,
        weight: str | None = None,
        samples: int | None = None,
        seed: int | None = None,
        engine: str | None = None,
    ) -> AsyncAlgorithmResult:
        """Return the `betweenness` of each node: which part of all shortest paths leads through it.

        The property `weight` is the length of an edge. The time grows with nodes times edges;
        `samples` estimates it from the paths of so many nodes, chosen by the `seed`.
        """
        from omnigraph.aio.computed import AsyncAlgorithmResult

        return AsyncAlgorithmResult.of(
            self._calls,
            await self._calls.run(
                self._handle.betweenness,
                edges,
                types=types,
                direction=direction,
                weight=weight,
                samples=samples,
                seed=seed,
                engine=engine,
            ),
        )

    async def k_core(
        self,
        edges: str | Iterable[str] = (),
        *,
        types: str | Iterable[str] = (),
        engine: str | None = None,
    ) -> AsyncAlgorithmResult:
        """Return the `core` of each node: the largest k such that it is in the k-core.

        That is the part of a graph in which each node has at least k neighbours.
        """
        from omnigraph.aio.computed import AsyncAlgorithmResult

        return AsyncAlgorithmResult.of(
            self._calls,
            await self._calls.run(self._handle.k_core, edges, types=types, engine=engine),
        )

    async def triangles(
        self,
        edges: str | Iterable[str] = (),
        *,
        types: str | Iterable[str] = (),
        engine: str | None = None,
    ) -> AsyncAlgorithmResult:
        """Return in how many `triangles` each node is; direction does not matter."""
        from omnigraph.aio.computed import AsyncAlgorithmResult

        return AsyncAlgorithmResult.of(
            self._calls,
            await self._calls.run(self._handle.triangles, edges, types=types, engine=engine),
        )

    async def similarity(
        self,
        edges: str | Iterable[str] = (),
        *,
        types: str | Iterable[str] = (),
        direction: str | None = None,
        limit: int | None = None,
        least: float | None = None,
        engine: str | None = None,
    ) -> AsyncAlgorithmResult:
        """Return for each node the `other` nodes that are most like it, at most `limit` of them.

        Their `similarity` is the part of the neighbours of both that they have in common
        (Jaccard), and `least` or more. The usual limit is 10.
        """
        from omnigraph.aio.computed import AsyncAlgorithmResult

        return AsyncAlgorithmResult.of(
            self._calls,
            await self._calls.run(
                self._handle.similarity,
                edges,
                types=types,
                direction=direction,
                limit=limit,
                least=least,
                engine=engine,
            ),
        )


class AsyncView(Handle[View]):
    """A graph at one commit; it can be read, and never changes."""

    @property
    def place(self) -> str:
        """What is read: the id of a commit, or the name of a branch."""
        return self._handle.place

    @property
    def snapshot(self) -> Pending[Snapshot]:
        """The commit that is read, with its catalog and tables."""
        return Pending(self._calls, lambda: self._handle.snapshot)

    @property
    def commit(self) -> Pending[Commit]:
        """The commit that is read."""
        return Pending(self._calls, lambda: self._handle.commit)

    @property
    def catalog(self) -> Pending[Catalog]:
        """The types of the graph."""
        return Pending(self._calls, lambda: self._handle.catalog)

    @property
    def schema(self) -> Pending[str]:
        """The text of the schema."""
        return Pending(self._calls, lambda: self._handle.schema)

    @property
    def queries(self) -> AsyncQueries:
        """The stored queries that the actor may run here; `queries["name"](key=value)` runs one."""
        return AsyncQueries(self._calls, self._handle.queries)

    @property
    def algo(self) -> AsyncAlgorithms:
        """What the shape of the graph says of its nodes: `algo.pagerank("Follows")`."""
        return AsyncAlgorithms(self._handle.algo, self._calls)

    async def query(
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
        return await self._calls.run(self._handle.query, source, name, params, **keywords)

    async def stream(
        self,
        source: str | Path | Source,
        name: str | Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        /,
        **keywords: object,
    ) -> AsyncResultStream:
        """Run a read and return its rows as Arrow batches, in their order.

        They are made while they are read, so that a result can be larger than the memory; a
        server sends all of them before the first can be read.
        """
        return await AsyncResultStream.of(
            self._calls, partial(self._handle.stream, source, name, params, **keywords)
        )

    async def profile(
        self,
        source: str | Path | Source,
        name: str | Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        /,
        **keywords: object,
    ) -> Profile:
        """Run a read and return its result with what each operator took, read and gave."""
        return await self._calls.run(self._handle.profile, source, name, params, **keywords)

    async def explain(self, source: str | Path | Source, name: str | None = None, /) -> Explanation:
        """Return the plan of a read, and the road it would take; nothing is run."""
        return await self._calls.run(self._handle.explain, source, name)

    async def lint(self, source: str | Path | Source) -> Diagnosis:
        """Return the problems of queries on this schema, and what each takes and returns."""
        return await self._calls.run(self._handle.lint, source)

    async def complete(self, text: str, position: int) -> Completions:
        """Return what may be written at a position of a text of queries, which need not parse.

        The position counts characters; items replace the text from `start` up to it.
        """
        return await self._calls.run(self._handle.complete, text, position)

    async def search(self, text: str, *, types: Iterable[str] = (), limit: int = 20) -> Hits:
        """Return the nodes that a text may mean, best first: by key, by words and by meaning.

        Words are found in texts that the schema indexes, meaning in the vectors that it makes of
        texts; other texts are compared within a bound, of which `notes` tell.
        """
        return await self._calls.run(self._handle.search, text, types=types, limit=limit)

    async def neighbors(
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
        return await self._calls.run(
            self._handle.neighbors,
            type_name,
            node_id,
            edge=edge,
            direction=direction,
            limit=limit,
            after=after,
        )

    async def blob(self, type_name: str, row_id: str, name: str, /) -> Blob | None:
        """Return a Blob property of one node or edge to read from; None when it is null."""
        return await self._calls.run(self._handle.blob, type_name, row_id, name)

    async def schema_view(self) -> Picture:
        """Return the types and how edges join them as a picture for notebooks."""
        return await self._calls.run(self._handle.schema_view)

    async def blame(self, type_name: str, row_id: str) -> list[Blamed]:
        """Return for each property of a node or edge the commit that it has its value from."""
        return await self._calls.run(self._handle.blame, type_name, row_id)

    async def diff(
        self,
        new: Place,
        *,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
        merge_base: bool = False,
    ) -> AsyncChangeSet:
        """Return the net changes from here to another branch or commit, read as they are used.

        With `merge_base` they start where the two parted.
        """
        return AsyncChangeSet(
            self._calls,
            await self._calls.run(
                self._handle.diff,
                blocking_place(new),
                kinds=kinds,
                types=types,
                ops=ops,
                merge_base=merge_base,
            ),
        )

    def export(
        self,
        *,
        types: Sequence[str] = (),
        tables: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> AsyncItems[bytes]:
        """Return the rows as JSON lines, many at a time.

        Nodes come first, then edges, by type and by id, so equal graphs give equal bytes.
        """
        return AsyncItems(
            self._calls, partial(self._handle.export, types=types, tables=tables, progress=progress)
        )

    async def export_to(
        self, folder: str | os.PathLike[str], **how: Unpack[ExportKeywords]
    ) -> ExportResult:
        """Write the rows as files of a new or empty folder.

        The format is `jsonl` (the default) or `parquet`. A server does not do this.
        """
        return await self._calls.run(self._handle.export_to, folder, **how)

    async def to_networkx(
        self, *, types: Sequence[str] | None = None, edges: Sequence[str] | None = None
    ) -> networkx.MultiDiGraph:
        """Return the nodes of some types, or all, and the edges between them for networkx.

        A node is `(type, id)`, and so is the key of an edge; properties are attributes, but for
        blobs. It is held in memory as a whole.
        """
        return await self._calls.run(self._handle.to_networkx, types=types, edges=edges)


class AsyncBranch(AsyncView):
    """A branch: reads see it where it stands now, and each change is one commit of it."""

    _handle: Branch

    @property
    def name(self) -> str:
        """The name of the branch."""
        return self._handle.name

    async def mutate(
        self,
        source: str | Path | Source,
        name: str | Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        /,
        **keywords: object,
    ) -> Receipt:
        """Run a mutation as one commit; the parameters are keywords, or a mapping, or both.

        Raises ViolationsError with everything that is wrong, and then nothing is visible.
        """
        return await self._calls.run(self._handle.mutate, source, name, params, **keywords)

    async def resolve(
        self,
        type: str,
        *,
        into: str,
        duplicate: str,
        take: Choice | str = Choice.INTO,
        properties: Mapping[str, Choice | str] | None = None,
        aliases: str | None = None,
        dry_run: bool = False,
    ) -> Resolved:
        """Make two nodes of a type one, as one commit: `into` stays, and gets what both had.

        It gets the edges of the `duplicate`; edges that would be twins where a rule forbids them
        become one. Of properties that both have, the value of `into` is kept, or with `take` that
        of `from`, the duplicate; `properties` says so for single ones. A [String] property
        `aliases` gets the ids of both. With `dry_run` nothing is written. Raises ViolationsError
        with everything that is wrong, and then nothing is visible.
        """
        return await self._calls.run(
            self._handle.resolve,
            type,
            into=into,
            duplicate=duplicate,
            take=take,
            properties=properties,
            aliases=aliases,
            dry_run=dry_run,
        )

    async def load(
        self, data: Data, *, type: str | None = None, **how: Unpack[LoadKeywords]
    ) -> Loaded:
        """Load rows as one commit, or raise ViolationsError and change nothing.

        `data` is a path or several, JSON lines as text or a stream of them, a networkx graph, a
        frame or dicts of one `type`, or these by the names of their types. With a `type`, JSON
        lines are plain objects. The mode is `append` (the default), `merge`, `replace` or
        `overwrite`.
        """
        return await self._calls.run(self._handle.load, data, type=type, **how)

    async def embed_again(self, *types: str, **how: Unpack[AgainKeywords]) -> Loaded:
        """Make all vectors of types anew, of all that have `@embed` without one, as one commit.

        They are made by the model that is chosen now, which queries and changes have to use then.
        """
        return await self._calls.run(self._handle.embed_again, *types, **how)

    async def merge(
        self,
        source: Place,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
        expect_source: str | None = None,
        **bulk: Unpack[BulkKeywords],
    ) -> Merge:
        """Merge a branch or commit into this branch, as one commit with two parents.

        Raises MergeConflictsError with all conflicts, and then nothing is changed. `ours` or
        `theirs`, or `Resolutions` by type, row and property, say whose version is taken. With
        `strict` any row that both sides changed differently is a conflict. Large changes are merged
        on Spark, or in this process a part at a time; `engine` and `spark` say otherwise. With
        `expect_source` the source, and with the `expect` of this handle the branch has to stand at
        a commit, else HeadMovedError.
        """
        return await self._calls.run(
            self._handle.merge,
            blocking_place(source),
            actor=actor,
            message=message,
            resolutions=resolutions,
            strict=strict,
            expect_source=expect_source,
            **bulk,
        )

    async def preview_merge(
        self,
        source: Place,
        *,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
        **bulk: Unpack[BulkKeywords],
    ) -> Merge:
        """Return what a merge would do, conflicts included; nothing is written."""
        return await self._calls.run(
            self._handle.preview_merge,
            blocking_place(source),
            resolutions=resolutions,
            strict=strict,
            **bulk,
        )

    async def revert(
        self,
        commit_id: str,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
        **bulk: Unpack[BulkKeywords],
    ) -> Merge:
        """Undo what a commit did, as a new commit."""
        return await self._calls.run(
            self._handle.revert,
            commit_id,
            actor=actor,
            message=message,
            resolutions=resolutions,
            **bulk,
        )

    async def preview_revert(
        self,
        commit_id: str,
        *,
        resolutions: Resolutions | Side | str | None = None,
        **bulk: Unpack[BulkKeywords],
    ) -> Merge:
        """Return what a revert would do, conflicts included; nothing is written."""
        return await self._calls.run(
            self._handle.preview_revert, commit_id, resolutions=resolutions, **bulk
        )

    async def plan_schema(
        self, schema: str | Path | Source, **limits: Unpack[TimeKeywords]
    ) -> SchemaPlan:
        """Return what a schema would change, and what is in its way; nothing is written."""
        return await self._calls.run(self._handle.plan_schema, schema, **limits)

    async def apply_schema(
        self,
        schema: str | Path | Source | SavedPlan,
        *,
        allow_data_loss: bool = False,
        **limits: Unpack[TimeKeywords],
    ) -> SchemaApplied:
        """Apply a schema, with everything that follows for the tables, as one commit.

        Raises UnsupportedMigrationError or ViolationsError with everything that is in the way,
        and then nothing is changed; so does DataLossError when the schema drops something, unless
        `allow_data_loss` is set. A plan that was saved is applied only where the branch still
        stands as it was planned, else HeadMovedError. `seconds` and `cancelled` end it before it
        publishes.
        """
        return await self._calls.run(
            self._handle.apply_schema, schema, allow_data_loss=allow_data_loss, **limits
        )

    def log(self, *, limit: int | None = None, after: str | None = None) -> AsyncItems[Commit]:
        """Return the commits, newest first; `after` goes on behind one of them."""
        return AsyncItems(
            self._calls, partial(self._handle.log, limit=limit, after=after), most=MANY
        )

    def changes(
        self,
        *,
        since: str | None = None,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> AsyncItems[AsyncCommitChanges]:
        """Return what each commit changed, oldest first, after the one of a cursor.

        Going on from the cursor of the last one that was dealt with, none is missed.
        """
        return AsyncItems(
            self._calls,
            lambda: map(
                partial(changes_of, self._calls),
                self._handle.changes(since=since, kinds=kinds, types=types, ops=ops),
            ),
        )

    def watch(
        self,
        *,
        since: str | None = None,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
        seconds: float | None = None,
    ) -> AsyncItems[AsyncCommitChanges]:
        """Return what each commit changes as it comes, oldest first, after the one of a cursor.

        It begins where the branch stands, and waits for more; with `seconds` it ends after so
        long. A view of `graph.at()` and `since` its commit give all rows, and then every change
        to them. Raises HistoryGapError when a cleanup removed what was not seen yet.
        """
        return AsyncWatch(
            self._calls,
            partial(
                self._handle._looks, since=since, kinds=kinds, types=types, ops=ops, seconds=seconds
            ),
        )


class AsyncGraph(Handle[Graph]):
    """A graph: its branches, its history and its snapshots.

    It is at hand, on a disk or in a bucket, or a server has it; the methods are the same. What
    only one of the two can do raises UnavailableError with the other.
    """

    async def close(self) -> None:
        """Close the graph; later calls on it and on its handles raise InputError."""
        await self._calls.close(self._handle.close)

    @property
    def uri(self) -> str:
        """Where the graph is: a folder, a bucket, or a server."""
        return self._handle.uri

    @property
    def actor(self) -> str | None:
        """Who acts through this handle, and is noted with what changes."""
        return self._handle.actor

    def acting_as(self, actor: str | None) -> AsyncGraph:
        """Return a handle on the same graph for another actor; the policy asks about that one.

        Raises UnavailableError for a server's graph, where the token says who acts.
        """
        return AsyncGraph(self._handle.acting_as(actor), self._calls)

    async def rights(self) -> Rights:
        """Return who acts through this handle, and what the policy lets them do."""
        return await self._calls.run(self._handle.rights)

    @property
    def catalog(self) -> Pending[Catalog]:
        """The types of `main`."""
        return Pending(self._calls, lambda: self._handle.catalog)

    @property
    def schema_hash(self) -> Pending[str]:
        """The hash of what the schema of `main` says."""
        return Pending(self._calls, lambda: self._handle.schema_hash)

    @property
    def schema(self) -> Pending[str]:
        """The text of the schema of `main`."""
        return Pending(self._calls, lambda: self._handle.schema)

    @property
    def queries(self) -> AsyncQueries:
        """The stored queries that the actor may run on `main`; see `View.queries`."""
        return AsyncQueries(self._calls, self._handle.queries)

    @property
    def algo(self) -> AsyncAlgorithms:
        """What the shape of `main` says of its nodes; see `View.algo`."""
        return AsyncAlgorithms(self._handle.algo, self._calls)

    def branch(
        self,
        name: str = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        expect: str | None = None,
        operation_id: str | None = None,
        budget: Budget | None = None,
        cancelled: Event | None = None,
    ) -> AsyncBranch:
        """Return a branch to read and to change; it need not be there until it is used.

        Changes are noted with the actor and the message. With `expect` a mutation is only done
        when the branch stands at this commit, else it raises HeadMovedError. An `operation_id`
        that was given before leads to the receipt of then, and nothing is done again.
        """
        return AsyncBranch(
            self._handle.branch(
                name,
                actor=actor,
                message=message,
                expect=expect,
                operation_id=operation_id,
                budget=budget,
                cancelled=cancelled,
            ),
            self._calls,
        )

    async def at(
        self,
        target: Place = MAIN,
        *,
        budget: Budget | None = None,
        cancelled: Event | None = None,
        engine: Engine | str | None = None,
        spark: SparkSettings | None = None,
    ) -> AsyncView:
        """Return a branch where it stands now, or a commit, to read from.

        Its queries stop with CancelledError soon after `cancelled` is set by another thread. They
        are answered in this process, unless the `engine` is `spark`, or it is `auto` and they are
        large. On Spark they may take any time, unless a `budget` is given.
        """
        return AsyncView(
            await self._calls.run(
                self._handle.at,
                blocking_place(target),
                budget=budget,
                cancelled=cancelled,
                engine=engine,
                spark=spark,
            ),
            self._calls,
        )

    async def snapshot(self, target: Place = MAIN) -> Snapshot:
        """Pin a branch where it stands now, or a commit by its id."""
        return await self._calls.run(self._handle.snapshot, blocking_place(target))

    async def snapshot_at_version(self, version: int, branch: str = MAIN) -> Snapshot:
        """Pin the commit that gave a branch a version."""
        return await self._calls.run(self._handle.snapshot_at_version, version, branch)

    async def entity_at(
        self, table_key: str, entity_id: str, version: int, branch: str = MAIN
    ) -> Mapping[str, object] | None:
        """Return one node or edge as it was at a version, or None when it was not there."""
        return await self._calls.run(self._handle.entity_at, table_key, entity_id, version, branch)

    async def branches(self) -> list[str]:
        """Return the names of all branches, `main` first."""
        return await self._calls.run(self._handle.branches)

    async def branch_status(self) -> list[BranchStatus]:
        """Return where each branch stands: its newest commit, how far it is from `main`."""
        return await self._calls.run(self._handle.branch_status)

    async def review_page(
        self,
        branch: str,
        *,
        into: str = MAIN,
        types: Iterable[str] = (),
        limit: int = 100,
        after: str | None = None,
    ) -> ReviewPage:
        """Return what a branch would bring to another, in all, and a page of its changes.

        `after` goes on behind the `cursor` of a page; then only changes are told. Only the rows of
        the page are read, however many changed.
        """
        return await self._calls.run(
            self._handle.review_page, branch, into=into, types=types, limit=limit, after=after
        )

    async def review_record(self, branch: str) -> Review | None:
        """Return what was said about a branch, and the state of its review; None if nothing."""
        return await self._calls.run(self._handle.review_record, branch)

    async def set_review(
        self,
        branch: str,
        state: str,
        message: str | None = None,
        *,
        into: str = MAIN,
        expect: str | None = None,
    ) -> Review:
        """Open the review of a branch (`open`), or decide it: `approved`, or `changes_asked`.

        With `expect`, the branch has to stand at this commit, else HeadMovedError. A merge sets
        the state `merged`.
        """
        return await self._calls.run(
            self._handle.set_review, branch, state, message, into=into, expect=expect
        )

    async def comment_review(
        self,
        branch: str,
        message: str,
        *,
        type: str | None = None,
        id: str | None = None,
        property: str | None = None,
        into: str = MAIN,
        expect: str | None = None,
    ) -> Review:
        """Comment on a branch, or on a type, a row or a property of it."""
        return await self._calls.run(
            self._handle.comment_review,
            branch,
            message,
            type=type,
            id=id,
            property=property,
            into=into,
            expect=expect,
        )

    async def create_branch(self, name: str, source: Place = MAIN) -> AsyncBranch:
        """Make a branch where another one, or a commit, stands, and return it."""
        return AsyncBranch(
            await self._calls.run(self._handle.create_branch, name, blocking_place(source)),
            self._calls,
        )

    async def delete_branch(self, name: str, *, expect: str | None = None) -> None:
        """Remove a branch; raises InputError for one to which a run is to be published.

        With `expect`, the branch has to stand at this commit, else HeadMovedError.
        """
        await self._calls.run(self._handle.delete_branch, name, expect=expect)

    async def rename_branch(self, name: str, new_name: str) -> None:
        """Rename a branch; raises InputError for one to which a run is to be published."""
        await self._calls.run(self._handle.rename_branch, name, new_name)

    async def tags(self) -> dict[str, str]:
        """Return the commit of every tag, by name."""
        return await self._calls.run(self._handle.tags)

    async def create_tag(self, name: str, target: Place = MAIN) -> str:
        """Name a commit, or where a branch stands now; returns the id of the commit."""
        return await self._calls.run(self._handle.create_tag, name, blocking_place(target))

    async def delete_tag(self, name: str) -> None:
        """Remove a tag; the commit stays."""
        await self._calls.run(self._handle.delete_tag, name)

    async def runs(self, *, limit: int | None = None, after: str | None = None) -> list[RunRecord]:
        """Return the runs, newest first; `after` goes on behind one of them."""
        return await self._calls.run(self._handle.runs, limit=limit, after=after)

    async def run_record(self, run_id: str) -> RunRecord:
        """Return a run by its id."""
        return await self._calls.run(self._handle.run_record, run_id)

    def run(
        self,
        target: str = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        operation_hash: str | None = None,
    ) -> AsyncBlock[AsyncBranch, Branch]:
        """Begin a run and yield its branch; at the end of the block it is published.

        What is written to the branch appears on the target at once, as one merge. A block that
        raises, or a publication that fails, aborts the run, and then nothing of it is published.
        """
        return AsyncBlock(
            self._calls,
            partial(
                self._handle.run,
                target,
                actor=actor,
                message=message,
                operation_hash=operation_hash,
            ),
            lambda branch: AsyncBranch(branch, self._calls),
        )

    async def begin_run(
        self, target: str = MAIN, *, operation_hash: str | None = None, actor: str | None = None
    ) -> RunRecord:
        """Begin a run: what is written to its `run_branch` is published to the target at once."""
        return await self._calls.run(
            self._handle.begin_run, target, operation_hash=operation_hash, actor=actor
        )

    async def publish_run(
        self,
        run_id: str,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
        **bulk: Unpack[BulkKeywords],
    ) -> RunRecord:
        """Merge what a run wrote into its target; its branch is removed.

        `seconds` and `cancelled` end it before it publishes, and the run goes on.
        """
        return await self._calls.run(
            self._handle.publish_run,
            run_id,
            actor=actor,
            message=message,
            resolutions=resolutions,
            **bulk,
        )

    async def abort_run(self, run_id: str) -> RunRecord:
        """Abort a run; what it wrote is never published."""
        return await self._calls.run(self._handle.abort_run, run_id)

    async def fail_run(self, run_id: str) -> RunRecord:
        """Record that a run failed; what it wrote is never published."""
        return await self._calls.run(self._handle.fail_run, run_id)

    async def commit(self, commit_id: str) -> Commit:
        """Return a commit by its id."""
        return await self._calls.run(self._handle.commit, commit_id)

    async def query(
        self,
        source: str | Path | Source,
        name: str | Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        /,
        **keywords: object,
    ) -> Result:
        """Run a read on `main` as it stands now."""
        return await self._calls.run(self._handle.query, source, name, params, **keywords)

    async def explain(self, source: str | Path | Source, name: str | None = None, /) -> Explanation:
        """Return the plan of a read on `main`, and the road it would take; nothing is run."""
        return await self._calls.run(self._handle.explain, source, name)

    async def profile(
        self,
        source: str | Path | Source,
        name: str | Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        /,
        **keywords: object,
    ) -> Profile:
        """Run a read on `main` and return its result with what each operator took."""
        return await self._calls.run(self._handle.profile, source, name, params, **keywords)

    async def mutate(
        self,
        source: str | Path | Source,
        name: str | Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        /,
        **keywords: object,
    ) -> Receipt:
        """Run a mutation on `main` as one commit."""
        return await self._calls.run(self._handle.mutate, source, name, params, **keywords)

    async def load(
        self,
        data: Data,
        *,
        branch: str = MAIN,
        type: str | None = None,
        **how: Unpack[LoadKeywords],
    ) -> Loaded:
        """Load rows into a branch as one commit; see `Branch.load`."""
        return await self._calls.run(self._handle.load, data, branch=branch, type=type, **how)

    async def embed_again(
        self, *types: str, branch: str = MAIN, **how: Unpack[AgainKeywords]
    ) -> Loaded:
        """Make all vectors of types anew; see `Branch.embed_again`."""
        return await self._calls.run(self._handle.embed_again, *types, branch=branch, **how)

    async def ingest(
        self,
        data: Data,
        *,
        branch: str,
        base: str = MAIN,
        type: str | None = None,
        **how: Unpack[LoadKeywords],
    ) -> Ingested:
        """Load rows into a branch, which is made from `base` by the same commit if need be.

        The mode is `merge` unless given otherwise.
        """
        return await self._calls.run(
            self._handle.ingest, data, branch=branch, base=base, type=type, **how
        )

    def export(
        self,
        target: Place = MAIN,
        *,
        types: Sequence[str] = (),
        tables: Sequence[str] = (),
        progress: Progress | None = None,
    ) -> AsyncItems[bytes]:
        """Return the rows of a branch or commit as JSON lines; see `View.export`."""
        return AsyncItems(
            self._calls,
            partial(
                self._handle.export,
                blocking_place(target),
                types=types,
                tables=tables,
                progress=progress,
            ),
        )

    async def export_to(
        self, folder: str | os.PathLike[str], target: Place = MAIN, **how: Unpack[ExportKeywords]
    ) -> ExportResult:
        """Write the rows of a branch or commit as files; see `View.export_to`."""
        return await self._calls.run(self._handle.export_to, folder, blocking_place(target), **how)

    async def schema_view(self, target: Place = MAIN) -> Picture:
        """Return the types of a branch or commit as a picture; see `View.schema_view`."""
        return await self._calls.run(self._handle.schema_view, blocking_place(target))

    async def blame(self, type_name: str, row_id: str, target: Place = MAIN) -> list[Blamed]:
        """Return for each property of a node or edge the commit that it has its value from."""
        return await self._calls.run(self._handle.blame, type_name, row_id, blocking_place(target))

    def log(
        self, branch: str = MAIN, *, limit: int | None = None, after: str | None = None
    ) -> AsyncItems[Commit]:
        """Return the commits of a branch, newest first; `after` goes on behind one of them."""
        return AsyncItems(
            self._calls, partial(self._handle.log, branch, limit=limit, after=after), most=MANY
        )

    async def diff(
        self,
        old: Place,
        new: Place = MAIN,
        *,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> AsyncChangeSet:
        """Return the net changes from one branch or commit to another, read as they are used."""
        return AsyncChangeSet(
            self._calls,
            await self._calls.run(
                self._handle.diff,
                blocking_place(old),
                blocking_place(new),
                kinds=kinds,
                types=types,
                ops=ops,
            ),
        )

    async def review(
        self,
        source: Place,
        into: Place = MAIN,
        *,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> AsyncChangeSet:
        """Return what a branch did since it parted from another, read as it is used.

        What the other did meanwhile is not in it, as it would be in a `diff` of the two.
        """
        return AsyncChangeSet(
            self._calls,
            await self._calls.run(
                self._handle.review,
                blocking_place(source),
                blocking_place(into),
                kinds=kinds,
                types=types,
                ops=ops,
            ),
        )

    def changes(
        self,
        branch: str = MAIN,
        *,
        since: str | None = None,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> AsyncItems[AsyncCommitChanges]:
        """Return what each commit of a branch changed, oldest first; see `Branch.changes`."""
        return AsyncItems(
            self._calls,
            lambda: map(
                partial(changes_of, self._calls),
                self._handle.changes(branch, since=since, kinds=kinds, types=types, ops=ops),
            ),
        )

    async def merge(
        self,
        source: Place,
        into: Place = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
        expect: str | None = None,
        expect_source: str | None = None,
        **bulk: Unpack[BulkKeywords],
    ) -> Merge:
        """Merge a branch or commit into a branch; see `Branch.merge`."""
        return await self._calls.run(
            self._handle.merge,
            blocking_place(source),
            blocking_place(into),
            actor=actor,
            message=message,
            resolutions=resolutions,
            strict=strict,
            expect=expect,
            expect_source=expect_source,
            **bulk,
        )

    async def preview_merge(
        self,
        source: Place,
        into: Place = MAIN,
        *,
        resolutions: Resolutions | Side | str | None = None,
        strict: bool = False,
        **bulk: Unpack[BulkKeywords],
    ) -> Merge:
        """Return what a merge would do, conflicts included; nothing is written."""
        return await self._calls.run(
            self._handle.preview_merge,
            blocking_place(source),
            blocking_place(into),
            resolutions=resolutions,
            strict=strict,
            **bulk,
        )

    async def revert(
        self,
        commit_id: str,
        branch: Place = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        resolutions: Resolutions | Side | str | None = None,
        **bulk: Unpack[BulkKeywords],
    ) -> Merge:
        """Undo what a commit did, as a new commit of a branch."""
        return await self._calls.run(
            self._handle.revert,
            commit_id,
            blocking_place(branch),
            actor=actor,
            message=message,
            resolutions=resolutions,
            **bulk,
        )

    async def plan_schema(
        self, schema: str | Path | Source, branch: Place = MAIN, **limits: Unpack[TimeKeywords]
    ) -> SchemaPlan:
        """Return what a schema would change on a branch; nothing is written."""
        return await self._calls.run(
            self._handle.plan_schema, schema, blocking_place(branch), **limits
        )

    async def apply_schema(
        self,
        schema: str | Path | Source | SavedPlan,
        branch: Place = MAIN,
        *,
        actor: str | None = None,
        message: str | None = None,
        allow_data_loss: bool = False,
        **limits: Unpack[TimeKeywords],
    ) -> SchemaApplied:
        """Apply a schema to a branch, with everything that follows for its rows, as one commit.

        One that drops a type, a property, a rule or an index is refused without
        `allow_data_loss`; what it hides can be restored until a cleanup removes it.
        """
        return await self._calls.run(
            self._handle.apply_schema,
            schema,
            blocking_place(branch),
            actor=actor,
            message=message,
            allow_data_loss=allow_data_loss,
            **limits,
        )

    async def report(
        self,
        target: Place = MAIN,
        *,
        compared: Mapping[str, ShownChanges | AsyncChangeSet] | None = None,
        answered: Mapping[str, Result] | None = None,
        commits: int = 40,
    ) -> str:
        """Return a page of HTML about the graph, which opens without a network.

        It shows the schema of a branch or commit, the newest commits of all branches, and, each
        under its title, changes that were compared and results of queries.
        """
        return await self._calls.run(
            self._handle.report,
            blocking_place(target),
            compared=blocking_changes(compared),
            answered=answered,
            commits=commits,
        )

    async def merge_base(self, one: Place, other: Place) -> Commit:
        """Return the newest commit that two branches or commits came from."""
        return await self._calls.run(
            self._handle.merge_base, blocking_place(one), blocking_place(other)
        )

    async def optimize(self, branch: str = MAIN, **how: Unpack[OptimizeKeywords]) -> Optimized:
        """Rewrite a branch in few large files, all indexed; no content changes.

        Small fragments are joined and indexes completed, as one commit that diffs and changes
        pass by. Writers are never held up: a table that they change meanwhile is left to them.
        With `types` only their tables are rewritten, and those of `exclude` never are: a table of
        large values does not keep the others waiting. `seconds` and `cancelled` end it before it
        publishes.
        """
        return await self._calls.run(self._handle.optimize, branch, **how)

    async def ensure_indices(self, branch: str = MAIN) -> Optimized:
        """Complete all indexes of a branch, and leave its files as they are otherwise."""
        return await self._calls.run(self._handle.ensure_indices, branch)

    async def coverage(self, target: Place = MAIN) -> list[Coverage]:
        """Return for each index how many rows are in it, how many are not yet, and why."""
        return await self._calls.run(self._handle.coverage, blocking_place(target))

    async def cleanup(
        self,
        *,
        keep: int | None = None,
        older_than: timedelta | str | None = None,
        grace: timedelta | str = GRACE,
        branches: Iterable[str] = (),
        types: Iterable[str] = (),
        confirm: bool = False,
        progress: Progress | None = None,
        **limits: Unpack[TimeKeywords],
    ) -> Cleaned:
        """Remove what only old commits need; without `confirm`, report what that would be.

        The newest `keep` commits of each branch stay, and those at which a branch stood within
        `older_than`, such as `7d`; at least one of the two has to be given. What branches, tags
        and runs stand at always stays, and so does everything of the last `grace`. Runs to which
        nobody wrote within `older_than` end as failed. With `branches` or `types`, only what their
        commits and tables have goes. `seconds` and `cancelled` end it before anything is removed.
        """
        return await self._calls.run(
            self._handle.cleanup,
            keep=keep,
            older_than=older_than,
            grace=grace,
            branches=branches,
            types=types,
            confirm=confirm,
            progress=progress,
            **limits,
        )

    async def fsck(
        self,
        *,
        branches: Iterable[str] = (),
        types: Iterable[str] = (),
        progress: Progress | None = None,
        **limits: Unpack[TimeKeywords],
    ) -> Checkup:
        """Check everything that the graph is made of and name all damage; nothing is changed.

        With `branches` or `types`, only their versions and rows are read. `seconds` and `cancelled`
        end it early.
        """
        return await self._calls.run(
            self._handle.fsck, branches=branches, types=types, progress=progress, **limits
        )

    async def backup(self, dest: str | os.PathLike[str], **how: Unpack[BackupKeywords]) -> Copied:
        """Make a consistent copy of the graph in an empty place, or renew the one that is there.

        Others may write meanwhile: the copy is the graph as it was at one moment, with all history
        that can be read. Only what is new is copied. Until the copy is complete, the place has the
        one before, or none. Afterwards all of it is checked as by `fsck`, unless `verify` is False.
        `seconds` and `cancelled` end it early. A server does not do this.
        """
        return await self._calls.run(self._handle.backup, dest, **how)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
