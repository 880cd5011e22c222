"""Profile: what each operator of one execution cost and returned."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

from omnigraph.frozen import dataclass
from omnigraph.query.plan import Operator
from omnigraph.storage.reading import metered


@dataclass(frozen=True, slots=True)
class Measurement:
    """Operators that ran together: the rows after them, their time, and the bytes they read.

    `expected` is about how many rows the planner expected.
    """

    operators: tuple[Operator, ...]
    rows: int
    seconds: float
    bytes: int
    expected: int | None = None


@dataclass(slots=True)
class OpenMeasurement:
    """The measurement of operators while they run."""

    operators: tuple[Operator, ...]
    rows: int = 0


@dataclass(slots=True)
class Stopwatch:
    """Measures operators; those of an inner pattern are part of the operator around it."""

    measurements: list[Measurement] = field(default_factory=list)
    _busy: bool = False

    @contextmanager
    def measure(self, operators: Sequence[Operator]) -> Iterator[OpenMeasurement]:
        """Measure what happens within the block."""
        measuring = OpenMeasurement(tuple(operators))
        if self._busy:
            yield measuring
            return
        self._busy = True
        began = time.perf_counter()
        try:
            with metered() as meter:
                yield measuring
        finally:
            self._busy = False
        seconds = time.perf_counter() - began
        self.measurements.append(
            Measurement(measuring.operators, measuring.rows, seconds, meter.bytes)
        )
