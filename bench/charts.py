"""Charts: bars as SVG, the same for the same numbers: times on a logarithmic scale, and growth."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH, LEFT, BAR, GAP, HEAD = 860, 270, 13, 14, 64
_STYLE = (
    "text{font:12px sans-serif;fill:#334155}.value{font-size:10px}.unit{font-size:11px}"
    ".title{font-size:14px;font-weight:bold}.grid{stroke:#e2e8f0}.zero{stroke:#64748b}"
)


@dataclass(frozen=True, slots=True)
class Series:
    """The bars of one colour."""

    name: str
    colour: str


@dataclass(frozen=True, slots=True)
class Axis:
    """From which value to which the bars go, and where lines with a label stand."""

    first: float
    last: float
    lines: tuple[tuple[float, str], ...]
    unit: str

    def at(self, value: float) -> float:
        """Return where a value is, from the left side of the chart."""
        share = (value - self.first) / (self.last - self.first)
        return LEFT + max(0.0, min(1.0, share)) * (WIDTH - LEFT - 90)


Values = Mapping[str, Mapping[str, float]]


def times(title: str, series: tuple[Series, ...], values: Values) -> str:
    """Return milliseconds as bars whose length is the logarithm of them."""
    every = [value for group in values.values() for value in group.values()] or [1.0]
    first, last = (
        floor(log10(min(every))),
        max(ceil(log10(max(every))), floor(log10(min(every))) + 1),
    )
    lines = tuple((float(power), f"{10.0**power:,g}") for power in range(first, last + 1))
    axis = Axis(first, last, lines, "milliseconds, logarithmic; shorter is faster")
    bars = {
        name: {key: (log10(value), f"{value:.3g} ms") for key, value in group.items()}
        for name, group in values.items()
    }
    return _chart(title, series, axis, bars, base=first)


def growth(title: str, series: tuple[Series, ...], values: Values) -> str:
    """Return exponents as bars on both sides of zero."""
    lines = ((0.0, "0: flat"), (0.5, "0.5: root"), (1.0, "1: linear"))
    axis = Axis(-0.25, 1.25, lines, "growth exponent; flat means that size does not matter")
    bars = {
        name: {key: (value, f"{round(value, 2) + 0.0:.2f}") for key, value in group.items()}
        for name, group in values.items()
    }
    return _chart(title, series, axis, bars, base=0.0)


def _chart(
    title: str,
    series: tuple[Series, ...],
    axis: Axis,
    bars: Mapping[str, Mapping[str, tuple[float, str]]],
    *,
    base: float,
) -> str:
    height = HEAD + sum(BAR * len(group) + GAP for group in bars.values()) + 34
    parts = [
        f'<text x="12" y="22" class="title">{escape(title)}</text>',
        *_keys(series),
        *_lines(axis, height - 34, base),
        *_groups(series, axis, bars, base),
        f'<text x="{axis.at(axis.first)}" y="{height - 4}" class="unit">{escape(axis.unit)}</text>',
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" aria-label="{escape(title)}"><style>{_STYLE}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _keys(series: tuple[Series, ...]) -> Iterator[str]:
    for place, each in enumerate(series):
        x = LEFT + 145 * place
        yield f'<rect x="{x}" y="36" width="11" height="11" fill="{each.colour}"/>'
        yield f'<text x="{x + 16}" y="46">{escape(each.name)}</text>'


def _lines(axis: Axis, bottom: int, base: float) -> Iterator[str]:
    for value, label in axis.lines:
        x, kind = axis.at(value), "zero" if value == base else "grid"
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{HEAD - 8}" y2="{bottom}" class="{kind}"/>'
        place = f'x="{x:.1f}" y="{bottom + 13}" text-anchor="middle"'
        yield f'<text {place} class="value">{label}</text>'


def _groups(
    series: tuple[Series, ...],
    axis: Axis,
    bars: Mapping[str, Mapping[str, tuple[float, str]]],
    base: float,
) -> Iterator[str]:
    colours = {each.name: each.colour for each in series}
    y = HEAD
    for name, group in bars.items():
        middle = y + BAR * len(group) / 2 + 3
        yield f'<text x="{LEFT - 12}" y="{middle:.0f}" text-anchor="end">{escape(name)}</text>'
        for key, (value, label) in group.items():
            left, right = sorted((axis.at(base), axis.at(value)))
            width = max(right - left, 1.0)
            yield (
                f'<rect x="{left:.1f}" y="{y}" width="{width:.1f}" height="{BAR - 2}" '
                f'fill="{colours[key]}"/><text x="{left + width + 6:.1f}" y="{y + 10}" '
                f'class="value">{label}</text>'
            )
            y += BAR
        y += GAP
