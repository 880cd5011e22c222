"""Algorithms: components, PageRank, communities and triangles by operations on frames.

A node is the struct of its id and the number of its type, which sorts as rows by id do. Each round
of an algorithm is a frame that is computed once and held by the executors, so that plans stay
small.
"""

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as fn

from omnigraph.errors import InputError
from omnigraph.frozen import dataclass
from omnigraph.query.checked import Direction, Step
from omnigraph.query.expr import EntityKind, EntityType
from omnigraph.read.algorithms.asked import Algorithm, AlgorithmCall, Scope
from omnigraph.read.algorithms.labels import number_groups
from omnigraph.read.algorithms.network import weights_too_large
from omnigraph.read.algorithms.ranking import DAMPING, TOLERANCE
from omnigraph.read.spark.frames import SnapshotFrames
from omnigraph.read.spark.opening import open_session
from omnigraph.read.sparse_reader import SparseReader
from omnigraph.spark.choice import default_settings
from omnigraph.spark.deadline import Deadline
from omnigraph.spark.job import Tag, failed_job
from omnigraph.spark.session import session
from omnigraph.spark.settings import SparkSettings
from omnigraph.versioning.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row, SparkSession

Found = TypeVar("Found")


def run_on_spark(
    call: AlgorithmCall, snapshot: Snapshot, deadline: Deadline, settings: SparkSettings | None
) -> pa.Table:
    """Return what an algorithm says of each node, by id, computed on Spark."""
    return run_with(call, snapshot, deadline, session(settings or default_settings()))


def run_with(
    call: AlgorithmCall, snapshot: Snapshot, deadline: Deadline, spark: "SparkSession"
) -> pa.Table:
    """Return what an algorithm says of each node, by id, computed by a session."""
    scope = call.on(snapshot.catalog)
    own = open_session(scope.count_rows(snapshot), spark).spark
    frames = SnapshotFrames(own, SparseReader(snapshot, {}))
    work = _Work(Tag(own), deadline, frames, scope)
    match call.algorithm:
        case Algorithm.PAGERANK:
            found = work.table(_rank(work, call))
        case Algorithm.COMPONENTS:
            found = _numbered(work.table(_join_components(work)))
        case Algorithm.COMMUNITIES:
            found = _numbered(work.table(_propagate(work)))
        case _:
            found = work.table(_count_triangles(work))
    return found.rename_columns(["type", "id", call.column])


@dataclass(frozen=True, slots=True)
class _Work:
    """The frames of one question, and its jobs, which can be cancelled and fail in our words."""

    tag: Tag
    deadline: Deadline
    frames: SnapshotFrames
    scope: Scope

    def over(self, work: Callable[[], Found]) -> Found:
        """Return what jobs return; they are cancelled when the deadline is over."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        self.deadline.check()
        try:
            return self.tag.over(work, lambda: self.deadline.is_over)
        except (PySparkException, Py4JError) as failed:
            self.deadline.check()
            raise failed_job(failed) from None

    def held(self, frame: "DataFrame") -> "DataFrame":
        """Return a frame that was computed, and that executors hold."""
        return self.over(lambda: frame.localCheckpoint(eager=True))

    def first(self, frame: "DataFrame") -> "Row":
        """Return the only row of a frame."""
        return self.over(frame.collect)[0]

    def nodes(self) -> "DataFrame":
        """Return all nodes, in the column `node`."""
        kind = EntityType(EntityKind.NODE, self.scope.nodes)
        found = self.frames.scan(kind, [])
        return found.frame.select(_node(found.entity.id, found.entity.type).alias("node"))

    def edges(self, weight: str | None = None) -> "DataFrame":
        """Return all edges: `start`, `end` and their `weight`, which is 1 without a property."""
        kind = EntityType(EntityKind.NODE, self.scope.nodes)
        steps = tuple(Step(edge=each.name, direction=Direction.OUT) for each in self.scope.edges)
        kinds = {each.properties[weight].type for each in self.scope.edges} if weight else set()
        wanted = [(str(weight), each) for each in sorted(kinds, key=str)]
        found = self.frames.edges(steps, kind, kind, wanted)
        assert found.edge is not None
        own = [fn.col(found.edge.column_of(item)).cast("double") for item in wanted]
        return found.frame.select(
            _node(found.start.id, found.start.type).alias("start"),
            _node(found.end.id, found.end.type).alias("end"),
            (fn.coalesce(*own) if own else fn.lit(1.0)).alias("weight"),
        )

    def pairs(self) -> "DataFrame":
        """Return the different nodes that edges join, each pair once: `low` and `high`."""
        ends = fn.least("start", "end"), fn.greatest("start", "end")
        edges = self.edges().where(fn.col("start") != fn.col("end"))
        return edges.select(ends[0].alias("low"), ends[1].alias("high")).distinct()

    def table(self, frame: "DataFrame") -> pa.Table:
        """Return the types, ids and values of the shown nodes, by id; a value may be a node."""
        reader = self.frames.reader
        numbers = {reader.number(name): name for name in self.scope.nodes}
        shown = [number for number, name in numbers.items() if name in self.scope.shown]
        some = frame.where(fn.col("node.type").isin(shown))
        rows = self.over(some.select("node.id", "node.type", "value").toArrow)
        rows = rows.sort_by([("id", "ascending"), ("type", "ascending")])
        places = pc.index_in(rows["type"].combine_chunks(), value_set=pa.array(numbers, pa.int32()))
        types = pa.array(numbers.values(), pa.utf8()).take(places)
        return pa.table({"type": types, "id": rows["id"].cast(pa.utf8()), "value": rows["value"]})


def _node(row_id: str, type_number: str) -> "Column":
    return fn.struct(fn.col(row_id).alias("id"), fn.col(type_number).alias("type"))


def _numbered(found: pa.Table) -> pa.Table:
    """Return groups that are named by a node as numbers from 0, by the first of their nodes."""
    values = found["value"].combine_chunks()
    names = pc.dictionary_encode(
        pc.binary_join_element_wise(
            values.field("id"), pc.cast(values.field("type"), pa.utf8()), "\0"
        )
    )
    numbers = number_groups(np.asarray(names.indices))
    return found.set_column(2, "value", pa.array(numbers, pa.int64()))


def _rank(work: _Work, call: AlgorithmCall) -> "DataFrame":
    """Return the PageRank of each node."""
    damping = DAMPING if call.damping is None else call.damping
    tolerance = TOLERANCE if call.tolerance is None else call.tolerance
    edges = work.held(_followed(work.edges(call.weight), call.followed))
    _check_weights(work, edges, call.weight)
    given = edges.groupBy("start").agg(fn.sum("weight").alias("given")).where("given > 0")
    links = work.held(
        edges.groupBy("start", "end")
        .agg(fn.sum("weight").alias("weight"))
        .join(given, "start")
        .select("start", "end", (fn.col("weight") / fn.col("given")).alias("share"))
    )
    nodes = work.nodes().join(given, fn.col("node") == fn.col("start"), "left")
    nodes = work.held(nodes.select("node", fn.col("given").isNull().alias("is_end")))
    count = work.over(nodes.count)
    ranks = nodes.withColumn("rank", fn.lit(1 / max(count, 1)))
    ends = fn.coalesce(fn.sum(fn.when(fn.col("is_end"), fn.col("rank"))), fn.lit(0.0))
    dangling = float(work.first(ranks.select(ends))[0])
    change = np.inf if count else 0.0
    while change >= tolerance:
        common = (damping * dangling + 1 - damping) / count
        passed = links.join(ranks.select(fn.col("node").alias("start"), "rank"), "start")
        passed = passed.groupBy(fn.col("end").alias("node")).agg(
            fn.sum(fn.col("rank") * fn.col("share")).alias("passed")
        )
        following = fn.coalesce(fn.col("passed"), fn.lit(0.0)) * damping + common
        step = ranks.withColumnRenamed("rank", "before").join(passed, "node", "left")
        ranks = work.held(step.select("node", "is_end", "before", following.alias("rank")))
        moved = fn.sum(fn.abs(fn.col("rank") - fn.col("before")))
        change, dangling = map(float, work.first(ranks.select(moved, ends)))
        ranks = ranks.drop("before")
    return ranks.select("node", fn.col("rank").alias("value"))


def _followed(edges: "DataFrame", direction: Direction) -> "DataFrame":
    turned = edges.select(fn.col("end").alias("start"), fn.col("start").alias("end"), "weight")
    match direction:
        case Direction.OUT:
            return edges
        case Direction.IN:
            return turned
        case Direction.BOTH:
            return edges.unionAll(turned.where(fn.col("start") != fn.col("end")))


def _check_weights(work: _Work, edges: "DataFrame", name: str | None) -> None:
    if name is None:
        return
    weight = fn.col("weight")
    fits = weight.isNotNull() & (weight >= 0) & (weight < np.inf)
    wrong = edges.where(~fits | fn.isnan(weight)).limit(1)
    if rows := work.over(wrong.collect):
        start, end, value = rows[0]
        shown = "null" if value is None else f"{value:g}"
        raise InputError(
            f"'{name}' of the edge from '{start.id}' to '{end.id}' is {shown}",
            hint="a weight is a finite number that is not negative",
        )
    if not isfinite(work.first(edges.select(fn.coalesce(fn.sum(weight), fn.lit(0.0))))[0]):
        raise weights_too_large(name)


def _join_components(work: _Work) -> "DataFrame":
    """Return the first node of the component of each node.

    Edges are turned until all lead to the first node of their component: in a large star to the
    first neighbour of a node go all later ones, in a small star all earlier ones and the node. The
    rounds grow with the logarithm of the nodes, and not with the length of paths.
    """
    edges = work.held(
        work.pairs().select(fn.col("high").alias("node"), fn.col("low").alias("first"))
    )
    while not _are_stars(work, edges):
        edges = work.held(_small_star(_large_star(edges)))
    nodes = work.nodes().join(edges, "node", "left")
    return nodes.select("node", fn.coalesce("first", "node").alias("value"))


def _are_stars(work: _Work, edges: "DataFrame") -> bool:
    """Return whether each node has one edge at most, and leads to one that has none."""
    several = edges.groupBy("node").count().where("count > 1").select("node")
    roots = edges.select(fn.col("first").alias("node"))
    longer = edges.select("node").join(roots, "node", "leftsemi")
    return not work.over(several.unionAll(longer).limit(1).collect)


def _large_star(edges: "DataFrame") -> "DataFrame":
    turned = edges.select(fn.col("first").alias("node"), fn.col("node").alias("first"))
    near = edges.unionAll(turned).withColumnRenamed("first", "near")
    least = near.groupBy("node").agg(fn.least("node", fn.min("near")).alias("first"))
    later = near.where(fn.col("near") > fn.col("node")).join(least, "node")
    return later.select(fn.col("near").alias("node"), "first").distinct()


def _small_star(edges: "DataFrame") -> "DataFrame":
    least = edges.groupBy("node").agg(fn.min("first").alias("least"))
    earlier = edges.join(least, "node").where(fn.col("first") != fn.col("least"))
    earlier = earlier.select(fn.col("first").alias("node"), fn.col("least").alias("first"))
    own = least.select("node", fn.col("least").alias("first"))
    return earlier.unionAll(own).distinct()


def _count_triangles(work: _Work) -> "DataFrame":
    """Return in how many triangles each node is.

    Pairs lead from the node with fewer neighbours, so that no node has many of them.
    """
    pairs = work.held(work.pairs())
    ends = pairs.select(fn.col("low").alias("node")).unionAll(pairs.select("high"))
    degrees = ends.groupBy("node").agg(fn.struct(fn.count("*"), "node").alias("order"))
    low = degrees.select(fn.col("node").alias("low"), fn.col("order").alias("one"))
    high = degrees.select(fn.col("node").alias("high"), fn.col("order").alias("other"))
    both = pairs.join(low, "low").join(high, "high")
    links = work.held(
        both.select(
            fn.least("one", "other").getField("node").alias("a"),
            fn.greatest("one", "other").getField("node").alias("b"),
            fn.greatest("one", "other").alias("order"),
        )
    )
    second = links.select("a", fn.col("b").alias("c"), fn.col("order").alias("last"))
    wedges = links.join(second, "a").where(fn.col("order") < fn.col("last"))
    closed = links.select(fn.col("a").alias("b"), fn.col("b").alias("c"))
    corners = wedges.join(closed, ["b", "c"], "leftsemi")
    every = corners.select(fn.explode(fn.array("a", "b", "c")).alias("node"))
    counts = every.groupBy("node").agg(fn.count("*").alias("value"))
    nodes = work.nodes().join(counts, "node", "left")
    return nodes.select("node", fn.coalesce("value", fn.lit(0)).cast("long").alias("value"))


def _propagate(work: _Work) -> "DataFrame":
    """Return the label of each node; see `omnigraph.read.algorithms.labels`."""
    edges = _followed(work.edges(), Direction.BOTH)
    near = work.held(
        edges.select(fn.col("start").alias("node"), fn.col("end").alias("near")).distinct()
    )
    coloured = _colour(work, near)
    most = work.first(coloured.select(fn.max("colour")))[0]
    labels = coloured.withColumn("label", fn.col("node"))
    while True:
        for colour in range(0 if most is None else most + 1):
            chosen = labels.where(fn.col("colour") == colour)
            following = _next_labels(near, labels, chosen)
            labels = work.held(
                labels.join(following, "node", "left").select(
                    "node", "colour", fn.coalesce("next", "label").alias("label")
                )
            )
        following = _next_labels(near, labels, labels)
        moving = following.join(labels, "node").where(fn.col("next") != fn.col("label"))
        if not work.over(moving.limit(1).collect):
            return labels.select("node", fn.col("label").alias("value"))


def _colour(work: _Work, near: "DataFrame") -> "DataFrame":
    """Return a `colour` for each node: the first that no neighbour has, by most neighbours first.

    In each round those are coloured of whose neighbours all that come before them are.
    """
    loops = fn.when(fn.col("node") == fn.col("near"), 2).otherwise(1)
    degrees = near.groupBy("node").agg(fn.sum(loops).alias("degree"))
    degree = fn.coalesce("degree", fn.lit(0))
    order = fn.struct((-degree).alias("degree"), "node")
    nodes = work.nodes().join(degrees, "node", "left").select("node", order.alias("order"))
    state = work.held(nodes.withColumn("colour", fn.lit(None).cast("int")))
    others = near.where(fn.col("node") != fn.col("near"))
    while work.over(state.where(fn.col("colour").isNull()).limit(1).collect):
        theirs = state.select(
            fn.col("node").alias("near"),
            fn.col("order").alias("before"),
            fn.col("colour").alias("taken"),
        )
        waiting = state.where(fn.col("colour").isNull()).select("node", "order")
        beside = waiting.join(others, "node").join(theirs, "near")
        is_first = fn.col("taken").isNull() & (fn.col("before") < fn.col("order"))
        seen = beside.groupBy("node").agg(
            fn.max(is_first).alias("waits"), fn.collect_set("taken").alias("colours")
        )
        free = fn.array_except(fn.sequence(fn.lit(0), fn.size("colours")), "colours")
        ready = seen.where(~fn.col("waits")).select("node", free[0].alias("new"))
        alone = state.where(fn.col("colour").isNull()).join(others, "node", "leftanti")
        ready = ready.unionAll(alone.select("node", fn.lit(0).alias("new")))
        state = work.held(
            state.join(ready, "node", "left").select(
                "node", "order", fn.coalesce("colour", "new").alias("colour")
            )
        )
    return state.select("node", "colour")


def _next_labels(near: "DataFrame", labels: "DataFrame", chosen: "DataFrame") -> "DataFrame":
    """Return the label that each of the chosen nodes has `next`, if it has neighbours."""
    theirs = labels.select(fn.col("node").alias("near"), fn.col("label").alias("vote"))
    own = chosen.select("node", fn.col("label").alias("own"))
    votes = near.join(own, "node").join(theirs, "near")
    counted = votes.groupBy("node", "own", "vote").agg(fn.count("*").alias("times"))
    best = counted.groupBy("node", "own").agg(
        fn.max(fn.struct("times", "vote")).alias("top"),
        fn.max(fn.when(fn.col("vote") == fn.col("own"), fn.col("times"))).alias("mine"),
    )
    keeps = fn.col("mine") == fn.col("top.times")
    return best.select(
        "node", fn.when(keeps, fn.col("own")).otherwise(fn.col("top.vote")).alias("next")
    )
