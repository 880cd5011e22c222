"""Persons: rows of the sample graph as plain values, and how to find them by every index."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from lance.query import FullTextQuery, MatchQuery, PhraseQuery

from omnigraph.schema.arrow import arrow_schema
from omnigraph.schema.compile import compile_schema
from omnigraph.storage.table import Table
from tests.sample import SCHEMA

WORDS = ("alpha", "bravo", "charlie", "delta", "foxtrot")

_SCHEMA = arrow_schema(compile_schema(SCHEMA).nodes["Person"])


@dataclass(frozen=True, slots=True)
class Person:
    """What a row says besides its id."""

    name: str
    age: int | None

    def says(self, phrase: str) -> bool:
        """Tell whether the name holds these words, one right after the other."""
        return f" {phrase} " in f" {self.name} "


Persons: TypeAlias = Mapping[str, Person]


def rows_of(persons: Persons) -> pa.Table:
    """Return persons as rows; the slug is the id."""
    columns = {
        "id": list(persons),
        "slug": list(persons),
        "name": [each.name for each in persons.values()],
        "age": [each.age for each in persons.values()],
    }
    return pa.table(columns, schema=_SCHEMA)


def check_reads(
    table: Table, persons: Persons, ids: Iterable[str], age: int, words: tuple[str, str]
) -> None:
    """Fail unless the scan and every index give these persons."""
    check_content(table, persons)
    check_ids(table, persons, ids)
    check_ages(table, persons, age)
    check_words(table, persons, words)


def check_content(table: Table, persons: Persons) -> None:
    """Fail unless a full scan gives exactly these persons, each once."""
    rows = table.scan().to_pylist()
    found = {row["id"]: Person(row["name"], row["age"]) for row in rows}
    assert len(found) == len(rows), "an id is there twice"
    assert found == persons
    assert table.count() == len(persons)


def check_ids(table: Table, persons: Persons, ids: Iterable[str]) -> None:
    """Fail unless looking for each id gives its row, or none."""
    for each in ids:
        assert _found(table, pc.field("id") == each) == [each] * (each in persons)


def check_ages(table: Table, persons: Persons, age: int) -> None:
    """Fail unless conditions on the age give the rows that meet them; null meets only its own."""
    field = pc.field("age")
    known = {each: person.age for each, person in persons.items() if person.age is not None}
    unknown = sorted(persons.keys() - known.keys())
    assert _found(table, field == age) == _those(known, {age})
    assert _found(table, field < age) == _those(known, range(age))
    assert _found(table, field != age) == _those(known, {*known.values()} - {age})
    assert _found(table, field.is_null()) == unknown


def check_words(table: Table, persons: Persons, words: tuple[str, str]) -> None:
    """Fail unless searching a word, either of two words, and both as a phrase finds the rows."""
    first, second = words
    phrase = f"{first} {second}"
    one = [each for each, person in persons.items() if person.says(first)]
    other = [each for each, person in persons.items() if person.says(second)]
    both = [each for each, person in persons.items() if person.says(phrase)]
    assert _searched(table, MatchQuery(first, "name")) == sorted(one)
    assert _searched(table, MatchQuery(phrase, "name")) == sorted({*one, *other})
    assert _searched(table, PhraseQuery(phrase, "name")) == sorted(both)


def _those(known: Mapping[str, int], ages: Iterable[int]) -> list[str]:
    wanted = set(ages)
    return sorted(each for each, age in known.items() if age in wanted)


def _found(table: Table, where: pc.Expression) -> list[str]:
    return sorted(table.scan(["id"], where)["id"].to_pylist())


def _searched(table: Table, query: FullTextQuery) -> list[str]:
    scanner = table.dataset.scanner(columns=["id", "_score"], full_text_query=query)
    return sorted(scanner.to_table()["id"].to_pylist())
