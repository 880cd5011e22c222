"""Statistics: what a planner knows of a column, and of the degrees of an adjacency.

They describe one version of a table and are made from a sample of it. A small change leaves them as
they are: a planner only needs to know about how many rows there are.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from datetime import UTC, date, datetime
from math import isnan

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.derived.numbering import Numbers
from omnigraph.data.values.columns import to_timestamps
from omnigraph.frozen import dataclass

_SAMPLE = 1 << 15
_COMMON = 32
_BOUNDS = 65
_SHARES = (50, 90, 99)

Described = str | int | float | bool | date | datetime


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """How the values of a column are spread, in shares of all rows.

    `common` holds the values that occur most often. `bounds` are numbers, or texts, such that
    between two of them there are about as many values as between any other two.
    """

    nulls: float
    distinct: int
    common: Mapping[Described, float]
    bounds: tuple[float, ...] | tuple[str, ...]

    @property
    def nbytes(self) -> int:
        return 64 * (len(self.common) + len(self.bounds)) + 512

    def share_equal(self, value: object) -> float:
        """Return the share of rows that have a value; None stands for a value not known yet."""
        known = 1.0 - self.nulls
        if value is None:
            return known / max(self.distinct, 1)
        found = self.common.get(value) if isinstance(value, Described) else None
        if found is not None:
            return found
        rest = max(known - sum(self.common.values()), 0.0)
        return rest / max(self.distinct - len(self.common), 1)

    def share_below(self, value: object, *, inclusive: bool) -> float | None:
        """Return the share of rows below a value; None when the values cannot be ordered so."""
        number = to_number(value)
        if len(self.bounds) < 2 or isinstance(number, str) != isinstance(self.bounds[0], str):
            return None
        find = bisect_right if inclusive else bisect_left
        at = find(self.bounds, number)
        return (1.0 - self.nulls) * min(max((at - 0.5) / (len(self.bounds) - 1), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class DegreeStatistics:
    """How many edges lead on from the nodes of one side: the mean, the quantiles and the most."""

    nodes: int
    mean: float
    quantiles: tuple[int, ...]
    most: int

    @property
    def nbytes(self) -> int:
        return 256


def describe_column(values: pa.Array) -> ColumnStatistics | None:
    """Return the statistics of a column; None for lists, vectors, blobs and an empty column."""
    if pa.types.is_nested(values.type) or pa.types.is_large_binary(values.type) or not len(values):
        return None
    if pa.types.is_date64(values.type):
        values = to_timestamps(values)
    step = -(-len(values) // _SAMPLE)
    sample = values if step == 1 else values.take(pa.array(_pick_places(len(values))))
    known = sample.drop_null()
    if not len(known):
        return ColumnStatistics(1.0, 0, {}, ())
    counted = pc.value_counts(known)
    distinct = _estimate_distinct(counted.field("counts").to_numpy(), len(known), step)
    most = pc.select_k_unstable(
        pa.table({"values": counted.field("values"), "counts": counted.field("counts")}),
        min(_COMMON, len(counted)),
        [("counts", "descending")],
    )
    chosen = counted.take(most)
    is_common = pc.greater(chosen.field("counts"), 1)
    chosen = chosen if step == 1 else chosen.filter(is_common)
    shares = (chosen.field("counts").to_numpy() / len(sample)).tolist()
    common = dict(zip(chosen.field("values").to_pylist(), shares, strict=True))
    nulls = sample.null_count / len(sample)
    return ColumnStatistics(nulls, distinct, common, _find_bounds(known))


def to_arrays(known: ColumnStatistics, kind: pa.DataType) -> dict[str, pa.Array]:
    """Return the statistics of a column of some type as arrays, to keep them in a file."""
    described = pa.timestamp("ms", "UTC") if pa.types.is_date64(kind) else kind
    return {
        "summary": pa.array([known.nulls, float(known.distinct)]),
        "common": pa.array(known.common, described),
        "shares": pa.array(known.common.values(), pa.float64()),
        "bounds": pa.array(known.bounds or [], None if known.bounds else pa.float64()),
    }


def from_arrays(arrays: Mapping[str, pa.Array]) -> ColumnStatistics:
    """Return the statistics that `to_arrays` made arrays of."""
    nulls, distinct = arrays["summary"].to_pylist()
    values, shares = arrays["common"].to_pylist(), arrays["shares"].to_pylist()
    common = dict(zip(values, shares, strict=True))
    return ColumnStatistics(nulls, round(distinct), common, tuple(arrays["bounds"].to_pylist()))


def describe_degrees(degrees: Numbers) -> DegreeStatistics:
    """Return the statistics of the degrees of all nodes of one side."""
    if not len(degrees):
        return DegreeStatistics(0, 0.0, (0,) * len(_SHARES), 0)
    sample = degrees[:: -(-len(degrees) // _SAMPLE)]
    shares = tuple(int(each) for each in np.percentile(sample, _SHARES, method="lower"))
    return DegreeStatistics(len(degrees), float(degrees.mean()), shares, int(degrees.max()))


def to_number(value: object) -> float | str:
    """Return what a value is ordered by among the bounds of its column."""
    match value:
        case str():
            return value
        case datetime():
            return value.replace(tzinfo=value.tzinfo or UTC).timestamp()
        case date():
            return float(value.toordinal())
        case bool() | int() | float():
            try:
                return float(value)
            except OverflowError:
                return float("inf") if value > 0 else float("-inf")
        case _:
            return float("nan")


def _pick_places(count: int) -> Numbers:
    """Return the places of a random sample, always the same one."""
    return np.unique(np.random.default_rng(count).integers(0, count, _SAMPLE))


def _estimate_distinct(counts: Numbers, sampled: int, step: int) -> int:
    """Return about how many different values there are (the estimator of Haas and Stokes)."""
    found = len(counts)
    if step == 1:
        return found
    once = int(np.count_nonzero(counts == 1))
    return round(found / max(1.0 - (1.0 - 1.0 / step) * once / sampled, 1.0 / step))


def _find_bounds(known: pa.Array) -> tuple[float, ...] | tuple[str, ...]:
    """Return values that cut the sorted column into parts of about the same size."""
    ordered = known.take(pc.sort_indices(known))
    places = np.linspace(0, len(ordered) - 1, min(_BOUNDS, len(ordered))).astype(np.int64)
    found = [to_number(value) for value in ordered.take(pa.array(places)).to_pylist()]
    texts = tuple(each for each in found if isinstance(each, str))
    numbers = tuple(each for each in found if isinstance(each, float) and not isnan(each))
    return texts or numbers
