"""View: a graph at one commit; it can be read, and never changes."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, TypeAlias, Union

from omnigraph.api.access import Access
from omnigraph.api.given import change_filter, query_source
from omnigraph.api.profile import Explanation, Profile, profile_of
from omnigraph.data.result import Result, ResultStream
from omnigraph.errors import BudgetError, InputError
from omnigraph.html import html_facts
from omnigraph.merge.blame import Blamed, blame
from omnigraph.merge.changes import ChangeSet
from omnigraph.policy.actions import Action
from omnigraph.query.compile import AcceptedSchema, compile_cached
from omnigraph.query.params import bind_params
from omnigraph.query.plan import ReadPlan
from omnigraph.read.answer import Answer, Terms, answer
from omnigraph.read.blob import Blob, blob_of
from omnigraph.read.execution import Budget
from omnigraph.read.road import Road, choose, rows_read
from omnigraph.schema.catalog import Catalog
from omnigraph.span import Source
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.snapshot import Snapshot

if TYPE_CHECKING:
    from typing import Unpack

    import networkx

    from omnigraph.export.export import Exported, ExportHow
    from omnigraph.spark.progress import Progress
    from omnigraph.spark.session import SparkSettings

# Tables of more rows than that are left to Spark, unless few rows are looked up by index. A row
# that is read takes about 100 bytes here, so these are about 5 GiB.
_MOST_ROWS_HERE = 50_000_000

# A branch or a commit: by its name or id, or by a handle on it.
Place: TypeAlias = Union[str, "View"]


@dataclass(frozen=True, slots=True)
class Reads:
    """Which engine answers queries, and where Spark runs if it is that."""

    engine: str = "inline"
    spark: "SparkSettings | None" = None

    @staticmethod
    def by(engine: str, spark: "SparkSettings | None" = None) -> "Reads":
        """Give how queries are answered; an engine that does not exist is refused."""
        if engine != "inline":
            from omnigraph.spark.choice import Engine
            from omnigraph.write.load.options import chosen

            engine = chosen(Engine, engine)
        return Reads(engine, spark)


class View:
    """A graph at one commit; it can be read, and never changes."""

    def __init__(
        self,
        access: Access,
        snapshot: Snapshot | None,
        budget: Budget | None = None,
        cancelled: Event | None = None,
        reads: Reads | None = None,
    ) -> None:
        self._access = access
        self._pinned = snapshot
        self._budget = budget or Budget()
        self._is_bounded = budget is not None
        self._cancelled = cancelled or Event()
        self._reads = reads or Reads()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r})"

    def _repr_html_(self) -> str:
        return html_facts(repr(self), (), self.snapshot._repr_html_())

    @property
    def place(self) -> str:
        """What is read: the id of a commit, or the name of a branch."""
        assert self._pinned is not None
        return self._pinned.commit.id

    @property
    def snapshot(self) -> Snapshot:
        """The commit that is read, with its catalog and tables."""
        return self._allowed(Action.READ)

    @property
    def commit(self) -> Commit:
        """The commit that is read."""
        return self.snapshot.commit

    @property
    def catalog(self) -> Catalog:
        """The types of the graph."""
        return self.snapshot.catalog

    @property
    def schema(self) -> str:
        """The text of the schema."""
        return self._access.repository.schema_source(self.commit.schema)

    def query(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Result:
        """Run a read; keywords are the parameters of the query.

        A `Path` is a file of queries and a `str` is their text; a name is needed when there are
        several.
        """
        snapshot = self.snapshot
        plan = _read_plan(source, name, snapshot)
        found = self._rows(plan, snapshot, params)
        return found if isinstance(found, Result) else found.to_result()

    def stream(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> ResultStream:
        """Run a read and give its rows as Arrow batches, in their order.

        On Spark they are made while they are read, so that a result can be larger than the memory.
        """
        snapshot = self.snapshot
        plan = _read_plan(source, name, snapshot)
        found = self._rows(plan, snapshot, params)
        return found if isinstance(found, ResultStream) else found.to_stream()

    def profile(
        self, source: str | Path | Source, name: str | None = None, /, **params: object
    ) -> Profile:
        """Run a read and give its result with what each operator took, read and gave."""
        snapshot = self.snapshot
        plan = _read_plan(source, name, snapshot)
        return profile_of(plan, self._answer(plan, snapshot, params, measures=True))

    def explain(self, source: str | Path | Source, name: str | None = None, /) -> Explanation:
        """Give the plan of a read, and the road it would take; nothing is run."""
        snapshot = self.snapshot
        plan = _read_plan(source, name, snapshot)
        return Explanation(plan, choose(plan, snapshot, self._access.topology))

    def blob(self, type_name: str, row_id: str, name: str, /) -> Blob | None:
        """Give a Blob property of one node or edge to read from; None when it is null."""
        return blob_of(self.snapshot, type_name, row_id, name)

    def blame(self, type_name: str, row_id: str) -> list[Blamed]:
        """Give for each property of a node or edge the commit that it has its value from."""
        self._access.check_place(self.place)
        return blame(self._access.repository, self.place, type_name, row_id)

    def diff(
        self,
        new: Place,
        *,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        ops: Iterable[str] = (),
    ) -> ChangeSet:
        """Give the net changes from here to another branch or commit, read as they are used."""
        wanted = change_filter(kinds, types, ops)
        here, later = self.snapshot, self._access.pin(place_of(new))
        wanted.check(here.catalog, later.catalog)
        return ChangeSet(here, later, wanted)

    def export(
        self,
        *,
        types: Sequence[str] = (),
        tables: Sequence[str] = (),
        progress: "Progress | None" = None,
    ) -> Iterator[bytes]:
        """Give the rows as JSON lines, many at a time.

        Nodes come first, then edges, by type and by id, so equal graphs give equal bytes.
        """
        from omnigraph.export.export import Selection, export_lines
        from omnigraph.spark.progress import NO_PROGRESS

        selection = Selection(tuple(types), tuple(tables))
        return export_lines(self._allowed(Action.EXPORT), selection, progress or NO_PROGRESS)

    def export_to(self, folder: str | os.PathLike[str], **how: "Unpack[ExportHow]") -> "Exported":
        """Write the rows as files of a new or empty folder.

        The format is `jsonl` (the default) or `parquet`.
        """
        return exported(self._allowed(Action.EXPORT), self.place, folder, how)

    def to_networkx(
        self, *, types: Sequence[str] | None = None, edges: Sequence[str] | None = None
    ) -> "networkx.MultiDiGraph":
        """Give the nodes of some types, or all, and the edges between them to networkx.

        A node is `(type, id)`, and so is the key of an edge; properties are attributes, but for
        blobs. It is held in memory as a whole.
        """
        from omnigraph.export.network import chosen_types, network_of, records_of

        snapshot = self._allowed(Action.EXPORT)
        chosen = chosen_types(snapshot.catalog, types, edges)
        return network_of(records_of(snapshot, chosen))

    def _allowed(self, action: Action) -> Snapshot:
        """Give the commit that is read, if the actor may do this to it."""
        assert self._pinned is not None
        self._access.repository.check_open()
        self._access.check_place(self._pinned.commit.id, action)
        return self._pinned

    def _rows(
        self, plan: ReadPlan, snapshot: Snapshot, params: Mapping[str, object]
    ) -> Result | ResultStream:
        """Give the rows of a plan, from Spark when they are too many for this process."""
        engine = self._reads.engine
        is_auto = engine == "auto"
        if engine != "spark" and not (is_auto and self._is_large(plan, snapshot)):
            try:
                return Result(plan.name, self._answer(plan, snapshot, params).table)
            except BudgetError as exceeded:
                if not is_auto or self._is_bounded or exceeded.limit == "seconds":
                    raise
        from omnigraph.read.spark.query import on_spark

        terms = self._terms(plan, params)
        if not self._is_bounded:
            terms = replace(terms, budget=replace(terms.budget, seconds=math.inf))
        return on_spark(plan, snapshot, terms, self._reads.spark)

    def _is_large(self, plan: ReadPlan, snapshot: Snapshot) -> bool:
        """Tell whether a plan reads more rows than this process should hold."""
        states = snapshot.commit.tables.values()
        if sum(state.row_count for state in states) <= _MOST_ROWS_HERE:
            return False
        if rows_read(plan, snapshot) <= _MOST_ROWS_HERE:
            return False
        return choose(plan, snapshot, self._access.topology).road is Road.ADJACENCY

    def _answer(
        self,
        plan: ReadPlan,
        snapshot: Snapshot,
        params: Mapping[str, object],
        *,
        measures: bool = False,
    ) -> Answer:
        terms = self._terms(plan, params, measures=measures)
        return answer(plan, snapshot, self._access.topology, terms)

    def _terms(
        self, plan: ReadPlan, params: Mapping[str, object], *, measures: bool = False
    ) -> Terms:
        return Terms(
            params=bind_params(plan, params),
            now=datetime.now(UTC),
            budget=self._budget,
            environment=os.environ,
            cancelled=self._cancelled,
            measures=measures,
        )


def exported(
    snapshot: Snapshot, place: str, folder: str | os.PathLike[str], how: "ExportHow"
) -> "Exported":
    """Write the rows of a snapshot as files of a folder; they are said to be of a place."""
    from omnigraph.export.export import export_folder, export_options, plan_export
    from omnigraph.spark.choice import runner_for
    from omnigraph.write.load.load import Target

    options = export_options(how)
    pinned = Target(place, snapshot)
    plan = plan_export(pinned, folder, options.selection, options.format)
    runner = runner_for(options.engine, options.spark, plan.size)
    return export_folder(plan, runner, options.progress)


def place_of(place: Place) -> str:
    """Give the name of a branch or the id of a commit."""
    return place if isinstance(place, str) else place.place


def _read_plan(source: str | Path | Source, name: str | None, snapshot: Snapshot) -> ReadPlan:
    plan = compile_cached(
        query_source(source), AcceptedSchema(snapshot.commit.schema, snapshot.catalog), name
    )
    if not isinstance(plan, ReadPlan):
        hint = "run it with Branch.mutate, or with omnigraph change"
        raise InputError(f"'{plan.name}' is a mutation", hint=hint)
    return plan
