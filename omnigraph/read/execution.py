"""Execution: one run of a query: its parameters, instant, variables and budget."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from threading import Event

import numpy as np

from omnigraph.embedding import EmbeddingTask, embedder_for
from omnigraph.errors import BudgetError, CancelledError
from omnigraph.query.expr import Constant, EntityType, ListOf, Now, ParamRef, PropertyRef
from omnigraph.read.profile import Stopwatch
from omnigraph.read.reader import Domain, Reader
from omnigraph.schema.types import VectorType
from omnigraph.schema.values import Value


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a query may take; exceeding it is an error that names the limit."""

    seconds: float = 60.0
    rows: int = 50_000_000
    bytes: int = 4 << 30


@dataclass(frozen=True)
class Run:
    """What all operators of one execution share."""

    reader: Reader
    params: Mapping[str, Value | None]
    now: datetime
    budget: Budget
    environment: Mapping[str, str] = field(repr=False)
    cancelled: Event = field(default_factory=Event)
    started: float = field(default_factory=time.monotonic)
    domains: dict[str, Domain] = field(default_factory=dict)
    stopwatch: Stopwatch | None = None

    def bind(self, variable: str, kind: EntityType) -> Domain:
        """Give the domain of a variable, which is known from here on."""
        self.domains[variable] = self.reader.domain(kind)
        return self.domains[variable]

    def constant(self, value: Constant | ParamRef | Now | ListOf) -> Value | None:
        """Give a value that is the same for all rows."""
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
        """Give the vector that a row's is compared with: the one given, or that of a text."""
        if not isinstance(query, str):
            return np.asarray(query, np.float32)
        types = self.domains[field.variable or ""].types
        name = next(name for name in types if self.reader.type_of(name, field.property))
        item = self.reader.stored(name).properties[field.property]
        model = None if item.embed is None else item.embed.model
        assert isinstance(item.type, VectorType)
        embedder = embedder_for(model, self.environment)
        vector: np.ndarray = embedder.embed([query], item.type.dimension, EmbeddingTask.QUERY)[0]
        return vector

    def check(self, rows: int, columns: int = 1) -> None:
        """Raise BudgetError when so many rows, or the time so far, are too many."""
        if self.cancelled.is_set():
            raise CancelledError("the query was cancelled")
        if time.monotonic() - self.started > self.budget.seconds:
            raise BudgetError(
                f"the query ran longer than {self.budget.seconds:g} s", limit="seconds"
            )
        if rows > self.budget.rows:
            message = f"the query made more than {self.budget.rows:,} rows"
            raise BudgetError(message, limit="rows")
        if rows * columns * 8 > self.budget.bytes:
            message = f"the query needs more than {self.budget.bytes >> 20:,} MiB"
            raise BudgetError(message, limit="bytes")
