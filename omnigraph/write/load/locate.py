"""Locate: finds the lines that hold values which break a rule between rows, and says why."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.comparison import to_comparable
from omnigraph.data.values.ids import assign_ids
from omnigraph.errors import MOST_VIOLATIONS, Code, Violation
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import field_name
from omnigraph.spark.deadline import Deadline
from omnigraph.spark.progress import Progress
from omnigraph.spark.runner import Runner
from omnigraph.syntax.problems import shorten
from omnigraph.write.load.aside import Answer, Aside
from omnigraph.write.load.checks import BrokenValues
from omnigraph.write.load.image import Image
from omnigraph.write.load.loaded import LoadMode
from omnigraph.write.load.meet import Meeting
from omnigraph.write.load.rules import (
    CardinalityRule,
    ExistsRule,
    LoadRule,
    RuleReading,
    UniqueRule,
)
from omnigraph.write.load.sources.records import RecordRows
from omnigraph.write.load.sources.splits import Split, blocks
from omnigraph.write.load.stage import StagedSplit

_LONGEST_SHOWN = 80


# The index of a rule, and values that break it.
Broken: TypeAlias = tuple[int, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Reading:
    """How the lines of a load are read again: as the rows that they became."""

    catalog: str
    meeting: Meeting
    aside: Aside
    held_bytes: int
    deadline: Deadline

    def blocks(self, split: Split) -> Iterator[tuple[int, Iterator[RecordRows]]]:
        """Yield the whole rows of each block, and how many lines come before it."""
        before = 0
        is_partial = self.meeting.mode.looks_up
        for block in blocks(split, self.catalog, self.deadline, partial=is_partial):
            yield before, (met.rows for rows in block.rows for met in self.meeting.of(rows))
            before += block.lines


@dataclass(frozen=True, slots=True)
class FoundLines:
    """The lines of a split that hold values which break rules.

    All lines are counted. Of each value the first two lines are kept, which say what is wrong with
    it, and of the others as many as are reported.
    """

    lines: Mapping[Broken, Sequence[int]]
    counts: Mapping[Broken, int]


@dataclass(frozen=True, slots=True)
class SoughtValues:
    """The values of a type's columns whose lines are sought."""

    rule: int
    type: str
    columns: tuple[str, ...]
    values: pa.Table


def violations(
    runner: Runner,
    image: Image,
    found: Sequence[BrokenValues],
    splits: Sequence[Split],
    staged: Sequence[StagedSplit],
    reading: Reading,
    progress: Progress,
) -> list[Violation]:
    """Return a violation for every line, or row without a line, that breaks a rule.

    Beyond `MOST_VIOLATIONS`, at least one more comes back.
    """
    most = MOST_VIOLATIONS + 1
    rules = list(dict.fromkeys(hit.rule for hit in found))
    joined = [
        pa.concat_tables([h.values for h in found if h.rule == rule]).slice(0, most)
        for rule in rules
    ]
    sought = [each for n, rule in enumerate(rules) for each in _sought(n, rule, joined[n])]
    task = partial(_lines, sought=sought, reading=reading)
    answers = runner.map(task, splits, progress)
    places = _LinesByValue(splits, staged, answers)
    explained: list[Violation] = []
    for number, rule in enumerate(rules):
        counts = (c.as_py() for h in found if h.rule == rule for c in h.counts)
        for key, count in zip(_keys(joined[number]), counts, strict=False):
            explained += _explained(rule, key, count, places.of(number, key), image)
            if len(explained) > MOST_VIOLATIONS:
                return explained
    return explained


def _sought(number: int, rule: LoadRule, values: pa.Table) -> Iterator[SoughtValues]:
    match rule:
        case UniqueRule(reading) | ExistsRule(reading):
            yield SoughtValues(number, reading.type, reading.columns, values)
        case CardinalityRule(sources, nodes):
            yield SoughtValues(number, nodes.type, nodes.columns, values)
            yield SoughtValues(number, sources.type, sources.columns, values)


def _lines(split: Split, sought: Sequence[SoughtValues], reading: Reading) -> Answer[FoundLines]:
    lines: dict[Broken, list[int]] = {}
    counts: Counter[Broken] = Counter()
    kept = 0
    for before, found in reading.blocks(split):
        for rows in found:
            for each in sought:
                if each.type != rows.stored.name:
                    continue
                for broken, line in _matches(rows, each, before):
                    counts[broken] += 1
                    is_more = counts[broken] > 2
                    if not is_more or kept <= MOST_VIOLATIONS:
                        lines.setdefault(broken, []).append(line)
                        kept += is_more
    return reading.aside.answer(FoundLines(lines, counts), reading.held_bytes)


def _matches(rows: RecordRows, sought: SoughtValues, before: int) -> Iterator[tuple[Broken, int]]:
    columns = [_column(rows, name) for name in sought.columns]
    likely = pc.is_in(columns[0], value_set=sought.values[0].combine_chunks())
    at = pc.indices_nonzero(pc.fill_null(likely, fill_value=False))
    wanted = set(_keys(sought.values))
    found = zip(*(column.take(at).to_pylist() for column in columns), strict=True)
    for row, key in zip(at.to_pylist(), found, strict=True):
        if key in wanted:
            yield (sought.rule, key), int(rows.lines[row]) + before


def _column(rows: RecordRows, name: str) -> pa.Array:
    column = assign_ids(rows.stored, rows.columns) if name == "id" else rows.columns[name]
    return to_comparable(column)


def _keys(values: pa.Table) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in values.columns), strict=True))


@dataclass(frozen=True, slots=True)
class _Occurrences:
    """Where a value occurs in the sources: in how many lines, and the first of them."""

    count: int
    lines: list[tuple[str, int]]


class _LinesByValue:
    """The lines of every value by file, in order."""

    def __init__(
        self,
        splits: Sequence[Split],
        staged: Sequence[StagedSplit],
        answers: Sequence[Answer[FoundLines]],
    ) -> None:
        self._lines: dict[Broken, list[tuple[str, int]]] = {}
        self._counts: Counter[Broken] = Counter()
        before = lines_before(splits, staged)
        kept = 0
        for split, first, answer in zip(splits, before, answers, strict=True):
            found = answer.read()
            self._counts.update(found.counts)
            for broken, lines in found.lines.items():
                known = self._lines.setdefault(broken, [])
                few = max(2 - len(known), 0)
                more = lines[few : few + MOST_VIOLATIONS + 1 - kept]
                known += [(split.name, first + line + 1) for line in (*lines[:few], *more)]
                kept += len(more)

    def of(self, rule: int, key: tuple[object, ...]) -> _Occurrences:
        return _Occurrences(self._counts[rule, key], self._lines.get((rule, key), []))


def lines_before(splits: Sequence[Split], staged: Sequence[StagedSplit]) -> list[int]:
    """Return how many lines of its file come before each split that was read."""
    counted: dict[str, int] = {}
    before = []
    for split, result in zip(splits, staged, strict=False):
        before.append(counted.get(split.name, 0))
        counted[split.name] = before[-1] + result.lines
    return before


def _explained(
    rule: LoadRule,
    key: tuple[object, ...],
    count: int,
    stands: _Occurrences,
    image: Image,
) -> Iterator[Violation]:
    match rule:
        case UniqueRule(reading) if reading.columns == ("id",):
            yield from _same_id(reading.type, str(key[0]), count, stands, image)
        case UniqueRule(reading):
            names = _fields(image, reading)
            yield from _same_values(reading.type, names, key, count, stands)
        case ExistsRule(end, nodes):
            yield from _no_node(
                end.type, _fields(image, end), nodes.type, str(key[0]), stands.lines
            )
        case CardinalityRule():
            yield _wrong_count(rule, str(key[0]), count, stands.lines)


def _same_id(
    type_name: str, row_id: str, count: int, stands: _Occurrences, image: Image
) -> Iterator[Violation]:
    places = stands.lines
    make = partial(Violation, type=type_name, field="id")
    if count > stands.count and image.mode is LoadMode.APPEND:
        reason = f"{type_name} '{_short(row_id)}' exists already"
        yield from _at(places[:1], partial(make, code=Code.EXISTING_KEY, reason=reason))
    if len(places) > 1:
        reason = f"'{_short(row_id)}' is given already {_in(places[0])}"
        yield from _at(places[1:], partial(make, code=Code.REPEATED_KEY, reason=reason))


def _fields(image: Image, reading: RuleReading) -> str:
    """Return the fields of a reading under the names that users know."""
    stored = image.snapshot.catalog.stored(reading.type)
    assert stored is not None
    return ",".join(field_name(stored, column) for column in reading.columns)


def _same_values(
    type_name: str,
    names: str,
    key: tuple[object, ...],
    count: int,
    stands: _Occurrences,
) -> Iterator[Violation]:
    places = stands.lines
    make = partial(Violation, code=Code.UNIQUE_VALUE, type=type_name, field=names)
    shown = ", ".join(_short(str(value)) for value in key)
    if count > stands.count:
        reason = f"another {type_name} has '{shown}' already"
        yield from _at(places[:1], partial(make, reason=reason))
    if len(places) > 1:
        reason = f"'{shown}' is given already {_in(places[0])}"
        yield from _at(places[1:], partial(make, reason=reason))


def _no_node(
    edge: str, end: str, node: str, row_id: str, places: list[tuple[str, int]]
) -> Iterator[Violation]:
    make = partial(Violation, code=Code.MISSING_ENDPOINT, type=edge, field=end)
    reason = f"there is no {node} '{_short(row_id)}'"
    if not places:
        yield make(reason=f"{reason} any more, and edges of the graph need it")
    yield from _at(places, partial(make, reason=reason))


def _wrong_count(
    rule: CardinalityRule, row_id: str, count: int, places: list[tuple[str, int]]
) -> Violation:
    few = count < rule.minimum
    bound = f"at least {rule.minimum}" if few else f"at most {rule.maximum}"
    edge = rule.sources.type
    reason = f"{count} {edge} leave the {rule.nodes.type}; there must be {bound}"
    make = partial(Violation, code=Code.CARDINALITY, type=edge, id=_short(row_id), reason=reason)
    return next(_at(places[-1:], make), make())


def _at(places: Sequence[tuple[str, int]], make: Callable[..., Violation]) -> Iterator[Violation]:
    return (make(file=file, line=line) for file, line in places)


def _in(place: tuple[str, int]) -> str:
    return f"in {place[0]}:{place[1]}"


def _short(text: str) -> str:
    return shorten(text, _LONGEST_SHOWN)
