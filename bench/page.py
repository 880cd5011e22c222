"""Page: docs/benchmarks.md with its charts, made from the stored runs alone."""

from collections.abc import Mapping
from html import escape
from itertools import groupby
from math import log10
from pathlib import Path

from bench.figures import FIGURES, Held, held, stored_run, stored_runs

DOCS = Path(__file__).parents[1] / "docs"
CHART = "benchmarks.svg"
_PEERS = {"omnigraph": "#2563eb", "ladybug": "#d97706", "duckdb": "#059669"}
_WIDTH, _LEFT, _BAR, _GAP = 860, 250, 13, 14
_HEAD = """\
# Benchmarks

Every figure below is from the stored runs under [bench/results](../bench/results), which
`make bench` makes; `python -m bench --page` makes this page from them. Times are medians. Peers run
on the same data in the same run, in the form that was found quickest for them.
"""


def main() -> None:
    """Write the page and its chart."""
    (DOCS / "benchmarks.md").write_text(page())
    (DOCS / CHART).write_text(chart())


def page() -> str:
    """Give the page as text."""
    found = held(FIGURES)
    parts = [_HEAD, _summary(found), f"![The nine questions, beside peers]({CHART})\n"]
    for area, group in groupby(found, lambda each: each.figure.area):
        parts.append(f"## {area}\n\n{_table(list(group))}")
    parts.append(f"## Runs\n\n{_runs()}")
    return "\n".join(parts)


def chart() -> str:
    """Give the nine questions beside the peers as bars; the scale is logarithmic."""
    run = stored_run("queries")
    findings = {} if run is None else run["findings"]
    names = [name.removesuffix("_omnigraph") for name in findings if _is_question(name)]
    times = {
        name: {peer: findings[f"{name}_{peer}"]["median_ms"] for peer in _PEERS} for name in names
    }
    return _bars(times)


def _is_question(name: str) -> bool:
    return name.startswith("q") and name.endswith("_omnigraph") and name[1].isdigit()


def _bars(times: Mapping[str, Mapping[str, float]]) -> str:
    every = [value for group in times.values() for value in group.values()]
    least, most = min(every, default=1.0) / 2, max(every, default=10.0)
    scale = (_WIDTH - _LEFT - 80) / (log10(most) - log10(least))
    rows: list[str] = []
    y = 40
    for name, group in times.items():
        label = escape(name.replace("_", " "))
        middle = y + _BAR * len(group) / 2 + 4
        rows.append(f'<text x="{_LEFT - 10}" y="{middle:.0f}" text-anchor="end">{label}</text>')
        for peer, value in group.items():
            width = (log10(value) - log10(least)) * scale
            rows.append(
                f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR - 2}" '
                f'fill="{_PEERS[peer]}"/><text x="{_LEFT + width + 6:.1f}" y="{y + 10}" '
                f'class="value">{value:.3g} ms</text>'
            )
            y += _BAR
        y += _GAP
    keys = "".join(
        f'<rect x="{_LEFT + 120 * place}" y="12" width="11" height="11" fill="{colour}"/>'
        f'<text x="{_LEFT + 16 + 120 * place}" y="22">{peer}</text>'
        for place, (peer, colour) in enumerate(_PEERS.items())
    )
    style = "text{font:12px sans-serif;fill:#334155}.value{font-size:10px}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {y}" width="{_WIDTH}" '
        f'height="{y}"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{keys}{"".join(rows)}</svg>\n'
    )


def _summary(found: list[Held]) -> str:
    counts = {word: sum(each.verdict == word for each in found) for word in ("pass", "short")}
    missing = len(found) - sum(counts.values())
    rest = f", {missing} not measured" if missing else ""
    return f"{counts['pass']} of {len(found)} figures pass, {counts['short']} fall short{rest}.\n"


def _table(found: list[Held]) -> str:
    rows = [
        f"| {each.figure.what} | {each.shown} | {each.figure.bound} | {_marked(each.verdict)} |"
        for each in found
    ]
    return "\n".join(["| figure | measured | asked | |", "|---|---|---|---|", *rows, ""])


def _marked(verdict: str) -> str:
    return verdict if verdict == "pass" else f"**{verdict}**"


def _runs() -> str:
    rows = []
    for run in stored_runs():
        packages = ", ".join(f"{name} {version}" for name, version in run["packages"].items())
        machine = f"{run['machine']['cores']} cores, Python {run['machine']['python']}"
        rows.append(f"| {run['workload']} | {run['at'][:16]} | {machine} | {packages} |")
    return "\n".join(["| workload | at | on | with |", "|---|---|---|---|", *rows, ""])
