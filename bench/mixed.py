"""Mixed: a graph of people and companies as JSON lines, nodes and edges shuffled together."""

import json
import random
from pathlib import Path

from bench.record import DATA_SEED

SCHEMA = """
node Person {
  slug: String @key
  name: String
  age: I32
  email: String
  bio: String
  joined: DateTime
  score: F64
  active: Bool
  tags: [String]
  @range(age, 0..150)
  @check(email, "@")
}
node Company { slug: String @key  name: String  founded: Date  employees: I32  about: String? }
edge Knows: Person -> Person { since: Date  weight: F64 }
edge WorksAt: Person -> Company { title: String  salary: I32 }
"""
WORDS = [
    "graph",
    "lance",
    "arrow",
    "spark",
    "vector",
    "typed",
    "manifest",
    "atomic",
    "branch",
    "merge",
    "commit",
    "snapshot",
    "index",
    "query",
    "engine",
    "property",
    "edge",
    "node",
    "table",
    "column",
]
_BATCH = 20_000


def write_mixed(path: Path, lines: int) -> None:
    """Write so many lines: 35 % persons, 5 % companies, 45 % Knows and 15 % WorksAt."""
    chance = random.Random(DATA_SEED)
    makers = _Makers(chance, lines)
    kinds = makers.kinds()
    with path.open("w") as file:
        for start in range(0, lines, _BATCH):
            made = (makers.line(kind) for kind in kinds[start : start + _BATCH])
            file.writelines(json.dumps(each, separators=(",", ":")) + "\n" for each in made)


class _Makers:
    def __init__(self, chance: random.Random, lines: int) -> None:
        self.people, self.companies = int(lines * 0.35), int(lines * 0.05)
        self.knows = int(lines * 0.45)
        self.lines = lines
        self.number = chance.randrange
        self.chance = chance
        self.texts = [" ".join(chance.choices(WORDS, k=8)) for _ in range(4_096)]
        self.made = {"Person": 0, "Company": 0}

    def kinds(self) -> list[str]:
        rest = self.lines - self.people - self.companies - self.knows
        kinds = ["Person"] * self.people + ["Company"] * self.companies
        kinds += ["Knows"] * self.knows + ["WorksAt"] * rest
        self.chance.shuffle(kinds)
        return kinds

    def line(self, kind: str) -> dict[str, object]:
        match kind:
            case "Person":
                return {"type": kind, "data": self._person(self._next(kind))}
            case "Company":
                return {"type": kind, "data": self._company(self._next(kind))}
            case "Knows":
                data = {"since": self._date(2010, 2025), "weight": round(self.chance.random(), 4)}
                return {"edge": kind, "from": self._someone(), "to": self._someone(), "data": data}
            case _:
                data = {"title": self._text()[:20], "salary": self.number(200_000)}
                company = f"company-{self.number(self.companies):07d}"
                return {"edge": kind, "from": self._someone(), "to": company, "data": data}

    def _person(self, at: int) -> dict[str, object]:
        clock = f"{self.number(24):02d}:{self.number(60):02d}:00Z"
        return {
            "slug": f"person-{at:08d}",
            "name": f"Name {self.number(100_000)} Surname {at % 977}",
            "age": self.number(100),
            "email": f"p{at}@example.org",
            "bio": self._text(),
            "joined": f"{self._date(2010, 2025)}T{clock}",
            "score": round(self.chance.random() * 100, 4),
            "active": self.chance.random() < 0.5,
            "tags": [WORDS[self.number(20)], WORDS[self.number(20)]],
        }

    def _company(self, at: int) -> dict[str, object]:
        return {
            "slug": f"company-{at:07d}",
            "name": f"Company {at} Ltd",
            "founded": self._date(1950, 2024),
            "employees": self.number(100_000),
            "about": self._text(),
        }

    def _next(self, kind: str) -> int:
        self.made[kind] += 1
        return self.made[kind] - 1

    def _someone(self) -> str:
        return f"person-{self.number(self.people):08d}"

    def _text(self) -> str:
        return self.texts[self.number(4_096)]

    def _date(self, first: int, last: int) -> str:
        return f"{self.number(first, last)}-{self.number(1, 13):02d}-{self.number(1, 29):02d}"
