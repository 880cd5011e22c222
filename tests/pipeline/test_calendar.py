"""Days and moments of any century are the same on Spark as here, whatever calendar Java keeps."""

import json
from datetime import date, timedelta
from typing import TYPE_CHECKING

import pytest

from omnigraph.api.graph import Graph
from tests.engine.asking import made
from tests.engine.trial import by_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = """
node Letter { slug: String @key  sent: Date?  read: DateTime?  days: [Date]? }
node Deed { slug: String @key  sent: Date? }
"""
# Days that the calendar of java.sql.Date does not have.
GAP = [date(1582, 10, 5) + timedelta(number) for number in range(10)]
DEEDS = [date(1, 1, 1), date(950, 5, 5), date(999, 12, 31), date(1582, 10, 4), date(9999, 12, 31)]
PARAMS = "$day: Date, $days: [Date], $moment: DateTime"


@pytest.fixture(scope="module")
def graph(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Graph:
    assert spark is not None
    letters = [
        {
            "slug": f"l{day.day:02}",
            "sent": str(day),
            "read": f"{day}T23:59:59.999Z",
            "days": [str(day), "0950-05-05"],
        }
        for day in GAP
    ]
    deeds = [{"slug": str(day), "sent": str(day)} for day in [*DEEDS, *GAP]]
    lines = [{"type": "Letter", "data": each} for each in letters]
    lines += [{"type": "Deed", "data": each} for each in deeds]
    return made(tmp_path_factory.mktemp("days"), SCHEMA, *map(json.dumps, lines))


@pytest.mark.parametrize("read_by", ["query", "tasks"])
@pytest.mark.parametrize(
    "pattern",
    [
        "$p: Letter  $p.sent = $day",
        "$p: Letter  $p.sent < $day",
        "$p: Letter  $p.sent >= $day",
        "$p: Letter  $p.sent in $days",
        "$p: Letter  $p.days contains $day",
        "$p: Letter  $p.read < $moment",
        "$p: Letter  $p.read = $moment",
        '$p: Deed  $p.sent > date("0949-12-31")',
        '$p: Deed  $p.sent in [date("0001-01-01"), date("1582-10-12"), date("9999-12-31")]',
    ],
)
def test_a_day_before_the_gregorian_calendar_is_compared_as_here(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, pattern: str, read_by: str
) -> None:
    if read_by == "tasks":
        by_tasks(monkeypatch)
    text = f"query q({PARAMS}) {{ match {{ {pattern} }} return {{ $p.slug as slug }} }}"
    given = {
        "day": date(1582, 10, 12),
        "days": [date(1582, 10, 12), date(1582, 10, 5), date(950, 5, 5)],
        "moment": "1582-10-12T23:59:59.999Z",
    }

    expected = graph.at().query(text, **given).table

    assert len(expected)
    assert graph.at(engine="spark").query(text, **given).table.equals(expected)
