"""Evaluate: expressions and predicates over rows, a whole column at a time."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.derived.coded_column import CodedColumn
from omnigraph.data.derived.numbering import Numbers, are_bound
from omnigraph.data.values.columns import convert_each
from omnigraph.data.values.comparison import (
    Operand,
    broadcast,
    can_compare_plainly,
    compare,
    compare_plainly,
    contains,
    is_member,
    starts_with,
)
from omnigraph.data.values.computing import Uncomputable, compute, convert_exactly, spread
from omnigraph.data.values.equality import Mask
from omnigraph.data.values.floats import FLOAT_OPERATORS, FloatOperation, operate
from omnigraph.errors import Code, ExpressionError, Problem, ResultOverflowError
from omnigraph.frozen import dataclass
from omnigraph.query.comparing import type_of
from omnigraph.query.expr import (
    And,
    Call,
    ColumnRef,
    Comparison,
    Constant,
    Expr,
    ListOf,
    Not,
    Now,
    NullTest,
    Or,
    ParamRef,
    Predicate,
    PropertyRef,
    TextMatch,
    VariableRef,
    may_fail,
)
from omnigraph.query.parsing.ast import Operator
from omnigraph.query.planning.explain import expr_text
from omnigraph.read.dense_reader import DenseReader
from omnigraph.read.execution import Execution
from omnigraph.read.matches import Matches
from omnigraph.schema.arrow import arrow_type
from omnigraph.schema.blobs import unpack
from omnigraph.schema.types import BLOB, BOOL, FLOATS, ListType, ScalarType, ValueType, is_text
from omnigraph.span import Source

_UNKNOWN = pa.scalar(None, pa.bool_())


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Expressions over some rows."""

    execution: Execution
    rows: Matches

    def holds(self, predicate: Predicate) -> Mask:
        """Return for each row whether the predicate is true."""
        if isinstance(predicate, TextMatch):
            return self._match_text(predicate)
        match predicate:
            case Comparison(PropertyRef() as left, operator, right) if is_text(left.type):
                return self._compare_texts(left, operator, right)
            case Comparison(PropertyRef() as left, operator, Constant() | ParamRef() as right):
                if can_compare_plainly(left.type, operator, right.type):
                    return self._compare_numbers(left, operator, right)
        return self._to_mask(self.truth(predicate))

    def _to_mask(self, truth: Operand) -> Mask:
        known = broadcast(truth, self.rows.count)
        if known.null_count:
            known = pc.fill_null(known, fill_value=False)
        found: Mask = known.to_numpy(zero_copy_only=False)
        return found

    def _compare_texts(self, left: PropertyRef, operator: Operator, right: Expr) -> Mask:
        """Compare texts by codes where they have some; which one is theirs takes no text at all."""
        known = isinstance(right, Constant | ParamRef) and operator is Operator.EQUAL
        coded = self._find_codes(left, right, one=known)
        if coded is None:
            return self._to_mask(self._compare(left, operator, right))
        column, ordinals = coded
        value = self.execution.constant(right) if isinstance(right, Constant | ParamRef) else None
        if known and isinstance(value, str):
            return column.equals(ordinals, value)
        return column.holds(ordinals, partial(self._compare_values, operator, right, left))

    def _compare_numbers(
        self, left: PropertyRef, operator: Operator, right: Constant | ParamRef
    ) -> Mask:
        """Compare numbers where they are, without the bits that Arrow makes of what is true."""
        column = self.value(left)
        found = compare_plainly(column, operator, self.execution.constant(right))
        return (
            self._to_mask(compare(column, operator, self._scalar(right)))
            if found is None
            else found
        )

    def count(self, predicates: Iterable[Predicate]) -> int:
        """Return for how many rows all predicates are true."""
        truth = reduce(pc.and_kleene, map(self.truth, predicates))
        return int(broadcast(truth, self.rows.count).true_count)

    def column(self, expr: Expr) -> pa.Array:
        """Return the value of an expression for each row."""
        return broadcast(self.value(expr), self.rows.count)

    def value(self, expr: Expr) -> Operand:
        """Return the value of an expression: one for each row, or one for all."""
        match expr:
            case PropertyRef(variable, name, kind):
                assert variable is not None
                return self.execution.domains[variable].values(
                    name, self.rows.codes[variable], kind
                )
            case ColumnRef(column, _):
                return self.rows.column(column)
            case Constant() | ParamRef() | Now() | ListOf():
                return self._scalar(expr)
            case TextMatch():
                return self.truth(expr)
            case Call(type=kind) if not self.rows.count:
                # Without rows nothing is computed, so nothing fails.
                return pa.array([], arrow_type(kind))
            case Call(function, arguments, kind):
                try:
                    if function == "coalesce":
                        return self._first_known(arguments, kind)
                    quick = self._floats(expr)
                    if quick is not None:
                        return quick
                    return compute(function, [self.value(each) for each in arguments], kind)
                except Uncomputable as failed:
                    raise uncomputable_error(expr, failed, self.execution.source) from None
            case _:
                raise AssertionError(f"{expr} is computed by an operator of its own")

    def _floats(self, call: Call) -> pa.Array | None:
        """Return nested operators of floats computed together; None for all else.

        What they are applied to cannot fail, so that of two problems the same is told.
        """
        if not any(_is_float_operator(each) for each in call.arguments):
            return None
        found = self._operation(call) if _is_float_operator(call) else None
        return None if found is None else operate(found)

    def _operation(self, call: Call) -> FloatOperation | None:
        arguments: list[FloatOperation | Operand] = []
        for each in call.arguments:
            if isinstance(each, Call) and _is_float_operator(each):
                found = self._operation(each)
                if found is None:
                    return None
                arguments.append(found)
            elif may_fail(each):
                return None
            else:
                arguments.append(self.value(each))
        left, right = arguments
        return FloatOperation(call.function, left, right, arrow_type(call.type))

    def truth(self, predicate: Predicate) -> Operand:
        """Return the truth of a predicate for each row: true, false or unknown."""
        match predicate:
            case And(items):
                return self._combine(items, pc.and_kleene, decided=False)
            case Or(items):
                return self._combine(items, pc.or_kleene, decided=True)
            case Not(item):
                return pc.invert(self.truth(item))
            case NullTest(operand, negated):
                missing = self._is_null(operand)
                return pc.invert(missing) if negated else missing
            case TextMatch(field=field, query=query):
                if self.execution.constant(query) is None:
                    return _UNKNOWN
                found = pa.array(self._match_text(predicate))
                return pc.if_else(self.value(field).is_valid(), found, _UNKNOWN)
            case Comparison(PropertyRef() as left, operator, right) if is_text(left.type):
                coded = self._find_codes(left, right)
                if coded is None:
                    return self._compare(left, operator, right)
                column, ordinals = coded
                return column.test(ordinals, partial(self._compare_values, operator, right, left))
            case Comparison(left, operator, right):
                return self._compare(left, operator, right)

    def _combine(
        self, items: Sequence[Predicate], combine: Callable[..., Operand], *, decided: bool
    ) -> Operand:
        """Return the truth of several predicates together.

        One that can fail is asked last, and only about the rows that the others leave open.
        """
        safe = [each for each in items if not may_fail(each)]
        truth = reduce(combine, map(self.truth, safe)) if safe else None
        for each in (each for each in items if may_fail(each)):
            if truth is None:
                truth = self.truth(each)
                continue
            known = broadcast(truth, self.rows.count)
            is_open = np.asarray(pc.fill_null(pc.not_equal(known, decided), fill_value=True), bool)
            truth = combine(
                known, self._of_some(is_open, partial(Evaluation.truth, predicate=each))
            )
        return truth

    def _of_some(
        self, mask: Mask, value: "Callable[[Evaluation], Operand]", kind: ValueType = BOOL
    ) -> pa.Array:
        """Return what is computed for the rows of a mask, and null for the others."""
        places = np.flatnonzero(mask)
        some = Evaluation(self.execution, self.rows.take(places))
        return spread(convert_exactly(broadcast(value(some), len(places)), kind), mask)

    def _first_known(self, arguments: Sequence[Expr], kind: ValueType) -> pa.Array:
        """Return the first argument that is not null, each computed only for rows that need it."""
        found = convert_exactly(self.column(arguments[0]), kind)
        for each in arguments[1:]:
            missing = np.asarray(found.is_null(), bool)
            if not missing.any():
                break
            more = self._of_some(missing, partial(Evaluation.value, expr=each), kind)
            found = pc.coalesce(found, more)
        return found

    def _match_text(self, match: TextMatch) -> Mask:
        """Return for each row whether it has a text that matches."""
        assert match.field.variable is not None
        from omnigraph.read.operators.search import match_texts

        codes, mask = self.rows.codes[match.field.variable], match_texts(self.execution, match)
        return np.asarray((codes >= 0) & mask[codes])

    def _is_null(self, operand: Expr) -> Operand:
        if isinstance(operand, VariableRef):
            return pa.array(self.rows.codes[operand.variable] < 0)
        return pc.is_null(self.value(operand))

    def _scalar(self, expr: Constant | ParamRef | Now | ListOf) -> pa.Scalar:
        if isinstance(expr, ListOf):
            return self._list(expr)
        value = self.execution.constant(expr)
        if isinstance(value, str) and is_text(expr.type):
            return pa.scalar(value, pa.utf8())
        return self._values([expr], expr.type)[0]

    def _list(self, expr: ListOf) -> pa.Scalar:
        """Return a list; an item can be null when it is a parameter."""
        if expr.item is None:
            return pa.scalar([], pa.list_(pa.null()))
        types = _item_types(expr)
        kind = types.pop() if len(types) == 1 else ScalarType(expr.item)
        items = self._values(expr.items, kind)
        return pa.ListArray.from_arrays(pa.array([0, len(items)], pa.int32()), items)[0]

    def _values(self, exprs: Sequence[Constant | ParamRef | Now], kind: ValueType) -> pa.Array:
        found = convert_each([self.execution.constant(each) for each in exprs], kind)
        for reason in found.reasons.values():
            raise ResultOverflowError(reason)
        # As what is read of a table: a text, not as it is stored.
        return unpack(found.values) if kind == BLOB else found.values

    def _compare(self, left: Expr, operator: Operator, right: Expr) -> Operand:
        if isinstance(left, VariableRef) and isinstance(right, VariableRef):
            return compare(self._identities(left), operator, self._identities(right))
        match operator:
            case Operator.IN:
                return self._is_among(left, right)
            case Operator.CONTAINS if type_of(left) is None or isinstance(type_of(left), ListType):
                return self._is_among(right, left)
            case Operator.CONTAINS:
                return contains(self.value(left), self.value(right))
            case Operator.STARTS_WITH:
                return starts_with(self.value(left), self.value(right))
            case _:
                return compare(self.value(left), operator, self.value(right))

    def _find_codes(
        self, left: PropertyRef, right: Expr, *, one: bool = False
    ) -> tuple[CodedColumn, Numbers | None] | None:
        """Return a text column of few values that is compared with what is known, else None.

        The ordinals of the rows in it are None when they are all; with `one` it is compared with
        one value.
        """
        reader, variable = self.execution.reader, left.variable
        assert variable is not None
        domain, codes = self.execution.domains[variable], self.rows.codes[variable]
        known = isinstance(right, Constant | ParamRef | Now | ListOf)
        if not known or not isinstance(reader, DenseReader) or len(domain.types) != 1:
            return None
        if not domain.is_stored:
            return None
        coded = reader.coded(domain.types[0], left.property, len(codes), one=one)
        if coded is None or not are_bound(codes):
            return None
        is_all = codes is reader.numbering(domain.types[0]).all()
        return coded, None if is_all and len(codes) == len(coded.places) else codes

    def _compare_values(
        self, operator: Operator, right: Expr, left: PropertyRef, values: pa.Array
    ) -> pa.Array:
        """Compare the different values of a column as each of its rows would be."""
        column = ColumnRef("#values", left.type)
        rows = Matches(len(values), columns={column.column: values})
        found = Evaluation(self.execution, rows)._compare(column, operator, right)
        return broadcast(found, len(values))

    def _is_among(self, item: Expr, members: Expr) -> Operand:
        """Return where a value is in a list; numbers of several types are a list for each type."""
        if not isinstance(members, ListOf) or len(_item_types(members)) < 2:
            return is_member(self.value(item), self.value(members))
        found, lists = self.value(item), map(self._list, _by_type(members))
        return reduce(pc.or_kleene, (is_member(found, each) for each in lists))

    def _identities(self, ref: VariableRef) -> pa.Array:
        """Return a number for each row, the same for the same node or edge in any domain."""
        codes = self.rows.codes[ref.variable]
        return pa.array(self.execution.domains[ref.variable].identities(codes), mask=codes < 0)


def _is_float_operator(expr: Expr) -> bool:
    return (
        isinstance(expr, Call)
        and expr.function in FLOAT_OPERATORS
        and expr.type in FLOATS
        and len(expr.arguments) == 2
    )


def uncomputable_error(call: Call, failed: Uncomputable, source: Source | None) -> ExpressionError:
    """Return the error of a row for which something cannot be computed, with its place."""
    shown = ", ".join(map(str, failed.values))
    message = f"{expr_text(call)}: {failed.reason}" + (f" (for {shown})" if shown else "")
    return ExpressionError([Problem(Code.UNCOMPUTABLE, message, call.span)], source=source)


def _by_type(members: ListOf) -> list[ListOf]:
    """Return the items of a list as lists of one type each."""
    found: dict[ValueType, list[Constant | ParamRef]] = {}
    for each in members.items:
        found.setdefault(each.type, []).append(each)
    return [ListOf(tuple(items), members.item) for items in found.values()]


def _item_types(members: ListOf) -> set[ScalarType]:
    return {each.type for each in members.items if isinstance(each.type, ScalarType)}
