"""Page: docs/benchmarks.md with its charts, and what docs/comparison.md has of it.

All of it is made from the stored runs alone.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from bench import charts
from bench.figures import FIGURES, OPERATIONS, SWEEPS, Held, held, short
from bench.orders import ORDERS, QUESTIONS, TRIANGLES
from bench.questions import NINE
from bench.ratios import pairs, shown
from bench.record import Timing, stored
from bench.run import WORKLOADS, last_run
from bench.short_reads import READS, WAYS

DOCS = Path(__file__).parents[1] / "docs"
QUESTIONS_CHART, GROWTH_CHART = "benchmarks.svg", "benchmarks-growth.svg"
_PEERS = (
    charts.Series("OmniGraph", "#2563eb"),
    charts.Series("Ladybug", "#d97706"),
    charts.Series("DuckDB", "#059669"),
)
_GROWTH = (
    charts.Series("×10 rows", "#2563eb"),
    charts.Series("×10 rows, peer", "#93c5fd"),
    charts.Series("×100 history", "#7c3aed"),
    charts.Series("×100 history, peer", "#c4b5fd"),
)
# What docs/comparison.md shows: of each peer, where it is quicker and where it is not.
_COMPARED = (
    ("LanceDB", "hybrid search"),
    ("Ladybug", "men of london dining"),
    ("Ladybug", "two hop paths by age"),
    ("Ladybug", "two hops"),
    ("Ladybug", "within 4 hops"),
    ("Doltlite", "new branch of 100k rows"),
    ("Doltlite", "100 of 100k rows changed, one commit"),
    ("Doltlite", "diff of 200 changed rows of 100k"),
    ("Doltlite", "merge, 100 rows changed on both sides"),
)
_MARK = "<!-- made by python -m bench --page -->\n"
_PEER_OF = {
    "point_read": "lance",
    "filtered_count": "duckdb",
    "aggregation": "duckdb",
    "open": "lance",
    "insert": "lance",
}
_NAMES = {"lance": "Lance", "duckdb": "DuckDB"}
_HEAD = """\
# Benchmarks

Every number below is from the stored runs under [bench/results](../bench/results), which
`make bench` makes; `python -m bench --page` makes this page from them.

- A time is a median, and the range beside it is the middle half of all that was measured. A ratio
  has the range that the middle halves of its two times allow.
- *Peers* run on the same data in the same run, in the form that was found quickest for them. A peer
  over ours above 1 means that OmniGraph is quicker.
- *Warm* is a process that has asked before. *Cold* is a new process with its imports, except where
  it is said otherwise.
- *Asked* is the bound that a figure is held to; one that is not kept is said to be **short**.
- All data is made from one seed, which the table of [runs](#runs) names, so that every run meets
  the same data.
"""
_RATIOS = """\
## Beside peers

Ladybug and DuckDB have the social graph of 100,000 persons and 2.4 million edges, with keys and
indexes. LanceDB has 100,000 documents with vectors and an index of the words. Lance is a plain
table with an index of the key, and no rows are checked on their way into it. Spark is Spark's own
way: JSON lines to Parquet for the load, and SQL by hand on Parquet files for the questions.
Doltlite has a table of 100,000 rows, and CozoDB a relation of 240,000 pairs in memory.

The peers run in their stock configuration, each with its own flags.
"""
_ORDERS = """\
Each question is asked with its patterns in three orders: as one would ask it, from the last pattern
to the first, and mixed. The peers get their patterns or tables in the same orders. *Spread* is the
slowest order over the quickest.
"""
_SHORT_READS = """\
What a page about one person asks, of persons taken by chance. *Cold* is a new process from its
start to its end; *beside a writer* is while another process commits messages.
"""
_COLD = """\
On Spark, cold is the first time that a running session is asked; to open and read is timed after
the imports.
"""
_SCALING = """\
The exponent is the power of the size that the time grows with: log(t₁₀ / t₁) / log 10 for ten times
the rows (100,000 to a million accounts, with three edges each), and log(t₁₀₀ / t₁) / log 100 for a
hundred times the commits (50 to 5,000, of one row each). 0 is flat, 1 is linear. Lance gains its
rows by appending, and nothing puts its small pieces together unless somebody does. The first
questions about edges look them up; when look-ups have cost as much as reading all edges would, they
are read, which is after the more questions the more edges there are.
"""
_SPARK = """\
All questions are also answered on Spark, with the same rows in the same order. Starting a job alone
takes longer than most answers, so Spark is for questions that are too large for one process. The
question here compares the two ends of every path of two edges, so that every path is a row. One
process makes them in blocks and keeps what the answer needs.
"""
_CAMPAIGNS = """\
The long forms of the tests (`make campaign`): random inputs, cuts, kills, races, histories and
queries against models. A lane may run in parts, each with seeds of its own and its commit.
"""


def main() -> None:
    """Write the page and its charts."""
    (DOCS / "benchmarks.md").write_text(page())
    (DOCS / "comparison.md").write_text(comparison())
    (DOCS / QUESTIONS_CHART).write_text(questions_chart())
    (DOCS / GROWTH_CHART).write_text(growth_chart())


def page() -> str:
    """Return the page as text."""
    found = held(FIGURES)
    parts = [_HEAD, _summary(found), f"![The nine questions, beside peers]({QUESTIONS_CHART})\n"]
    parts.append(f"![How times grow with rows and history]({GROWTH_CHART})\n")
    parts.append(f"{_RATIOS}\n### Warm\n\n{_ratios('warm')}")
    parts.append(f"### Cold\n\n{_COLD}\n{_ratios('cold')}")
    parts.append(f"## Written in any order\n\n{_ORDERS}{_load('orders')}\n{_orders()}")
    if stored("short_reads") is not None:
        parts.append(f"## Short reads\n\n{_SHORT_READS}\n{_short_reads()}")
    for area, group in groupby(found, lambda each: each.figure.area):
        if area == "Scaling":
            parts.append(f"## Scaling\n\n{_SCALING}\n{_scaling(list(group))}")
        elif area == "Spark":
            parts.append(f"## Spark\n\n{_SPARK}\n{_refused()}\n{_table(list(group))}")
        else:
            parts.append(f"## {area}\n\n{_table(list(group))}")
    if stored("campaign") is not None:
        parts.append(f"## Campaigns\n\n{_CAMPAIGNS}\n{_campaigns()}")
    parts.append(f"## Runs\n\n{run_in_words()}\n{_runs()}")
    return "\n".join(parts)


def comparison() -> str:
    """Return docs/comparison.md with the table between its marks made anew."""
    before, _, after = (DOCS / "comparison.md").read_text().split(_MARK)
    return f"{before}{_MARK}{_compared()}{_MARK}{after}"


def questions_chart() -> str:
    """Return the nine questions beside the peers."""
    findings = _findings("queries")
    found = {
        question.name.partition("_")[2].replace("_", " "): {
            each.name: findings[f"{question.name}_{each.name.lower()}"]["median_ms"]
            for each in _PEERS
            if f"{question.name}_{each.name.lower()}" in findings
        }
        for question in NINE
    }
    return charts.times("The nine questions, warm", _PEERS, found)


def growth_chart() -> str:
    """Return what times grow with, beside the peers that were measured too."""
    findings = _findings("scaling")
    found: dict[str, dict[str, float]] = {}
    for operation, what in OPERATIONS.items():
        group = found.setdefault(what, {})
        for sweep, name in SWEEPS.items():
            peer = f"{operation}_{_PEER_OF.get(operation)}"
            for series, finding in ((name, operation), (f"{name}, peer", peer)):
                exponent = findings.get(f"{sweep}_{finding}_exponent")
                if exponent is not None:
                    group[series] = exponent["value"]
    return charts.growth("How the time of an operation grows", _GROWTH, found)


def _findings(workload: str) -> dict[str, Any]:
    run = stored(workload)
    return {} if run is None else run["findings"]


def _summary(found: list[Held]) -> str:
    counts = {word: sum(each.verdict == word for each in found) for word in ("pass", "short")}
    missing = len(found) - sum(counts.values())
    rest = f", {missing} not measured" if missing else ""
    line = f"{counts['pass']} of {len(found)} figures pass, {counts['short']} fall short{rest}.\n"
    return "\n".join((line, *_shortfalls(found)))


def _shortfalls(found: list[Held]) -> Iterator[str]:
    """Yield what falls short, and why."""
    rows = [
        (
            f"{each.figure.area}: {each.figure.what}",
            each.shown,
            each.figure.bound,
            each.figure.cause,
        )
        for each in found
        if each.verdict == "short"
    ]
    if rows:
        yield _rows(("short", "measured", "asked", "cause"), rows)


def _ratios(state: str) -> str:
    rows = [
        (each.beside.what, each.ours, each.beside.peer, each.theirs, each.ratio)
        for each in pairs(state)
    ]
    return _rows(("what", "OmniGraph", "peer", "takes", "peer over ours"), rows)


def _compared() -> str:
    """Return what the peers of the comparison take, beside OmniGraph."""
    found = {
        (each.beside.peer, each.beside.what, state): each
        for state in ("warm", "cold")
        for each in pairs(state)
    }
    rows = [
        (peer, what, state, found[peer, what, state].ours, found[peer, what, state].theirs)
        for peer, what in _COMPARED
        for state in ("warm", "cold")
        if (peer, what, state) in found
    ]
    table = _rows(("peer", "what", "process", "OmniGraph", "peer"), rows)
    busy = _load("versioned")
    return f"{table}\nBeside Doltlite, {busy[0].lower()}{busy[1:]}" if busy else table


def _load(workload: str) -> str:
    """Return whether others used the machine, in words, while a workload was measured."""
    run = stored(workload)
    load = None if run is None else run["findings"].get("load_average")
    if run is None or load is None or load < run["machine"]["cores"]:
        return ""
    cores = run["machine"]["cores"]
    return f"Others used the machine too: {load} processes were waiting for its {cores} cores.\n"


def _orders() -> str:
    """Return what each question takes in each order, and the spread of every system."""
    findings, rows = _findings("orders"), []
    for question in (*QUESTIONS, TRIANGLES):
        name = question.name
        times = [_time(findings.get(f"{name}_{order}_omnigraph")) for order in ORDERS]
        ratios = [findings.get(f"{name}_{order}_peer_over_ours") for order in ORDERS]
        least = min((each["value"] for each in ratios if each), default=None)
        spreads = [
            findings.get(f"{name}_{system}_slowest_over_fastest")
            for system in ("omnigraph", "ladybug", "duckdb")
        ]
        shown_spreads = ["—" if each is None else f"{short(each['value'])}×" for each in spreads]
        best = "—" if least is None else f"{short(least)}×"
        rows.append((name.replace("_", " "), *times, best, *shown_spreads))
    heads = ("question", "as asked", "turned", "mixed", "best peer over ours, least")
    return _rows((*heads, "spread", "Ladybug's", "DuckDB's"), rows)


def _short_reads() -> str:
    """Return what each short read takes, as a rule and at worst."""
    findings = _findings("short_reads")
    rows = [
        (read.replace("_", " "), *(_p50_and_p99(findings, f"{read}_{way}") for way in WAYS))
        for read in READS
    ]
    heads = (f"of {findings['persons']:,} persons, p50 and p99", "warm", "cold", "beside a writer")
    return _rows(heads, rows)


def _p50_and_p99(findings: dict[str, Any], name: str) -> str:
    usual, worst = (short(findings[f"{name}_{cut}_ms"]) for cut in ("p50", "p99"))
    return f"{usual} and {worst} ms"


def _table(found: list[Held]) -> str:
    rows = [
        (each.figure.what, each.shown, each.spread, each.figure.bound, _marked(each.verdict))
        for each in found
    ]
    return _rows(("figure", "measured", "middle half", "asked", ""), rows)


def _scaling(found: list[Held]) -> str:
    findings, parts = _findings("scaling"), []
    verdicts = {each.figure.finding: each for each in found}
    for sweep, times in SWEEPS.items():
        last = times.partition(" ")[0]
        rows = []
        for operation, what in OPERATIONS.items():
            figure = verdicts[f"{sweep}_{operation}_exponent"]
            first, grown = (
                _time(findings.get(f"{sweep}_{size}_{operation}"))
                for size in ("x1", last.replace("×", "x"))
            )
            peer = _peer_exponent(findings, sweep, operation)
            exponent = f"{figure.shown} ({figure.spread})" if figure.spread else figure.shown
            asked, verdict = figure.figure.bound, _marked(figure.verdict)
            rows.append((what, first, grown, exponent, asked, verdict, peer))
        heads = (times, "×1", last, "exponent", "asked", "", "exponent of a peer")
        parts.append(_rows(heads, rows))
    return "\n".join(parts)


def _peer_exponent(findings: dict[str, Any], sweep: str, operation: str) -> str:
    peer = _PEER_OF.get(operation)
    found = findings.get(f"{sweep}_{operation}_{peer}_exponent")
    return "" if peer is None or found is None else f"{_NAMES[peer]} {short(found['value'])}"


def _refused() -> str:
    """Return how long the question takes at each size, in this process and on Spark."""
    findings, rows = _findings("spark_queries"), []
    for persons in (10_000, 40_000, 100_000):
        name = f"paths_to_older_{persons}"
        refused = findings.get(f"{name}_inline_refused")
        inline = "refused" if refused else _time(findings.get(f"{name}_inline"))
        spark, by_hand = (_time(findings.get(f"{name}_{way}")) for way in ("spark", "raw_spark"))
        rows.append((f"{persons:,}", f"{24 * persons:,}", inline, spark, by_hand))
    return _rows(("persons", "edges", "one process", "on Spark", "Spark SQL by hand"), rows)


def _time(found: dict[str, Any] | None) -> str:
    return "—" if found is None else shown(Timing(**found))


def _marked(verdict: str) -> str:
    return verdict if verdict == "pass" else f"**{verdict}**"


def run_in_words() -> str:
    """Return which workloads are from the last run of all of them."""
    last = last_run()
    if last is None:
        return "The workloads were run one by one.\n"
    runs = {name: stored(name) for name in WORKLOADS}
    others = [
        name
        for name, run in runs.items()
        if run is None or not last.begun <= run["at"] <= last.ended
    ]
    took = (
        f"The last run of all workloads began {last.begun[:16]} and took {last.minutes:.0f} minutes"
    )
    if others:
        return f"{took}. Not from it: {', '.join(others)}.\n"
    return f"{took}; everything here is from it.\n"


def _runs() -> str:
    last, rows = last_run(), []
    seconds = {} if last is None else {each.workload: each.seconds for each in last.workloads}
    for run in filter(None, map(stored, WORKLOADS)):
        versions = dict(run["packages"])
        if "commit" in run:
            versions["omnigraph"] += f" at {run['commit']}"
        packages = ", ".join(f"{name} {version}" for name, version in versions.items())
        machine = f"{run['machine']['cores']} cores, Python {run['machine']['python']}"
        took = f"{seconds[run['workload']]:.0f} s" if run["workload"] in seconds else ""
        seed = str(run.get("seed", "—"))
        rows.append((run["workload"], run["at"][:16], took, machine, seed, packages))
    return _rows(("workload", "at", "took", "on", "seed", "with"), rows)


def _campaigns() -> str:
    """Return of each lane how much of it has run, on which commits, and what its last part said."""
    rows = []
    for name, found in _findings("campaign").items():
        commits = ", ".join(dict.fromkeys(part["commit"] for part in found["parts"]))
        verdict = _marked("pass" if found["passed"] else "fail")
        rows.append((name, f"{found['share']:.1%}", verdict, commits, found["parts"][-1]["said"]))
    return _rows(("lane", "of its full size", "", "commits", "its last part"), rows)


def _rows(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(each)} |" for each in (heads, *rows)]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:], ""])
