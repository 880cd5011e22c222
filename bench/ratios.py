"""Ratios: what peers take beside OmniGraph on the same data, found in the stored runs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bench.figures import short
from bench.questions import HOPS, NINE, TWO_HOPS
from bench.record import Derived, Timing, over, stored


@dataclass(frozen=True, slots=True)
class Beside:
    """The same work done by OmniGraph and by a peer: where both times are found."""

    state: str
    workload: str
    what: str
    ours: str
    peer: str
    theirs: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Both times, as they were measured in one run."""

    beside: Beside
    our_time: Timing
    their_time: Timing

    @property
    def over(self) -> Derived:
        """How many times as long the peer takes."""
        return over(self.their_time, self.our_time)

    @property
    def ours(self) -> str:
        """The time of OmniGraph with its spread."""
        return shown(self.our_time)

    @property
    def theirs(self) -> str:
        """The time of the peer with its spread."""
        return shown(self.their_time)

    @property
    def ratio(self) -> str:
        """How many times as long the peer takes, with the spread of it."""
        found = self.over
        return f"{short(found.value)}× ({short(found.low)}–{short(found.high)})"


def shown(time: Timing) -> str:
    """Return a time as it is read."""
    unit, size = ("s", 1000) if time.median_ms >= 10_000 else ("ms", 1)
    if time.runs == 1:
        return f"{short(time.median_ms / size)} {unit} (once)"
    spread = f"{short(time.low_ms / size)}–{short(time.high_ms / size)}"
    return f"{short(time.median_ms / size)} {unit} ({spread})"


def _social() -> Iterator[Beside]:
    for question in (*NINE, TWO_HOPS, *HOPS):
        for peer in ("Ladybug", "DuckDB"):
            name, what = question.name, _words(question.name)
            theirs = f"{name}_{peer.lower()}"
            yield Beside("warm", "queries", what, f"{name}_omnigraph", peer, theirs)


def _cold() -> Iterator[Beside]:
    for question in (*NINE, TWO_HOPS):
        for peer in ("Ladybug", "DuckDB"):
            name, what = f"cold_{question.name}", _words(question.name)
            theirs = f"{name}_{peer.lower()}"
            yield Beside("cold", "queries", what, f"{name}_later_process", peer, theirs)


def _spark() -> Iterator[Beside]:
    for state, suffix in (("warm", ""), ("cold", "_first")):
        for question in (*NINE, TWO_HOPS):
            what = f"{_words(question.name)}, both on Spark"
            ours, theirs = (f"{question.name}_{each}{suffix}" for each in ("spark", "raw_spark"))
            yield Beside(state, "spark_queries", what, ours, "Spark", theirs)


def _words(name: str) -> str:
    head, _, rest = name.partition("_")
    return (rest if head[1:].isdigit() else name).replace("_", " ")


_SCALING = (
    ("warm", "point read by key, 1M rows", "rows_x10_point_read", "Lance"),
    ("warm", "count with a filter, 1M rows", "rows_x10_filtered_count", "DuckDB"),
    ("warm", "average of 100 groups, 1M rows", "rows_x10_aggregation", "DuckDB"),
    ("warm", "one row inserted into 1M", "rows_x10_insert", "Lance"),
    ("warm", "point read, 5,000 commits", "history_x100_point_read", "Lance"),
    ("warm", "one row inserted, 5,000 commits", "history_x100_insert", "Lance"),
    ("cold", "open and read one row of 1M", "rows_x10_open", "Lance"),
    ("cold", "open and read, 5,000 commits", "history_x100_open", "Lance"),
)
_VERSIONED = (
    ("new branch of 100k rows", "create_branch", "Doltlite", "doltlite"),
    ("100 of 100k rows changed, one commit", "change", "Doltlite", "doltlite"),
    ("diff of 200 changed rows of 100k", "diff", "Doltlite", "doltlite"),
    ("merge, 100 rows changed on both sides", "merge", "Doltlite", "doltlite"),
    ("two hops among 240k edges", "two_hops", "CozoDB in memory", "cozo-embedded"),
)
BESIDE: tuple[Beside, ...] = (
    *_social(),
    Beside("warm", "queries", "hybrid search", "hybrid_omnigraph", "LanceDB", "hybrid_lancedb"),
    *_cold(),
    Beside(
        "cold",
        "queries",
        "hybrid search",
        "cold_hybrid_omnigraph",
        "LanceDB",
        "cold_hybrid_lancedb",
    ),
    *(
        Beside(state, "scaling", what, name, peer, f"{name}_{peer.lower()}")
        for state, what, name, peer in _SCALING
    ),
    Beside("warm", "pipeline", "2M JSON lines loaded", "load", "Spark", "spark_json_to_parquet"),
    Beside(
        "cold",
        "pipeline",
        "2M JSON lines loaded",
        "load_first",
        "Spark",
        "spark_json_to_parquet_first",
    ),
    *(
        Beside("warm", "versioned", what, f"{name}_omnigraph", peer, f"{name}_{package}")
        for what, name, peer, package in _VERSIONED
    ),
    *_spark(),
    Beside("warm", "compile", "a query parsed", "parse_tree_warm", "Lark", "lark_parse_tree_warm"),
    Beside(
        "cold", "compile", "the parser imported", "parser_ready_cold", "Lark", "lark_ready_cold"
    ),
)


def pairs(state: str) -> list[Pair]:
    """Return all that was measured warm, or all that was measured cold."""
    runs = {each.workload: stored(each.workload) for each in BESIDE}
    found = (_pair(each, runs[each.workload]) for each in BESIDE if each.state == state)
    return [each for each in found if each is not None]


def _pair(beside: Beside, run: dict[str, Any] | None) -> Pair | None:
    times = [] if run is None else [run["findings"].get(n) for n in (beside.ours, beside.theirs)]
    if not times or None in times:
        return None
    ours, theirs = (Timing(**each) for each in times)
    return Pair(beside, ours, theirs)
