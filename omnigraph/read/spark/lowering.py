"""Lowering: a read plan as operations on frames of Spark, with the same rows in the same order."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, assert_never

import pyarrow as pa
from pyspark.sql import functions as fn

from omnigraph.frozen import dataclass
from omnigraph.query.checked import Column as Named
from omnigraph.query.checked import OrderKey
from omnigraph.query.expr import Aggregate as AggregateExpr
from omnigraph.query.expr import (
    And,
    Call,
    ColumnRef,
    EntityKind,
    EntityType,
    EveryRow,
    Expr,
    Predicate,
    PropertyRef,
    TextMatch,
    VariableRef,
    columns_of,
    may_fail,
    parts,
    variables,
)
from omnigraph.query.plan import (
    Aggregate,
    AntiJoin,
    Distinct,
    Expand,
    Filter,
    Limit,
    Mark,
    NodeScan,
    Operator,
    Optional,
    Order,
    Path,
    Project,
    Rank,
    ReadPlan,
    ResultColumn,
    Union,
    can_precede_counting,
)
from omnigraph.read.execution import Execution
from omnigraph.read.operators.project import result_type
from omnigraph.read.operators.scan import point_ids
from omnigraph.read.spark.computing import ask_every_row
from omnigraph.read.spark.copies import Copies
from omnigraph.read.spark.counting import FrameCounter, repeat_rows
from omnigraph.read.spark.expressions import FrameExpressions, evaluate_fixed
from omnigraph.read.spark.frames import FEW_ROWS, EntityFrame, LinkFrame, SnapshotFrames, Starts
from omnigraph.read.spark.grouping import drop_duplicates, group, project
from omnigraph.read.spark.late import plan_late
from omnigraph.read.spark.matches import (
    ComputedColumn,
    EntityColumns,
    FrameMatches,
    MadeRows,
    TypedProperty,
    add_ids,
    identities,
    join,
    join_null_safe,
    to_number,
)
from omnigraph.read.spark.ordering import PLACES, FrameOrdering, is_gathered
from omnigraph.read.spark.packing import BatchPacking
from omnigraph.read.spark.search import FrameSearch
from omnigraph.read.spark.usage import (
    can_fail,
    find_path_parts,
    find_variables,
    is_led_on,
)
from omnigraph.read.spark.walks.hops import walk
from omnigraph.read.spark.walks.paths import find_paths
from omnigraph.schema.types import BOOL, I64, STRING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_MOST_SHARES = 32
# Up to this many expected rows are sent to all tasks when they meet so many times as many.
_MOST_SENT = 10_000
# Code that Spark makes for a whole stage holds all rows that joins make of one row.
_MOST_MADE = 1 << 18
_MANY_TIMES = 10


@dataclass(frozen=True, slots=True)
class LoweredPlan:
    """A frame with the sorted rows of a result, and which of them are the result.

    The result is the rows from `first` up to `last`, which is None for all. Of `few` rows, one job
    sends all. A `narrow` plan makes no more of one row than a task can hold.
    """

    matches: FrameMatches
    pack: BatchPacking
    few: bool
    narrow: bool
    first: int = 0
    last: int | None = None


def lower(
    execution: Execution,
    plan: ReadPlan,
    spark: "SparkSession",
    slices: int,
    copies: Copies | None = None,
    expected: Sequence[float] = (),
) -> LoweredPlan:
    """Return the frame of a plan, sorted into `slices` slices.

    About as many rows are expected after each operator; nothing depends on it but the time.
    """
    return _Lowering(execution, plan, spark, slices, copies).lower(plan, expected)


class _Lowering:
    """One plan on its way to Spark."""

    def __init__(
        self,
        execution: Execution,
        plan: ReadPlan,
        spark: "SparkSession",
        slices: int,
        copies: Copies | None,
    ) -> None:
        catalog = execution.reader.snapshot.catalog
        self.frames = SnapshotFrames(spark, execution.reader, copies=copies)
        self._execution = execution
        self._slices = slices
        self._search = FrameSearch(execution, self.frames)
        self._ordering = FrameOrdering(execution, slices)
        limits = [each for each in plan.operators if isinstance(each, Limit)]
        kept = self._ordering.count_taken(limits[-1]) if limits else None
        self._plan = plan_late(plan.operators, self.frames, catalog, kept)
        self._fields = self._plan.early
        self._parts = find_path_parts(plan.operators)
        self._made = MadeRows()
        self._one = FrameMatches(spark.range(1))

    def lower(self, plan: ReadPlan, expected: Sequence[float]) -> LoweredPlan:
        matches = self._execute(self._one, self._plan.operators, expected)
        catalog = self._execution.reader.snapshot.catalog
        kinds = [result_type(each.type, catalog) for each in plan.columns]
        at = {name: place for place, name in enumerate(matches.frame.columns)}
        places: list[int | pa.Scalar] = []
        for column, kind in zip(plan.columns, kinds, strict=True):
            computed = matches.columns[column.name]
            if computed.fixed is None:
                places.append(at[computed.column])
            else:
                places.append(_cast(evaluate_fixed(self._execution, computed.fixed), kind))
        named = zip((each.name for each in plan.columns), kinds, strict=True)
        pack = BatchPacking(pa.schema(list(named)), tuple(places))
        is_few = self._slices == 1 or is_gathered(matches)
        return LoweredPlan(
            matches, pack, is_few, self._made.most <= _MOST_MADE, *self._ordering.cut
        )

    def _execute(
        self,
        matches: FrameMatches,
        operators: Sequence[Operator],
        expected: Sequence[float] = (),
    ) -> FrameMatches:
        tally = FrameCounter(self)
        for at, operator in enumerate(operators):
            is_pattern = isinstance(operator, NodeScan | Expand)
            if isinstance(operator, NodeScan | Expand) and _is_only_counted(operator):
                tally.add(operator)
                self._bind(operator)
                continue
            can_wait = is_pattern or can_precede_counting(operator)
            if tally.begins(matches) or (tally.is_pending and not can_wait):
                matches = tally.apply(matches)
            following = operators[at + 1] if at + 1 < len(operators) else None
            if isinstance(operator, Rank):
                matches = replace(matches, frame=self._settle(matches.frame, operators[:at]))
            if isinstance(operator, Filter) and any(map(can_fail, operators[:at])):
                matches = self._ask_every_row(matches, operator.predicate)
            else:
                matches = self._execute_operator(matches, operator, following)
            rows = expected[at] if at < len(expected) else None
            matches = replace(matches, expected=rows)
        return tally.apply(matches)

    def _execute_operator(
        self, matches: FrameMatches, operator: Operator, following: Operator | None
    ) -> FrameMatches:
        match operator:
            case NodeScan() | Expand() | Path():
                return self._bind_variables(matches, operator, following)
            case Filter(predicate):
                return self._filter(matches, (predicate,))
            case AntiJoin(inner=inner):
                return self._drop_matched(matches, inner)
            case Mark(column, _, inner):
                return self._mark_matched(matches, column, inner)
            case Optional():
                return self._match_optional(matches, operator)
            case Rank():
                self._made.add_any()
                return self._search.rank(matches, operator)
            case Aggregate(keys, aggregates):
                rows = self._search_texts(matches, (each.expr for each in (*keys, *aggregates)))
                rows, counted = self._compute_arguments(rows, aggregates)
                grouping = replace(operator, aggregates=counted)
                found = group(self._expressions(rows), grouping, self.frames.names)
                return replace(found, most=self._most_groups(matches, keys))
            case Project(columns):
                is_once = isinstance(following, Distinct)
                rows = replace(matches, weight=None) if is_once else self._repeat(matches)
                rows = self._search_texts(rows, (column.expr for column in columns))
                found = project(self._expressions(rows), columns, self.frames.names)
                return replace(found, most=rows.most)
            case Distinct():
                return drop_duplicates(matches, self.frames.names)
            case Order():
                limit = following if isinstance(following, Limit) else None
                rows = self._search_texts(matches, (key.expr for key in operator.keys))
                rows, by = self._compute_keys(self._repeat(rows), operator.keys)
                if rows.most == 1:
                    return self._compute_keys_of_one(rows, by)
                return self._ordering.sort(rows, replace(operator, keys=by), limit)
            case Limit():
                return self._read_late(self._ordering.take(self._repeat(matches), operator))
            case Union():
                self._made.add_any()
                return self._unite(operator, following)
            case _:
                assert_never(operator)

    def _bind_variables(
        self, matches: FrameMatches, operator: NodeScan | Expand | Path, following: Operator | None
    ) -> FrameMatches:
        match operator:
            case NodeScan() if self._is_led_on(matches, operator, following):
                self._bind(operator)
                self._made.begin(operator.variable, self._count_found(operator))
                return replace(matches, every=operator)
            case NodeScan():
                return self._cross(matches, operator)
            case Expand():
                return self._follow_edges(matches, operator)
            case Path():
                self._made.add_any()
                shown = self._parts.get(operator.path.name, ())
                found = find_paths(self._execution, self.frames, matches, operator, shown)
                return found if operator.closes else self.add_properties(found, operator.target)

    def _expressions(self, matches: FrameMatches) -> FrameExpressions:
        return FrameExpressions(self._execution, matches)

    def _repeat(self, matches: FrameMatches) -> FrameMatches:
        """Return every row as often as its weight says."""
        if matches.weight is not None:
            self._made.add_any()  # compiled code would hold all repetitions of a row
        return repeat_rows(matches)

    def _most_groups(self, matches: FrameMatches, keys: Sequence[Named]) -> int | None:
        """Return how many groups there are at most: one for each node that the keys are read of."""
        if any(columns_of(each.expr) for each in keys):
            return None
        names = set().union(*(variables(each.expr) for each in keys))
        if any(name not in matches.entities for name in names):
            return None
        return prod(1 + self._count(matches.entities[name].kind.types) for name in names)

    def _count(self, types: Iterable[str]) -> int:
        return sum(map(self._execution.reader.count, types))

    def _compute_arguments(
        self, matches: FrameMatches, aggregates: Sequence[Named]
    ) -> tuple[FrameMatches, tuple[Named, ...]]:
        """Return the rows with what aggregates are made of: Spark takes only columns there."""
        found = []
        for each in aggregates:
            if not isinstance(each.expr, AggregateExpr):
                found.append(each)
                continue
            matches, argument = self._compute(matches, each.expr.argument)
            assert isinstance(argument, VariableRef | PropertyRef | ColumnRef | EveryRow)
            found.append(replace(each, expr=replace(each.expr, argument=argument)))
        return matches, tuple(found)

    def _compute_keys(
        self, matches: FrameMatches, keys: Sequence[OrderKey]
    ) -> tuple[FrameMatches, tuple[OrderKey, ...]]:
        """Return the rows with what they are sorted by: Spark takes only columns there."""
        found = []
        for each in keys:
            matches, expr = self._compute(matches, each.expr)
            found.append(replace(each, expr=expr))
        return matches, tuple(found)

    def _compute_keys_of_one(self, matches: FrameMatches, keys: Sequence[OrderKey]) -> FrameMatches:
        """Return the only row, which Spark does not sort; a key that has no value is an error.

        So it is asked something that is always so, and that takes each key to find out.
        """
        for each in keys:
            number = fn.hash(self._expressions(matches).value(each.expr))
            matches = matches.filter(ask_every_row(number.bitwiseOR(1) != 0))
        return matches

    def _compute(self, matches: FrameMatches, expr: Expr) -> tuple[FrameMatches, Expr]:
        """Return the rows with a column for what is computed, and the reference to it."""
        if not isinstance(expr, Call):
            return matches, expr
        column = self.frames.names.new()
        value = self._expressions(matches).value(expr).alias(column)
        columns = {**matches.columns, f"#{column}": ComputedColumn(expr.type, column)}
        frame = matches.frame.select("*", value)
        return replace(matches, frame=frame, columns=columns), ColumnRef(f"#{column}", expr.type)

    # Patterns

    def find_nodes(self, scan: NodeScan) -> FrameMatches:
        """Return the nodes that a scan finds."""
        kind = self._bind(scan)
        found = self.frames.scan(kind, self._fields.get(scan.variable, ()))
        rows = self.keep_point(FrameMatches(found.frame, {scan.variable: found.entity}), scan)
        return self._filter(rows, scan.filters)

    def keep_point(self, matches: FrameMatches, scan: NodeScan) -> FrameMatches:
        """Return the rows whose node is the one that a scan wants, if it wants one."""
        if scan.point is None:
            return matches
        ids = point_ids(self._execution, scan, scan.point)
        return matches.filter(self._is_one_of(matches.entities[scan.variable], ids))

    def _count_found(self, scan: NodeScan) -> int:
        """Return how many nodes a scan finds at most."""
        if scan.point is None:
            return self._count(scan.types)
        return len(point_ids(self._execution, scan, scan.point))

    def _bind(self, operator: NodeScan | Expand) -> EntityType:
        """Bind the variable of an operator, and return its kind."""
        name = operator.variable if isinstance(operator, NodeScan) else operator.target
        kind = EntityType(EntityKind.NODE, operator.types)
        self._execution.bind(name, kind.types)
        return kind

    def _is_one_of(self, entity: EntityColumns, ids: Mapping[str, str]) -> "Column":
        tests = fn.lit(col=False)
        for name, row_id in ids.items():
            same_type = fn.col(entity.type) == self._execution.reader.number(name)
            tests |= same_type & self._has_id(entity, row_id)
        return tests

    def _has_id(self, entity: EntityColumns, row_id: str) -> "Column":
        number = None if entity.number is None else to_number(row_id)
        if number is None:
            return fn.col(entity.id) == fn.lit(row_id)
        return fn.col(entity.key) == fn.lit(number).cast("bigint")

    def _cross(self, matches: FrameMatches, scan: NodeScan) -> FrameMatches:
        found = self.find_nodes(scan)
        entity = found.entities[scan.variable]
        frame, rows = found.frame.select(list(entity.columns)), matches.frame
        if matches is self._one:
            self._made.begin(scan.variable, self._count_found(scan))
            return matches.bind(frame, scan.variable, entity)
        self._made.add_any()  # such a join can only be stopped between two rows that it reads
        if matches.entities and self._slices > 1:
            # Each row becomes many: tasks share them, and can be stopped between two of them.
            rows = rows.repartition(min(self._slices, _MOST_SHARES))
        return matches.bind(rows.crossJoin(frame), scan.variable, entity)

    def _filter(self, matches: FrameMatches, filters: Sequence[Predicate]) -> FrameMatches:
        # What can fail is asked of the rows that the conditions before it have kept.
        is_unsafe = any(map(may_fail, filters))
        together = filters if is_unsafe or len(filters) < 2 else (And(tuple(filters)),)
        for predicate in together:
            matches = self._search_texts(matches, (predicate,))
            truth = self._expressions(matches).truth(predicate)
            matches = replace(matches, frame=matches.frame.filter(truth))
        return matches

    def _ask_every_row(self, matches: FrameMatches, predicate: Predicate) -> FrameMatches:
        """Return the rows that a condition keeps; before it, something can fail in any of them."""
        matches = self._search_texts(matches, (predicate,))
        truth = self._expressions(matches).truth(predicate)
        return matches.filter(ask_every_row(truth))

    def _search_texts(
        self, matches: FrameMatches, nodes: Iterable[Expr | Predicate]
    ) -> FrameMatches:
        """Return the rows with the hits of the text predicates inside some expressions."""
        for part in (part for node in nodes for part in parts(node)):
            if isinstance(part, TextMatch):
                matches = self._search.match_text(matches, part)
        return matches

    def _is_led_on(self, matches: FrameMatches, scan: NodeScan, following: Operator | None) -> bool:
        """Return whether the edges that lead on from the nodes of a scan tell all about them.

        So it is when nothing is read or asked of them but what their ids tell: an edge never
        begins or ends at a node that is not there.
        """
        if matches is not self._one or not is_led_on(scan, following):
            return False
        kind = EntityType(EntityKind.NODE, scan.types)
        fields = self._fields.get(scan.variable, ())
        return all(self.frames.is_told(kind, item) for item in fields)

    def is_one(self, matches: FrameMatches) -> bool:
        """Return whether the rows are the one row that every plan begins with."""
        return matches is self._one

    def _follow_edges(self, matches: FrameMatches, expand: Expand) -> FrameMatches:
        if matches.every is not None:
            return self._begin_along(matches.every, expand)
        source = matches.entities[expand.source]
        if expand.closes:
            return self._keep_joined(matches, expand, source, matches.entities[expand.target])
        linked = self._link(expand, EntityFrame(matches.frame, source), self._bind(expand))
        on = source.pair_with(linked.start)
        edges = self._count(step.edge for step in expand.steps)
        rows = self._sent_if_few(matches, edges).frame
        self._made.expand(expand.source, expand.target, linked.most)
        return self._bind_ends(replace(matches, frame=join(rows, linked.frame, on)), expand, linked)

    def _begin_along(self, scan: NodeScan, expand: Expand) -> FrameMatches:
        """Return where an expand leads from all nodes of a scan."""
        source = EntityType(EntityKind.NODE, scan.types)
        linked = self._link(expand, source, self._bind(expand))
        self._made.expand(expand.source, expand.target, linked.most)
        starts = FrameMatches(linked.frame, {scan.variable: linked.start})
        starts = self.keep_point(starts, scan)
        return self._bind_ends(self.add_properties(starts, scan.variable), expand, linked)

    def _bind_ends(self, matches: FrameMatches, expand: Expand, linked: LinkFrame) -> FrameMatches:
        """Return the rows with the target of an expand, and with its edge, as far as both fit."""
        found = matches.bind(matches.frame, expand.target, linked.end)
        if linked.edge is not None and expand.edge_variable is not None:
            found = found.bind(found.frame, expand.edge_variable, linked.edge)
        found = self.add_properties(found, expand.target)
        return self._filter(found, (*expand.filters, *expand.edge_filters))

    def _sent_if_few(self, matches: FrameMatches, others: int) -> FrameMatches:
        """Return the rows so that they go to all tasks if few meet many: Spark does not know it."""
        rows = matches.expected
        if rows is None or rows > _MOST_SENT or others < max(FEW_ROWS, rows * _MANY_TIMES):
            return matches
        return replace(matches, frame=matches.frame.hint("broadcast"))

    def _keep_joined(
        self, matches: FrameMatches, expand: Expand, source: EntityColumns, target: EntityColumns
    ) -> FrameMatches:
        """Return the rows whose two bound ends are joined; with a named edge, one for each edge."""
        starts = EntityFrame(matches.frame, source)
        linked = self._link(expand, starts, target.kind, repeated=True)
        on = [*source.pair_with(linked.start), *target.pair_with(linked.end)]
        if linked.edge is None or expand.edge_variable is None:
            return replace(matches, frame=join(matches.frame, linked.frame, on, "left_semi"))
        self._made.add_any()
        frame = join(matches.frame, linked.frame, on)
        found = matches.bind(frame, expand.edge_variable, linked.edge)
        return self._filter(found, expand.edge_filters)

    def _link(
        self, expand: Expand, starts: Starts, target: EntityType, *, repeated: bool = False
    ) -> LinkFrame:
        """Return where the steps of an expand lead from some nodes, or from all.

        With `repeated` two nodes may be joined more than once.
        """
        source = starts if isinstance(starts, EntityType) else starts.entity.kind
        if expand.edge_variable is not None:
            fields = self._fields.get(expand.edge_variable, ())
            linked = self.frames.edges(expand.steps, source, target, fields)
            assert linked.edge is not None
            self._execution.bind(expand.edge_variable, linked.edge.kind.types)
            return linked
        if expand.hops.is_single:
            return self.frames.pairs(expand.steps, source, target, repeated=repeated)
        assert isinstance(starts, EntityFrame)
        return walk(self.frames, starts, expand, target)

    def link(self, expand: Expand, starts: Starts) -> LinkFrame:
        """Return where an expand leads from some nodes, or from all, as far as its filters hold."""
        linked = self._link(expand, starts, EntityType(EntityKind.NODE, expand.types))
        filters = (*expand.filters, *expand.edge_filters)
        if not filters:
            return linked
        entities = {expand.target: linked.end}
        if linked.edge is not None and expand.edge_variable is not None:
            entities[expand.edge_variable] = linked.edge
        found = self.add_properties(FrameMatches(linked.frame, entities), expand.target)
        return replace(linked, frame=self._filter(found, filters).frame)

    def add_properties(self, matches: FrameMatches, variable: str) -> FrameMatches:
        """Return the rows with the properties of a variable that the plan reads."""
        return self._add_properties(matches, variable, self._fields.get(variable, ()))

    def _read_late(self, matches: FrameMatches) -> FrameMatches:
        """Return the rows that a limit keeps with what is only shown of them, in their order."""
        if not self._plan.late:
            return matches
        most = matches.most
        assert most is not None
        for name, node in self._plan.late.items():
            if node.id_column is not None:
                matches = self._bind_again(matches, name, node.kind, node.id_column)
            few = replace(matches, frame=matches.frame.hint("broadcast"))
            matches = self._add_properties(few, name, node.properties)
        return self._ordering.sort_again(matches, most)

    def _bind_again(
        self, matches: FrameMatches, name: str, kind: EntityType, column: str
    ) -> FrameMatches:
        """Return groups with a variable of one type, whose ids or numbers a column has."""
        number, found = self.frames.names.new(), matches.columns[column]
        own = f"{self._execution.reader.number(kind.types[0])} as {number}"
        entity = EntityColumns(kind, found.column, number)
        if found.kind != STRING:
            entity = replace(entity, id=self.frames.names.new(), number=found.column)
        return matches.bind(add_ids(matches.frame.selectExpr("*", own), entity), name, entity)

    def _add_properties(
        self, matches: FrameMatches, variable: str, wanted: Sequence[TypedProperty]
    ) -> FrameMatches:
        entity = matches.entities[variable]
        fields = [item for item in wanted if item[0] != "id"]
        told = [item for item in fields if self.frames.is_told(entity.kind, item)]
        rest = [item for item in fields if item not in told]
        if rest:
            found = self.frames.scan(entity.kind, rest)
            on = entity.pair_with(found.entity)
            own = replace(entity, properties={**entity.properties, **found.entity.properties})
            self._made.look_up(variable)
            matches = matches.bind(join(matches.frame, found.frame, on), variable, own)
        if told:
            known = self.frames.tell(matches.frame, matches.entities[variable], told)
            matches = matches.bind(known.frame, variable, known.entity)
        return matches

    # Blocks

    def _match_inner(
        self, matches: FrameMatches, inner: Sequence[Operator]
    ) -> tuple[list[str], FrameMatches]:
        """Return the variables that a block shares with the rows, and its matches for them."""
        used = find_variables(inner)
        outer = [name for name in matches.entities if name in used]
        return outer, self._execute(matches.distinct_bindings(outer), inner)

    def _settle(self, frame: "DataFrame", operators: Sequence[Operator]) -> "DataFrame":
        """Return the rows of operators, of which all were made if one of these can fail.

        Spark makes no row that it finds nobody needs: because of a later condition on what it
        holds, or because the rows that it is joined with turn out to be none.
        """
        return frame.localCheckpoint(eager=True) if any(map(can_fail, operators)) else frame

    def _drop_matched(self, matches: FrameMatches, inner: Sequence[Operator]) -> FrameMatches:
        """Return the rows for which an inner pattern has no match."""
        outer, found = self._match_inner(matches, inner)
        keys = identities(found.entities[name] for name in outer)
        if not keys:
            one = fn.lit(1).alias(self.frames.names.new())
            any_match = self._settle(found.frame.select(one), inner).limit(1)
            frame = matches.frame.join(any_match, fn.lit(col=True), "left_anti")
            return replace(matches, frame=frame)
        names = self.frames.names.new_list(len(keys))
        matched = self._settle(found.frame.select(keys).distinct(), inner).toDF(*names)
        on = list(zip(identities(matches.entities[name] for name in outer), names, strict=True))
        return replace(matches, frame=join_null_safe(matches.frame, matched, on, "left_anti"))

    def _mark_matched(
        self, matches: FrameMatches, column: str, inner: Sequence[Operator]
    ) -> FrameMatches:
        """Return the rows with a column that says whether an inner pattern has a match."""
        outer, found = self._match_inner(matches, inner)
        keys = identities(found.entities[name] for name in outer)
        *names, flag = self.frames.names.new_list(len(keys) + 1)
        true = fn.lit(col=True).alias(flag)
        on = list(zip(identities(matches.entities[name] for name in outer), names, strict=True))
        if keys:
            settled = self._settle(found.frame.select(keys).distinct(), inner)
            matched = settled.toDF(*names).select("*", true)
        else:
            matched = self._settle(found.frame.select(true), inner).limit(1)
        frame = join_null_safe(matches.frame, matched, on, "left")
        has_match = fn.coalesce(fn.col(flag), fn.lit(col=False))
        marked = ComputedColumn(BOOL, flag)
        columns = {**matches.columns, column: marked}
        return replace(matches, frame=frame.withColumn(flag, has_match), columns=columns)

    def _match_optional(self, matches: FrameMatches, optional: Optional) -> FrameMatches:
        """Return every row with its inner matches, or with the variables of the block unbound."""
        outer, found = self._match_inner(matches, optional.inner)
        keys = identities(found.entities[name] for name in outer)
        bound = {name: found.entities[name] for name in optional.binds}
        columns = [*keys, *(column for entity in bound.values() for column in entity.columns)]
        names = self.frames.names.new_list(len(columns))
        renamed = dict(zip(columns, names, strict=True))
        right = self._settle(found.frame.select(columns), optional.inner).toDF(*names)
        own = identities(matches.entities[name] for name in outer)
        on = list(zip(own, (renamed[key] for key in keys), strict=True))
        entities = {name: entity.rename(renamed) for name, entity in bound.items()}
        frame = join_null_safe(matches.frame, right, on, "left")
        return replace(matches, frame=frame, entities={**matches.entities, **entities})

    # Union

    def _unite(self, union: Union, following: Operator | None) -> FrameMatches:
        """Return the rows of several reads; unless equal ones go, those of the first one first."""
        columns = union.reads[0].columns
        names = self.frames.names.new_list(len(columns) + 2)
        parts = [
            self._of_read(read).select(
                "*", fn.lit(at), fn.monotonically_increasing_id().alias(f"#{at}")
            )
            for at, read in enumerate(union.reads)
        ]
        frame = reduce(lambda one, other: one.union(other), (part.toDF(*names) for part in parts))
        own = zip(columns, names, strict=False)
        found = {each.name: ComputedColumn(each.type, name) for each, name in own}
        if isinstance(following, Distinct):
            return FrameMatches(frame.select(names[:-2]), columns=found)
        places = zip(PLACES, names[-2:], strict=True)
        found |= {place: ComputedColumn(I64, name) for place, name in places}
        rows = FrameMatches(frame, columns=found)
        if isinstance(following, Order):
            return rows
        return self._ordering.sort(
            rows, Order((), ()), following if isinstance(following, Limit) else None
        )

    def _of_read(self, read: ReadPlan) -> "DataFrame":
        """Return the columns of a read, whose variables are its own."""
        execution = replace(self._execution, domains={})
        own = _Lowering(execution, read, self.frames.spark, self._slices, self.frames.copies)
        matches = own._execute(own._one, own._plan.operators)
        expressions = own._expressions(matches)
        shown = [expressions.value(_shown(matches, each)) for each in read.columns]
        return matches.frame.select(*shown)


def _is_only_counted(operator: NodeScan | Expand) -> bool:
    return operator.counted and not (isinstance(operator, Expand) and operator.closes)


def _shown(matches: FrameMatches, column: ResultColumn) -> Expr:
    """Return a column of a result, or the value that all its rows share."""
    fixed = matches.columns[column.name].fixed
    return ColumnRef(column.name, column.type) if fixed is None else fixed


def _cast(value: pa.Scalar, kind: pa.DataType) -> pa.Scalar:
    return pa.repeat(value, 1).cast(kind)[0]
