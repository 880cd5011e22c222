"""Figures: what the software is held to, each found in the stored run of a workload."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from bench.record import stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A finding of a workload, what it is, and the bound that it has to keep."""

    area: str
    workload: str
    finding: str
    what: str
    unit: str = "ms"
    most: float | None = None
    least: float | None = None

    @property
    def cause(self) -> str:
        """Why the bound is not kept where it is not, as far as that is known."""
        return _CAUSES.get((self.workload, self.finding), "Not known.")

    @property
    def bound(self) -> str:
        """The bound in words."""
        word, value = ("≤", self.most) if self.most is not None else ("≥", self.least)
        return f"{word} {value:,g}{_unit(self.unit)}"


_COLD_CACHES = (
    "A read after a commit to another branch takes as long, though it has nothing to look up anew, "
    "and so does one after a pause of 20 ms: by then the processor's caches hold other things."
)
_CAUSES = {
    ("queries", "after_commit_two_hops_over_warm"): _COLD_CACHES,
    ("queries", "after_commit_q8_two_hop_paths_over_warm"): _COLD_CACHES,
    ("server", "quiet_p99_beside_over_alone"): (
        "Threads of one process take turns at the lock of its interpreter. With `--workers 2`, the "
        "noisy actor is served apart."
    ),
}


@dataclass(frozen=True, slots=True)
class Held:
    """A figure with what was measured; None when the workload has no stored run."""

    figure: Figure
    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the bound was kept."""
        if self.value is None:
            return "not measured"
        most, least = self.figure.most, self.figure.least
        kept = (most is None or self.value <= most) and (least is None or self.value >= least)
        return "pass" if kept else "short"

    @property
    def shown(self) -> str:
        """The value as it is read."""
        return "—" if self.value is None else f"{short(self.value)}{_unit(self.figure.unit)}"

    @property
    def spread(self) -> str:
        """The middle half of what was measured, where more than one value was."""
        if self.low is None or self.high is None:
            return ""
        word = " to " if self.low < 0 else "–"
        return f"{short(self.low)}{word}{short(self.high)}"


def short(value: float) -> str:
    """Return a number with about three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


_Short: TypeAlias = tuple[str, str, float] | tuple[str, str, float, str]


def _of(area: str, workload: str, *figures: _Short) -> Iterator[Figure]:
    """Yield figures bounded from above: finding, what it is, bound, and unit if not ms."""
    for finding, what, most, *unit in figures:
        yield Figure(
            area=area,
            workload=workload,
            finding=finding,
            what=what,
            unit=str(unit[0]) if unit else "ms",
            most=most,
        )


# What must not depend on how much there is, and what may grow as fast as it does.
_FLAT, _LINEAR = 0.15, 1.1
OPERATIONS = {
    "point_read": "point read by key",
    "early_two_hops": "two hops from one node, edges not read yet",
    "two_hops": "two hops from one node",
    "filtered_count": "count with a filter",
    "aggregation": "average of 100 groups",
    "text_search": "text search, best ten",
    "head_read": "reading the head",
    "log": "the last 20 commits",
    "open": "open and read one row, new process",
    "insert": "one row inserted",
    "create_branch": "new branch",
    "diff": "diff of 100 changed rows",
    "merge": "merge of 100 changed rows",
}
SWEEPS = {"rows": "×10 rows", "history": "×100 history"}
_GROWING = {"filtered_count", "aggregation", "text_search"}

_QUESTIONS = (
    "q1_most_followed",
    "q2_city_of_most_followed",
    "q3_youngest_cities",
    "q4_aged_per_country",
    "q5_men_of_london_dining",
    "q6_cities_of_women_tennis",
    "q7_state_of_photographers",
    "q8_two_hop_paths",
    "q9_two_hop_paths_by_age",
)

# What an agent does on its own branch, which must not depend on how many others there are.
ALONE = {
    "open": "opening a graph",
    "head_read": "reading the head",
    "log": "the last 20 commits of a branch in a crowd",
    "preview": "preview of a merge in a crowd",
    "create_branch": "new branch",
    "delete_branch": "deleting it",
    "insert": "one row inserted",
}

FIGURES: tuple[Figure, ...] = (
    *_of(
        "Languages",
        "compile",
        ("text_to_plan_warm", "a query of 342 characters from text to plan, warm", 1),
        ("help_cold", "`omnigraph --help`, cold process", 250),
        ("lint_20_queries_cold", "`query lint` of 20 queries, cold process", 500),
    ),
    *_of(
        "Commands",
        "cli",
        ("help_process", "`omnigraph --help`, cold process", 250),
        ("read_process", "`omnigraph read` of one row of 100k by key, cold process", 350),
        ("alias_over_read", "the same through an alias, over without", 1.1, "×"),
    ),
    Figure(
        area="Commands",
        workload="cli",
        finding="csv_rows_per_second",
        what="rows per second written as CSV",
        unit="rows/s",
        least=200_000,
    ),
    *_of(
        "Storage",
        "storage",
        ("write_all", "commit of one row, without flush", 15),
        ("write_last_over_first", "commit 5,000 over commit 50", 1.3, "×"),
        ("point_read_last_over_first", "point read after 5,000 commits over 50", 1.5, "×"),
        ("head_read_after_5000", "reading the head, warm", 1),
        ("create_branch_50_types_of_1000000_rows", "new branch, 50 types × 1M rows", 5),
        ("delete_branch_50_types_of_1000000_rows", "deleting it", 5),
        ("create_branch_1000_branches", "new branch beside 1,000 others", 5),
    ),
    Figure(
        area="Storage",
        workload="memory",
        finding="grown_mb",
        what="growth of a process from 1,000 to 10,000 commits, with reads and merges",
        unit="MB",
        most=20,
    ),
    *_of(
        "Pipeline",
        "pipeline",
        ("load_over_peer", "2M lines checked and loaded, over Spark's JSON → Parquet", 2, "×"),
        ("peak_memory_mb_2000000_lines", "peak memory of all processes, 2M lines", 2_000, "MB"),
        ("peak_memory_mb_6000000_lines", "the same, 6M lines", 2_000, "MB"),
        ("load_500_lines", "500 lines on a warm session", 1_000),
    ),
    *_of(
        "Pipeline",
        "loads",
        ("load_spark_over_stock", "1M lines on Spark, over stock Spark's JSON → Parquet", 1.3, "×"),
        ("load_inline_over_duckdb", "1M lines in one process, over DuckDB's `read_json`", 3, "×"),
    ),
    *_of(
        "Pipeline",
        "large",
        *(
            (f"{finding}_peak_mib", f"memory of the driver to {what}", 1_000, "MiB")
            for finding, what in {
                "inline_load": "replace 5M rows by a load in one process",
                "inline_merge": "merge 5M rows in one process",
                "inline_delete": "delete 5M rows in one process",
                "spark_load": "replace 5M rows by a load on Spark",
                "spark_merge": "merge 5M rows on Spark",
            }.items()
        ),
    ),
    Figure(
        area="Pipeline",
        workload="pipeline",
        finding="load_lines_per_s",
        what="lines per second, warm on two cores",
        unit="lines/s",
        least=350_000,
    ),
    Figure(
        area="Pipeline",
        workload="pipeline",
        finding="export_stream_rows_per_s",
        what="rows per second written out as JSON lines",
        unit="rows/s",
        least=300_000,
    ),
    *(
        Figure(
            area="Queries",
            workload="queries",
            finding=f"{name}_peer_over_ours",
            what=f"{name.partition('_')[2].replace('_', ' ')}: best peer over ours",
            unit="×",
            least=2,
        )
        for name in _QUESTIONS
    ),
    Figure(
        area="Queries",
        workload="queries",
        finding="nine_geometric_mean",
        what="geometric mean of the nine",
        unit="×",
        least=10,
    ),
    *(
        Figure(
            area="Queries",
            workload="queries",
            finding=f"{name}_peer_over_ours",
            what=f"{what}: best peer over ours",
            unit="×",
            least=2,
        )
        for name, what in {
            "two_hops": "who is two hops from one person, counted once",
            **{
                f"within_{hops}_hops": f"who is within {hops} hop{'s' * (hops > 1)}"
                for hops in range(1, 5)
            },
        }.items()
    ),
    *(
        Figure(
            area="Queries",
            workload="orders",
            finding=f"triangles_{order}_peer_over_ours",
            what=f"all triangles, {order.replace('_', ' ')}: best peer over ours",
            unit="×",
            least=1,
        )
        for order in ("as_asked", "turned", "mixed")
    ),
    *_of(
        "Queries",
        "queries",
        ("point_read_warm", "point read by key at 1M rows, of a key never asked before", 3),
        ("hybrid_over_lancedb", "hybrid search over LanceDB's", 1.2, "×"),
        ("count_peak_mb", "peak memory of a count beside 410 MB of vectors", 200, "MB"),
        ("after_commit_two_hops_over_warm", "read after a one-edge commit over warm", 2, "×"),
        ("after_commit_q8_two_hop_paths_over_warm", "all two-hop paths, the same", 2, "×"),
    ),
    *_of(
        "Queries",
        "permuted",
        (
            "slowest_over_fastest_most",
            "200 random questions in all orders of their patterns, slowest over fastest",
            1.5,
            "×",
        ),
    ),
    *_of(
        "Queries",
        "language",
        ("arithmetic_over_numpy", "arithmetic over 1M rows, over NumPy", 2, "×"),
        ("collect_over_duckdb", "`collect` of 2.4M edges by person, over DuckDB's `list`", 2, "×"),
        ("shortest_path", "shortest path between two of 100k persons, p50", 5),
    ),
    Figure(
        area="Queries",
        workload="language",
        finding="ladybug_over_shortest_path",
        what="shortest path, Ladybug over ours",
        unit="×",
        least=2,
    ),
    *_of(
        "Queries",
        "aggregates",
        (
            "average_of_100_groups_over_duckdb",
            "average of 1M floats in 100 groups over DuckDB's",
            2,
            "×",
        ),
        ("filtered_count_over_duckdb", "count of 1M rows with a filter over DuckDB's", 1, "×"),
        ("text_count_over_duckdb", "count of 1M rows by a text over DuckDB's", 1, "×"),
    ),
    *(
        Figure(
            area="Algorithms",
            workload="algorithms",
            finding=f"{name}_networkx_over_ours",
            what=f"{name.replace('_', ' ')}: networkx over ours, from an opened graph",
            unit="×",
            least=1,
        )
        for name in ("pagerank", "components", "k_core", "triangles", "communities")
    ),
    *_of(
        "Changes",
        "changes",
        ("large_insert_node_unsynced", "one row into 1M rows, without flush", 10),
        ("merge_ten_thousand", "10,000 rows merged into 1M", 1_000),
        ("validator_large_over_small", "validator at 1M rows over 1k", 2, "×"),
    ),
    *_of(
        "Maintenance",
        "maintenance",
        ("scan_after_over_fresh", "scan after 1,000 commits and optimize, over fresh", 1.2, "×"),
        ("point_after_over_fresh", "point read after them, over fresh", 1.2, "×"),
        ("cleanup_s", "cleanup of 1,000 versions", 10, "s"),
        ("space_over_fresh", "space after optimize and cleanup, over fresh", 1.1, "×"),
    ),
    *_of(
        "Server",
        "server",
        ("read_one_connection", "trivial read over HTTP", 5),
        ("quiet_p99_beside_over_alone", "p99 beside a noisy actor, one process", 2, "×"),
        ("writes_lost", "writes of 16 writers that were lost", 0, ""),
        ("policy_decision", "a decision of the policy", 0.5),
    ),
    *_of(
        "Server",
        "workers",
        ("quiet_p99_beside_over_alone", "the same with 2 workers", 2, "×"),
        ("memory_per_worker_mb", "memory of a worker beside 10,000 accounts", 500, "MB"),
    ),
    *(
        Figure(
            area="Server",
            workload="workers",
            finding=finding,
            what=what,
            unit="×",
            least=least,
        )
        for finding, what, least in (
            (
                "reads_2_over_1_workers",
                "costly reads per second with 2 workers, over 1, clients on the same cores",
                1.7,
            ),
            (
                "reads_by_processor_2_over_1_workers",
                "the same in a second of the server's processor time",
                0.85,
            ),
        )
    ),
    Figure(
        area="Server",
        workload="server",
        finding="reads_per_second_8_connections",
        what="trivial reads per second, 8 connections",
        unit="reads/s",
        least=300,
    ),
    *_of(
        "Merges",
        "merges",
        ("types_merge_1", "merge of 8 types × 100k rows, one change", 60),
        ("types_merge_50", "the same, 50 changes on both sides", 100),
        ("1m_diff_600", "diff, 600 changes in 1M rows", 60),
        ("1m_merge_600", "merge, 600 changes in 1M rows", 150),
        ("vector_merge_extra_mib", "memory to merge 20 of 100k rows of 4 KB", 100, "MiB"),
    ),
    *_of(
        "Policy",
        "policy",
        ("large_decision", "a decision made before, 100 rules and 5,000 actors", 0.5),
        ("large_first_decision", "a new decision", 0.5),
    ),
    *_of(
        "Agents",
        "agents",
        ("point_read", "a tool call that reads one row, over stdio", 8),
        ("start_to_first_tools", "from the start of the process to the first tools", 800),
        ("initialized_to_first_tools", "from the answered handshake to the first tools", 800),
        (
            "tools_of_a_limited_actor_tokens",
            "tools of an actor who drafts, without annotations",
            2_000,
            "tokens",
        ),
        ("schema_of_30_types_tokens", "the schema of 30 types", 1_200, "tokens"),
        ("guide_words", "the guide to the language", 1_500, "words"),
    ),
    *_of(
        "Schemas",
        "evolution",
        ("rename_property", "rename a property of 1M rows", 50),
        ("rename_type", "rename a type of 1M rows", 50),
        ("add_nullable", "add a nullable property to 1M rows", 50),
    ),
    *_of(
        "Spark",
        "spark_queries",
        ("nine_spark_over_raw_spark", "the nine questions, over Spark SQL by hand", 1.5, "×"),
        ("nine_spark_over_raw_spark_first", "the same, asked for the first time", 3, "×"),
        *(
            (f"{each}_spark_over_raw_spark", f"{each[:2]}, over Spark SQL by hand", 1.5, "×")
            for each in _QUESTIONS
        ),
        ("paths_to_older_100000_spark", "58M paths of two edges, each a row, on Spark", 120_000),
    ),
    *_of(
        "Fleet",
        "fleet",
        ("branches_10000_log", "the last 20 commits of one of 10,000 branches", 2),
        ("branches_10000_preview", "preview of a merge of one of 10,000 branches", 15),
        ("branches_10000_cleanup_wall", "cleanup of 10,000 branches, dry", 2_000),
        ("branches_10000_fsck_wall", "fsck of 10,000 branches, two processors", 20_000),
        ("wide_300_init", "init of 300 types", 2_000),
        ("wide_insert_many_over_few", "insert beside 300 types, over 30", 1.5, "×"),
        ("long_5000_blame_untouched", "blame of a row beside one with 5,000 updates", 20),
        ("long_5000_blame_updated", "blame of the row with 5,000 updates", 500),
        ("rush_attempts_per_merge", "attempts of each of 40 merges that start at once", 2, ""),
        *(
            (f"branches_{operation}_exponent", f"{what}, ×1,000 branches", _FLAT, "")
            for operation, what in ALONE.items()
        ),
        ("long_update_exponent", "an update of one row, ×10 updates of it", _FLAT, ""),
        ("long_blame_updated_exponent", "blame of that row, ×10 updates", _FLAT, ""),
        ("long_blame_untouched_exponent", "blame of the row beside it, ×10 updates", _FLAT, ""),
    ),
    Figure(
        area="Fleet",
        workload="busy",
        finding="agents_merges_per_minute_over_earlier",
        what="merges of 16 agents a minute, over those of 0.1.0",
        unit="×",
        least=2,
    ),
    *_of(
        "Fleet",
        "busy",
        ("agents_merge_p99_over_p50", "p99 of such a merge over its p50", 10, "×"),
        ("agents_lost", "rows of theirs that were lost", 0, ""),
        (
            "rush_processes_attempts_per_merge",
            "attempts of each of 40 merges of 8 processes",
            2,
            "",
        ),
        (
            "rush_threads_last_beyond_serial_in_firsts",
            "40 merges at once: the last beyond the serial sum, over the first",
            3,
            "×",
        ),
        ("rush_processes_last_beyond_serial_in_firsts", "the same in 8 processes", 3, "×"),
    ),
    # Half of what 0.1.0 took for the same 1M nodes and 10M edges: 5.37× and 6.23×.
    *_of(
        "Fleet",
        "big",
        ("blob_insert_grown_over_size", "memory to insert a blob of 50 MB, over it", 2.5, "×"),
        ("blob_disk_over_size", "disk that it takes, over it", 1.05, "×"),
        ("blobs_disk_over_size", "disk after seven more blobs, over all", 1.05, "×"),
        ("text_read_over_size", "read for one of 21 texts of 10 MB, over it", 1.5, "×"),
        ("vectors_load_grown_mb", "memory to load 100,000 vectors of 4,096", 1_000, "MB"),
        ("vectors_nearest_grown_over_matrix", "memory to search them, over all", 2, "×"),
        ("disk_over_parquet", "disk of 1M nodes and 10M edges, over their Parquet", 2.68, "×"),
        ("disk_with_derived_over_parquet", "the same with derived arrays", 3.11, "×"),
    ),
    *_of(
        "Scaling",
        "cold_growth",
        ("rows_1000000_exponent", "open and read one row in a new process, ×100 rows", _FLAT, ""),
        ("commits_5000_exponent", "the same, ×500 commits", _FLAT, ""),
    ),
    *(
        Figure(
            area="Scaling",
            workload="scaling",
            finding=f"{sweep}_{operation}_exponent",
            what=f"{what}, {times}",
            unit="",
            most=_LINEAR if sweep == "rows" and operation in _GROWING else _FLAT,
        )
        for sweep, times in SWEEPS.items()
        for operation, what in OPERATIONS.items()
    ),
)


def held(figures: "tuple[Figure, ...]") -> list[Held]:
    """Return every figure with what its workload found last."""
    runs = {workload: stored(workload) for workload in {each.workload for each in figures}}
    return [_held(each, runs[each.workload]) for each in figures]


def _held(figure: Figure, run: dict[str, Any] | None) -> Held:
    match None if run is None else run["findings"].get(figure.finding):
        case {"median_ms": value, "low_ms": low, "high_ms": high}:
            return Held(figure, value, low, high)
        case {"value": value, "low": low, "high": high}:
            return Held(figure, value, low, high)
        case value:
            return Held(figure, value)


def _unit(unit: str) -> str:
    return unit if unit in ("×", "") else f" {unit}"
