"""Colours: a type keeps its colour wherever it is drawn."""

from collections.abc import Iterable

COLOURS = 10
_PRIME = 16_777_619


def colour_types(nodes: Iterable[str], edges: Iterable[str] = ()) -> dict[str, int]:
    """Return a colour for each type, nodes first, as the studio chooses them.

    Those of few types all differ, and a new type changes few others.
    """
    chosen: dict[str, int] = {}
    used = [0] * COLOURS
    for name in [*sorted(nodes), *sorted(edges)]:
        colour = _hash(name) % COLOURS
        least = min(used)
        while used[colour] != least:
            colour = (colour + 1) % COLOURS
        used[colour] += 1
        chosen[name] = colour
    return chosen


def _hash(text: str) -> int:
    value = 2_166_136_261
    for each in text:
        value = (value ^ ord(each)) * _PRIME & 0xFFFFFFFF
    return value
