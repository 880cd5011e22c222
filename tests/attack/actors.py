"""Actors: writers, agents, readers and caretakers, each with a model of what was acknowledged."""

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.attack.asking import Asker

PAIR = """query pair($a: String, $b: String, $age: I32) {
  insert Person { slug: $a name: $a age: $age }
  insert Person { slug: $b name: $b age: $age }
  insert Knows { from: $a to: $b }
}"""
AGE = """query age($a: String, $b: String, $age: I32) {
  update Person set { age: $age } where slug = $a
  update Person set { age: $age } where slug = $b
}"""
DROP = """query drop($a: String, $b: String) {
  delete Person where slug = $a
  delete Person where slug = $b
}"""
EVERYBODY = "query all() { match { $p: Person } return { $p.slug as slug, $p.age as age } }"


def ends(name: str) -> dict[str, str]:
    """Return the two people of a pair, which come, change and go together."""
    return {"a": f"{name}-a", "b": f"{name}-b"}


@dataclass
class Writer:
    """Adds, changes and removes pairs of people on `main`, and knows which there have to be."""

    asker: Asker
    name: str
    chance: random.Random
    pairs: dict[str, int] = field(default_factory=dict)
    made: int = 0

    def act(self) -> None:
        """Do one thing; the model follows when it is known to be done, and only then."""
        known = sorted(self.pairs)
        act = self.chance.choice([self._add, self._add, self._load, self._age, self._drop])
        if act in (self._age, self._drop) and not known:
            act = self._add
        act(self.chance.choice(known) if known else "")

    def _new(self) -> tuple[str, int]:
        self.made += 1
        return f"{self.name}-{self.made}", self.chance.randint(0, 99)

    def _add(self, _: str) -> None:
        name, age = self._new()
        if self._change(PAIR, {**ends(name), "age": age}):
            self.pairs[name] = age

    def _load(self, _: str) -> None:
        name, age = self._new()
        a, b = ends(name).values()
        people = [{"type": "Person", "data": {"slug": s, "name": s, "age": age}} for s in (a, b)]
        lines = [*people, {"edge": "Knows", "from": a, "to": b}]
        data = "\n".join(map(json.dumps, lines))
        if self.asker.attempt("POST", "/load", {"data": data, "mode": "append"}):
            self.pairs[name] = age

    def _age(self, name: str) -> None:
        age = self.chance.randint(100, 199)
        if self._change(AGE, {**ends(name), "age": age}):
            self.pairs[name] = age

    def _drop(self, name: str) -> None:
        if self._change(DROP, ends(name)):
            del self.pairs[name]

    def _change(self, query: str, params: dict[str, Any]) -> bool:
        return self.asker.attempt("POST", "/change", {"query_source": query, "params": params})


@dataclass
class Agent:
    """Works on a branch of its own, looks at what a merge would do, merges, and removes it."""

    asker: Asker
    name: str
    chance: random.Random
    pairs: dict[str, int] = field(default_factory=dict)
    loops: int = 0

    def act(self) -> None:
        """Go through one loop; a branch that is given up leaves nothing on `main`."""
        self.loops += 1
        branch = f"{self.name}/{self.loops}"
        self.asker.insist("POST", "/branches", {"name": branch})
        drafted = self._drafted(branch)
        if self.chance.random() < 0.8:
            self._merged(branch, drafted)
            self.pairs |= drafted
        self.asker.insist("DELETE", f"/branches/{branch}")
        if branch in self.asker.insist("GET", "/branches", writes=False)["branches"]:
            self.asker.target.wrong(f"branch {branch} is there after it was deleted")
        self.asker.target.counts["loops"] += 1

    def _drafted(self, branch: str) -> dict[str, int]:
        drafted: dict[str, int] = {}
        for number in range(self.chance.randint(1, 4)):
            name, age = f"{self.name}-{self.loops}-{number}", self.chance.randint(0, 99)
            self._change(branch, PAIR, {**ends(name), "age": age})
            if self.chance.random() < 0.3:
                age += 100
                self._change(branch, AGE, {**ends(name), "age": age})
            drafted[name] = age
        body = {"query_source": EVERYBODY, "branch": branch}
        rows = self.asker.insist("POST", "/read", body, writes=False)["rows"]
        self._compare(rows, drafted, f"on {branch}")
        return drafted

    def _merged(self, branch: str, drafted: dict[str, int]) -> None:
        preview = self.asker.insist(
            "POST", "/branches/merge", {"source": branch, "preview": True}, writes=False
        )
        inserted = preview["stats"].get("Person", {}).get("insert")
        if preview["merge_conflicts"] or inserted != 2 * len(drafted):
            self.asker.target.wrong(f"the preview of {branch} says {preview}, not {drafted}")
        done = self.asker.insist("POST", "/branches/merge", {"source": branch})
        if done["outcome"] not in ("merged", "fast_forward"):
            self.asker.target.wrong(f"the merge of {branch} says {done}")
        rows = self.asker.insist("POST", "/read", {"query_source": EVERYBODY}, writes=False)["rows"]
        self._compare(rows, {**self.pairs, **drafted}, "on main")

    def _change(self, branch: str, query: str, params: dict[str, Any]) -> None:
        body = {"query_source": query, "params": params, "branch": branch}
        self.asker.insist("POST", "/change", body)

    def _compare(self, rows: list[dict[str, Any]], wanted: dict[str, int], where: str) -> None:
        """Compare the rows of this agent that were read with those that there have to be."""
        found = {row["slug"]: row["age"] for row in rows}
        for name, age in wanted.items():
            for slug in ends(name).values():
                if found.get(slug) != age:
                    self.asker.target.wrong(f"{slug} is {found.get(slug)}, not {age}, {where}")


@dataclass
class Reader:
    """Reads `main` again and again, and finds every pair whole."""

    asker: Asker

    def act(self) -> None:
        """Read everybody once."""
        rows = self.asker.insist("POST", "/read", {"query_source": EVERYBODY}, writes=False)["rows"]
        ages = {row["slug"]: row["age"] for row in rows}
        torn = [slug for slug, age in ages.items() if ages.get(_other(slug)) != age]
        if torn:
            self.asker.target.wrong(f"pairs are there by half: {torn[:6]}")
        self.asker.target.counts["reads"] += 1
        time.sleep(0.05)


@dataclass
class Caretaker:
    """Optimizes and cleans up while everybody else works."""

    asker: Asker
    chance: random.Random

    def act(self) -> None:
        """Care for the graph once."""
        work: list[Callable[[], object]] = [
            lambda: self.asker.try_once("POST", "/optimize", {}),
            lambda: self.asker.try_once("POST", "/cleanup", {"keep": 5, "confirm": True}),
            lambda: self.asker.try_once("GET", "/coverage"),
            lambda: self.asker.try_once("GET", "/commits?limit=50"),
        ]
        self.chance.choice(work)()
        self.asker.target.counts["care"] += 1
        time.sleep(self.chance.uniform(0.2, 1.0))


def _other(slug: str) -> str:
    return f"{slug[:-1]}{'b' if slug.endswith('a') else 'a'}"
