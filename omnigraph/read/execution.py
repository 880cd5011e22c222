"""Execution: one execution of a plan: its parameters, instant, variables and budget."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from functools import partial
from math import isnan
from numbers import Real
from threading import Event

import numpy as np

from omnigraph.errors import BudgetError, CancelledError, InputError
from omnigraph.frozen import dataclass
from omnigraph.query.expr import Constant, ListOf, Now, ParamRef, PropertyRef
from omnigraph.query.plan import Expand
from omnigraph.read.profile import Stopwatch
from omnigraph.read.reader import Domain, Leg, Reader
from omnigraph.schema.types import VectorType
from omnigraph.schema.values import Value
from omnigraph.span import Source


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a query may take; exceeding it raises BudgetError, which names the limit."""

    seconds: float = 60.0
    rows: int = 50_000_000
    bytes: int = 4 << 30

    def __post_init__(self) -> None:
        for name in ("seconds", "rows", "bytes"):
            limit = getattr(self, name)
            # NaN compares as no limit at all.
            if isinstance(limit, bool) or not isinstance(limit, Real) or isnan(limit):
                raise InputError(f"'{name}' of a budget is a number, not {limit!r}")


USUAL_BUDGET = Budget()


def check_time(budget: Budget, started: float) -> None:
    """Raise BudgetError when what was started at this moment has taken too long."""
    if time.monotonic() - started > budget.seconds:
        raise BudgetError(f"the query ran longer than {budget.seconds:g} s", limit="seconds")


@dataclass(frozen=True)
class Execution:
    """What the operators of one execution share."""

    reader: Reader
    params: Mapping[str, Value | None]
    now: datetime
    budget: Budget
    environment: Mapping[str, str] = field(repr=False)
    cancelled: Event | None = None
    started: float = field(default_factory=time.monotonic)
    domains: dict[str, Domain] = field(default_factory=dict)
    stopwatch: Stopwatch | None = None
    source: Source | None = None

    def bind(self, variable: str, types: tuple[str, ...]) -> Domain:
        """Return the domain of a variable, which operators can use from here on."""
        domain = self.domains[variable] = self.reader.domain(types)
        return domain

    def leg_of(self, expand: Expand) -> Leg:
        """Return the leg of an expand whose two variables are bound."""
        return Leg(expand.steps, self.domains[expand.source], self.domains[expand.target])

    def constant(self, value: Constant | ParamRef | Now | ListOf) -> Value | None:
        """Return a value that is the same for all rows."""
        match value:
            case Constant(found, _):
                return found
            case ParamRef(name, _):
                return self.params[name]
            case Now():
                return self.now
            case ListOf(items, _):
                known = (self.constant(item) for item in items)
                return tuple(each for each in known if each is not None)

    def vector(self, field: PropertyRef, query: Value) -> "np.ndarray":
        """Return the vector to compare rows with: `query` itself, or the embedding of its text."""
        if not isinstance(query, str):
            return np.asarray(query, np.float32)
        from omnigraph.embedding import embedder_for, query_vector

        types = self.domains[field.variable or ""].types
        names = [name for name in types if self.reader.type_of(name, field.property)]
        item = self.reader.stored(names[0]).properties[field.property]
        model = None if item.embed is None else item.embed.model
        assert isinstance(item.type, VectorType)
        known = dict.fromkeys(self._models(names, field.property)) or (None,)
        for each in known:
            embedder = embedder_for(model, self.environment, filled_by=each)
        return query_vector(embedder, query, item.type.dimension, partial(self.check, 0))

    def _models(self, names: Iterable[str], name: str) -> Iterator[str]:
        """Yield the models that filled a property in some types."""
        for each in map(self.reader.stored, names):
            known = dict(self.reader.snapshot.models(each.identity))
            if (found := known.get(each.properties[name].identity)) is not None:
                yield found

    def check_cancelled(self) -> None:
        """Raise CancelledError when nobody waits for the rows any more."""
        if self.cancelled is not None and self.cancelled.is_set():
            raise CancelledError("the query was cancelled")

    def check(self, rows: int, columns: int = 1) -> None:
        """Raise CancelledError, or BudgetError when the time or `rows` rows exceed the budget."""
        budget = self.budget
        if self.cancelled is not None:
            self.check_cancelled()
        check_time(budget, self.started)
        if rows > budget.rows:
            raise BudgetError(f"the query made more than {budget.rows:,} rows", limit="rows")
        if rows * columns * 8 > budget.bytes:
            self.check_bytes(rows * columns * 8)

    def room(self, columns: int) -> Callable[[int], None]:
        """Return a check that raises when so many rows of `columns` columns exceed the budget."""
        return lambda rows: self.check(rows, columns)

    def check_work(self, rows: int, columns: int) -> None:
        """Raise BudgetError when an operator would hold more than twice the budget as it works.

        `columns` are those that it is given, those that it makes, and those that it needs between.
        """
        self.check_bytes(rows * columns * 8 // 2)

    def check_bytes(self, size: int) -> None:
        """Raise BudgetError when so many bytes are too many."""
        if size > self.budget.bytes:
            message = f"the query needs more than {self.budget.bytes >> 20:,} MiB"
            raise BudgetError(message, limit="bytes")


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """What one execution of a plan is given: parameters, the instant of `now()`, and limits.

    With `streams` the last columns are made while the rows are taken, else before.
    """

    params: Mapping[str, Value | None]
    now: datetime
    budget: Budget
    environment: Mapping[str, str] = field(repr=False)
    cancelled: Event | None = None
    measures: bool = False
    streams: bool = False
    source: Source | None = None

    @property
    def is_cancelled(self) -> bool:
        """Whether nobody waits for the rows any more."""
        return self.cancelled is not None and self.cancelled.is_set()

    def start(self, reader: Reader, started: float | None = None) -> Execution:
        """Return a new execution; its time counts from `started`, or from now on."""
        return Execution(
            reader=reader,
            params=self.params,
            now=self.now,
            budget=self.budget,
            environment=self.environment,
            cancelled=self.cancelled,
            started=time.monotonic() if started is None else started,
            stopwatch=Stopwatch() if self.measures else None,
            source=self.source,
        )
