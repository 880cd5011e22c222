"""Target: one entrance of the compiler, the input made for it, and what has to be true of it."""

import json
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random

from omnigraph import Catalog, OmniGraphError, compile_query, compile_schema, lint_queries
from omnigraph.errors import SourceError
from omnigraph.query.compile import compile_queries
from omnigraph.query.params import bind_params
from omnigraph.query.plan import Plan
from omnigraph.query.planning.explain import explain_json, explain_text
from omnigraph.schema.codec import decode_catalog, encode_catalog
from omnigraph.schema.printer import print_schema
from tests.fuzz.corpus import CATALOG, PARAMS, QUERIES, SCHEMAS
from tests.fuzz.mutation import hostile_params, hostile_text

Input = str | dict[str, object]

SLOWEST = 1.0


class Broken(Exception):
    """A property that has to hold does not."""


@dataclass(frozen=True, slots=True)
class Target:
    """A name, how its inputs are made, and how one is tried."""

    name: str
    make: Callable[[Random], Input]
    run: Callable[[Input], None]

    def attempt(self, given: Input) -> float:
        """Run on one input; give the seconds it took, or raise Broken."""
        start = time.process_time()
        try:
            self.run(given)
        except OmniGraphError as error:
            check_error(error)
        except Broken:
            raise
        except BaseException as crash:
            if isinstance(crash, KeyboardInterrupt | SystemExit):
                raise
            raise Broken(f"{type(crash).__name__}: {crash}"[:300]) from crash
        taken = time.process_time() - start
        if taken > SLOWEST:
            raise Broken(f"took {taken:.1f} s")
        return taken


def check_error(error: OmniGraphError) -> None:
    """Raise Broken unless an error renders, encodes, pickles and points into its text."""
    if isinstance(error, SourceError):
        assert error.source is not None
        size = len(error.source.text)
        for problem in error.problems:
            if problem.span is None or not 0 <= problem.span.start <= problem.span.end <= size:
                raise Broken(f"{problem.code} has the span {problem.span} in a text of {size}")
    if not error.render():
        raise Broken("the error renders to nothing")
    json.dumps(error.to_json())
    again = pickle.loads(pickle.dumps(error))
    if type(again) is not type(error) or again.to_json() != error.to_json():
        raise Broken("the error does not come back from a pickle")


@cache
def catalog() -> Catalog:
    """Return the catalog that fuzzed queries are checked against."""
    return compile_schema(CATALOG)


@cache
def params_plan() -> Plan:
    """Return the plan whose parameters are bound to random JSON."""
    return compile_query(PARAMS, catalog())


def _run_schema(given: Input) -> None:
    assert isinstance(given, str)
    found = compile_schema(given)
    if compile_schema(print_schema(found)) != found:
        raise Broken("the printed schema is another one")
    if decode_catalog(encode_catalog(found)) != found:
        raise Broken("the decoded schema is another one")


def _run_query(given: Input) -> None:
    assert isinstance(given, str)
    lint_queries(given, catalog()).to_json("schema.pg")
    for plan in compile_queries(given, catalog()).values():
        explain_text(plan)
        json.dumps(explain_json(plan))


def _run_params(given: Input) -> None:
    assert isinstance(given, dict)
    bind_params(params_plan(), given)


def _run_stored(given: Input) -> None:
    assert isinstance(given, str)
    decode_catalog(given)


@cache
def _stored() -> tuple[str, ...]:
    return tuple(encode_catalog(compile_schema(text)) for text in SCHEMAS)


NAMES = ("s", "b", "i", "j", "u", "w", "f", "g", "d", "t", "x", "l", "m", "v", "e", "ld", "n")
TARGETS = (
    Target("schema", lambda random: hostile_text(random, SCHEMAS), _run_schema),
    Target("query", lambda random: hostile_text(random, QUERIES), _run_query),
    Target("params", lambda random: hostile_params(random, NAMES), _run_params),
    Target("stored schema", lambda random: hostile_text(random, _stored()), _run_stored),
)
