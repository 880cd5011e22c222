"""Layout: places of the types of a schema in layers, in groups below each other that fit a page."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from omnigraph.frozen import dataclass

BOX_WIDTH, BOX_HEIGHT = 180, 48
_GAP_X, _GAP_Y, _BEND_HEIGHT, _MARGIN, _BETWEEN = 100, 30, 10, 28, 40
# Room for the lines beside the last column.
_BESIDE = 72
# Four columns are as wide as a page on which their names can be read.
_MOST_COLUMNS = 4
_SWEEPS = 8

Link = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the drawing."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The left upper corners of boxes by name, where lines pass between boxes, and the size."""

    boxes: Mapping[str, Point]
    bends: Mapping[Link, Sequence[Point]]
    width: float
    height: float


@dataclass(eq=False, slots=True)
class _Item:
    """What stands in a column: a box, or the gap through which a long line goes."""

    name: str | None
    link: Link | None = None
    near: list["_Item"] = field(default_factory=list)

    @property
    def height(self) -> int:
        return BOX_HEIGHT if self.link is None else _BEND_HEIGHT


def lay_out(names: Sequence[str], links: Iterable[Link]) -> Layout:
    """Return places for all names; those that links join stand together, those of none come last.

    Links of a name to itself need no place.
    """
    joined = [each for each in dict.fromkeys(links) if each[0] != each[1]]
    groups = _groups(names, joined)
    boxes: dict[str, Point] = {}
    bends: dict[Link, list[Point]] = {}
    width, top = 0.0, float(_MARGIN)
    for group in [each for each in groups if len(each) > 1]:
        inside = set(group)
        own = [each for each in joined if each[0] in inside]
        columns = _with_bends(_columns(group, own), own)
        _untangle(columns)
        height = max(map(_column_height, columns))
        _place(columns, top, height, boxes, bends)
        width = max(width, _width(len(columns)) + _room_beside(columns[-1], own))
        top += height + _BETWEEN
    alone = [each[0] for each in groups if len(each) == 1]
    for place, name in enumerate(alone):
        row, column = divmod(place, _MOST_COLUMNS)
        boxes[name] = Point(_left(column), top + row * (BOX_HEIGHT + _GAP_Y))
        width = max(width, _width(column + 1))
    if alone:
        top += math.ceil(len(alone) / _MOST_COLUMNS) * (BOX_HEIGHT + _GAP_Y) - _GAP_Y + _BETWEEN
    return Layout(boxes, bends, width, top - _BETWEEN + _MARGIN)


def _left(column: int) -> float:
    return float(_MARGIN + column * (BOX_WIDTH + _GAP_X))


def _width(columns: int) -> float:
    return columns * (BOX_WIDTH + _GAP_X) - _GAP_X + _MARGIN * 2


def _room_beside(column: Sequence[_Item], links: Iterable[Link]) -> int:
    names = {item.name for item in column}
    return _BESIDE if any(one in names and other in names for one, other in links) else 0


def _groups(names: Sequence[str], links: Iterable[Link]) -> list[list[str]]:
    """Return the names that links join, directly or not, largest group first."""
    leaders = {name: name for name in names}

    def leader(name: str) -> str:
        while leaders[name] != name:
            leaders[name] = leaders[leaders[name]]
            name = leaders[name]
        return name

    for source, target in links:
        leaders[leader(source)] = leader(target)
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(leader(name), []).append(name)
    return sorted(groups.values(), key=len, reverse=True)


def layers_of(names: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """Return the layer of each name; links that would close a circle are left out of the count."""
    following: dict[str, list[str]] = {name: [] for name in names}
    incoming = dict.fromkeys(names, 0)
    for source, target in links:
        following[source].append(target)
        incoming[target] += 1
    kept: dict[str, list[str]] = {}
    order: list[str] = []
    for name in sorted(names, key=incoming.__getitem__):
        if name not in kept:
            _visit(name, following, kept, order)
    layers = dict.fromkeys(names, 0)
    for name in reversed(order):
        for target in kept[name]:
            layers[target] = max(layers[target], layers[name] + 1)
    return layers


def _visit(
    start: str,
    following: Mapping[str, Sequence[str]],
    kept: dict[str, list[str]],
    order: list[str],
) -> None:
    """Note what is reached from a name, deepest first, without a way back to where one is."""
    kept[start] = []
    done = set(order)
    waiting = [(start, iter(following[start]))]
    while waiting:
        name, rest = waiting[-1]
        target = next(rest, None)
        if target is None:
            waiting.pop()
            order.append(name)
            done.add(name)
            if waiting:
                kept[waiting[-1][0]].append(name)
        elif target in done:
            kept[name].append(target)
        elif target not in kept:
            kept[target] = []
            waiting.append((target, iter(following[target])))


def _columns(names: Sequence[str], links: Sequence[Link]) -> list[list[str]]:
    """Return the names of each column: layers, cut or joined to as many as a page is wide."""
    layers = layers_of(names, links)
    columns: list[list[str]] = [[] for _ in range(max(layers.values()) + 1)]
    for name in names:
        columns[layers[name]].append(name)
    if len(columns) > _MOST_COLUMNS:
        columns = _join(columns, links)
    tallest = max(4, math.ceil(math.sqrt(len(names)) * 1.2))
    while len(columns) < _MOST_COLUMNS and max(map(len, columns)) > tallest:
        at = max(range(len(columns)), key=lambda each: len(columns[each]))
        half = math.ceil(len(columns[at]) / 2)
        columns[at : at + 1] = [columns[at][:half], columns[at][half:]]
    return columns


def _join(layers: Sequence[list[str]], links: Sequence[Link]) -> list[list[str]]:
    """Return layers joined to as many columns as fit, with few links inside and alike in height."""
    layer_of = {name: at for at, layer in enumerate(layers) for name in layer}
    inside = [tuple(sorted((layer_of[one], layer_of[other]))) for one, other in links]
    mean = len(layer_of) / _MOST_COLUMNS

    def cost(first: int, end: int) -> float:
        held = sum(first <= low and high < end for low, high in inside)
        return 3 * held + sum(map(len, layers[first:end])) ** 2 / mean

    best: list[tuple[float, tuple[int, ...]]] = [(cost(0, end), (0,)) for end in _ends(layers)]
    for _ in range(_MOST_COLUMNS - 1):
        best = [
            min(
                [
                    best[end - 1],
                    *(
                        (best[at - 1][0] + cost(at, end), (*best[at - 1][1], at))
                        for at in range(1, end)
                    ),
                ]
            )
            for end in _ends(layers)
        ]
    cuts = [*best[-1][1], len(layers)]
    return [[name for layer in layers[one:end] for name in layer] for one, end in pairwise(cuts)]


def _ends(layers: Sequence[object]) -> range:
    return range(1, len(layers) + 1)


def _with_bends(columns: Sequence[Sequence[str]], links: Sequence[Link]) -> list[list[_Item]]:
    """Return the columns as items, with a gap in each column that a link passes."""
    items = [[_Item(name) for name in column] for column in columns]
    places = {
        item.name: (at, item) for at, column in enumerate(items) for item in column if item.name
    }
    for link in links:
        (start, last), (end, target) = places[link[0]], places[link[1]]
        step = 1 if end > start else -1
        for column in range(start + step, end, step) if start != end else ():
            bend = _Item(None, link, [last])
            last.near.append(bend)
            items[column].append(bend)
            last = bend
        last.near.append(target)
        target.near.append(last)
    return items


def _untangle(columns: list[list[_Item]]) -> None:
    """Order each column by the middle of the neighbours in other columns, which uncrosses links."""
    height: dict[_Item, float] = {}

    def measure(column: Sequence[_Item]) -> None:
        height.update({item: (at + 0.5) / len(column) for at, item in enumerate(column)})

    for column in columns:
        measure(column)
    for sweep in range(_SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            own = set(column)
            middles = {item: _middle(item, own, height) for item in column}
            column.sort(key=middles.__getitem__)
            measure(column)


def _middle(item: _Item, own: set[_Item], height: Mapping[_Item, float]) -> float:
    others = [height[each] for each in item.near if each not in own]
    return sum(others) / len(others) if others else height[item]


def _column_height(column: Sequence[_Item]) -> float:
    return sum(item.height + _GAP_Y for item in column) - _GAP_Y


def _place(
    columns: Sequence[Sequence[_Item]],
    top: float,
    height: float,
    boxes: dict[str, Point],
    bends: dict[Link, list[Point]],
) -> None:
    for across, column in enumerate(columns):
        y = top + (height - _column_height(column)) / 2
        for item in column:
            if item.name is not None:
                boxes[item.name] = Point(_left(across), y)
            elif item.link is not None:
                middle = Point(_left(across) + BOX_WIDTH / 2, y + _BEND_HEIGHT / 2)
                bends.setdefault(item.link, []).append(middle)
            y += item.height + _GAP_Y
    for (source, target), points in bends.items():
        if source in boxes and target in boxes:
            points.sort(key=lambda each: each.x, reverse=boxes[source].x > boxes[target].x)
