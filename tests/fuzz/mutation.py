"""Mutation: makes hostile texts from valid ones, and random JSON for parameters."""

import re
from collections.abc import Sequence
from random import Random

from tests.fuzz.corpus import ODD, SIGNS, WORDS

_PIECE = re.compile(r"\s+|\w+|\S")
_LONGEST = 20_000


def hostile_text(random: Random, corpus: Sequence[str]) -> str:
    """Return a text near to the corpus, or, now and then, random characters."""
    if random.random() < 0.05:
        return noise(random)
    pieces = _PIECE.findall(random.choice(corpus))
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5, 12))):
        pieces = _mutated(random, pieces, corpus)
    return "".join(pieces)[:_LONGEST]


def noise(random: Random) -> str:
    """Return random characters of all planes, signs and words."""
    chars = [chr(random.randrange(0x110000)) for _ in range(random.randrange(12))]
    bits = [random.choice((*SIGNS, *ODD, *WORDS)) for _ in range(random.randrange(30))]
    mixed = chars + bits
    random.shuffle(mixed)
    return random.choice(("", " ")).join(mixed)


def hostile_params(random: Random, names: Sequence[str]) -> dict[str, object]:
    """Return a JSON object with some of the parameters and some that do not exist."""
    known = [name for name in names if random.random() < 0.7]
    unknown = [random.choice(("", "S", "ss", "é", "$s"))] if random.random() < 0.2 else []
    return {name: _json(random, 0) for name in [*known, *unknown]}


def _mutated(random: Random, pieces: list[str], corpus: Sequence[str]) -> list[str]:
    start = random.randrange(len(pieces) + 1)
    end = min(len(pieces), start + random.choice((1, 1, 2, 5, 20)))
    cut = pieces[start:end]
    match random.randrange(8):
        case 0:
            return pieces[:start] + pieces[end:]
        case 1:
            return pieces[:end] + cut + pieces[end:]
        case 2:
            other = random.randrange(len(pieces) + 1)
            rest = pieces[:start] + pieces[end:]
            return rest[:other] + cut + rest[other:]
        case 3:
            second = _PIECE.findall(random.choice(corpus))
            return [*pieces[:start], *second[random.randrange(len(second)) :]]
        case 4:
            return [*pieces[:start], " ", random.choice(WORDS), " ", *pieces[end:]]
        case 5:
            return [*pieces[:start], random.choice((*SIGNS, *ODD)), *pieces[start:]]
        case 6:
            return [*pieces[:start], _repeated(random, cut), *pieces[end:]]
        case _:
            return _split(random, pieces, start)


def _repeated(random: Random, cut: list[str]) -> str:
    """Return a piece very often, or nested deeply."""
    count = random.choice((3, 30, 63, 64, 65, 66, 300))
    if random.random() < 0.5:
        return "".join(cut) * count
    opening, closing = random.choice(
        (("(", ")"), ("[", "]"), ("{", "}"), ("not ", ""), ("not {", "}"), ("optional {", "}"))
    )
    return opening * count + "".join(cut) + closing * random.choice((count, count - 1))


def _split(random: Random, pieces: list[str], at: int) -> list[str]:
    """Return the pieces with one character of one of them changed."""
    if at >= len(pieces):
        return pieces
    piece = pieces[at]
    place = random.randrange(len(piece) + 1)
    char = random.choice((*ODD, *SIGNS, "A", "z", "_", "9"))
    return [*pieces[:at], piece[:place] + char + piece[place + 1 :], *pieces[at + 1 :]]


def _json(random: Random, depth: int) -> object:
    scalars: tuple[object, ...] = (
        *(None, True, False, 0, -1, 1, 3, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**4_000),
        *(0.0, -0.0, 1.5, 1e300, 1e39, float("nan"), float("inf"), "", "a", "active", "left"),
        *(
            "9007199254740993",
            "-1",
            "1" * 30,
            "2024-01-31",
            "2024-02-30",
            "0000-00-00",
            "٢٠٢٤-٠١-٣١",
        ),
        *("2024-01-31T12:00:00Z", "2024-01-31T12:00:00+23:59", "9999-12-31T23:59:59-23:59"),
        *(
            "2024-01-31 12:00:60z",
            "0001-01-01T00:00:00+14:00",
            "base64:AAAA",
            "base64:A",
            "base64:é",
            "s3://b",
        ),
        *("\ud800", "a\x00b", "x" * 10_000),
    )
    if depth < 3 and random.random() < 0.25:
        items = [_json(random, depth + 1) for _ in range(random.randrange(5))]
        return items if random.random() < 0.8 else {str(at): each for at, each in enumerate(items)}
    return random.choice(scalars)
