"""Social: persons who follow each other, live in cities and have interests."""

import json
import random
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.record import DATA_SEED

SCHEMA = """
node Person {
  id_number: I64 @key
  name: String
  gender: enum(female, male)
  birthday: Date
  age: I32 @index
  is_married: Bool
}
node City { name: String @key  population: I64 }
node State { name: String @key }
node Country { name: String @key }
node Interest { name: String @key }
edge Follows: Person -> Person
edge LivesIn: Person -> City
edge HasInterest: Person -> Interest
edge CityIn: City -> State
edge StateIn: State -> Country
"""
COUNTRIES = {
    "United States": 50,
    "United Kingdom": 4,
    "Canada": 10,
    "Germany": 16,
    "France": 13,
    "Japan": 47,
}
INTERESTS = [
    "fine dining",
    "tennis",
    "photography",
    "chess",
    "hiking",
    "cooking",
    "jazz",
    "painting",
    "sailing",
    "cycling",
    "running",
    "yoga",
    "gardening",
    "astronomy",
    "pottery",
    "poetry",
    "cinema",
    "theatre",
    "opera",
    "ballet",
    "football",
    "rugby",
    "cricket",
    "golf",
    "skiing",
    "surfing",
    "climbing",
    "fishing",
    "camping",
    "travel",
    "languages",
    "history",
    "science",
    "robotics",
    "gaming",
    "knitting",
    "baking",
    "wine",
    "coffee",
    "tea",
    "music",
]
CITIES_PER_STATE = 50


def write_social(path: Path, persons: int = 100_000, follows: int = 2_400_000) -> int:
    """Write the graph as JSON lines and return their number; it is always the same graph."""
    lines = 0
    with path.open("w") as file:
        for record in _records(random.Random(DATA_SEED), persons, follows):
            file.write(json.dumps(record, separators=(",", ":")) + "\n")
            lines += 1
    return lines


def social_tables(persons: int, follows: int) -> dict[str, pa.Table]:
    """Return the same graph as one table for each type, edges with the columns from and to."""
    columns: dict[str, dict[str, list[object]]] = {}
    for record in _records(random.Random(DATA_SEED), persons, follows):
        if "edge" in record:
            name, row = record["edge"], {"from": record["from"], "to": record["to"]}
        else:
            name, row = record["type"], record["data"]
        known = columns.setdefault(name, {key: [] for key in row})
        for key, value in row.items():
            known[key].append(value)
    tables = {name: pa.table(found) for name, found in columns.items()}
    person = tables["Person"]
    place = person.schema.get_field_index("birthday")
    birthdays = person["birthday"].cast(pa.date32())
    return tables | {"Person": person.set_column(place, "birthday", birthdays)}


def _records(chance: random.Random, persons: int, follows: int) -> Iterator[dict[str, Any]]:
    cities = yield from _places(chance)
    for name in INTERESTS:
        yield {"type": "Interest", "data": {"name": name}}
    for number in range(persons):
        yield {"type": "Person", "data": _person(chance, number)}
        yield {"edge": "LivesIn", "from": str(number), "to": chance.choice(cities)}
        for name in chance.sample(INTERESTS, chance.randint(1, 2)):
            yield {"edge": "HasInterest", "from": str(number), "to": name}
    for follower, followed in _follows(chance, persons, follows):
        yield {"edge": "Follows", "from": str(follower), "to": str(followed)}


def _follows(chance: random.Random, persons: int, count: int) -> Iterator[tuple[int, int]]:
    """Yield so many pairs of persons, each pair once and nobody with themself."""
    seen: set[int] = set()
    while len(seen) < count:
        # The lower the number, the more followers: a few persons are followed by very many.
        followed = int(persons * chance.random() ** 3)
        follower = int(persons * chance.random())
        pair = follower * persons + followed
        if follower != followed and pair not in seen:
            seen.add(pair)
            yield follower, followed


def _places(chance: random.Random) -> Generator[dict[str, object], None, list[str]]:
    cities: list[str] = []
    for country, states in COUNTRIES.items():
        yield {"type": "Country", "data": {"name": country}}
        for number in range(states):
            state = f"{country} State {number}"
            yield {"type": "State", "data": {"name": state}}
            yield {"edge": "StateIn", "from": state, "to": country}
            for city in _cities(country, number):
                population = chance.randrange(10_000, 9_000_000)
                yield {"type": "City", "data": {"name": city, "population": population}}
                yield {"edge": "CityIn", "from": city, "to": state}
                cities.append(city)
    return cities


def _cities(country: str, state: int) -> list[str]:
    names = [f"{country} City {state}-{number}" for number in range(CITIES_PER_STATE)]
    if country == "United Kingdom" and state == 0:
        names[0] = "London"
    return names


def _person(chance: random.Random, number: int) -> dict[str, object]:
    age = chance.randint(18, 70)
    birthday = f"{2024 - age}-{chance.randint(1, 12):02d}-{chance.randint(1, 28):02d}"
    return {
        "id_number": number,
        "name": f"Person {number}",
        "gender": chance.choice(("female", "male")),
        "birthday": birthday,
        "age": age,
        "is_married": chance.random() < 0.5,
    }
