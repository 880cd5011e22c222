"""Mutation: makes hostile texts, bytes and JSON from valid ones."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from tests.fuzz.corpus import ODD, SIGNS, WORDS

_PIECE = re.compile(r"\s+|\w+|\S")
_LONGEST = 20_000
_ENCODINGS = ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be")
_ROUNDS = (1, 1, 1, 2, 2, 3, 5, 12)
_COUNTS = (3, 30, 63, 64, 65, 66, 300)
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"), ("not ", ""), ("not {", "}"), ("optional {", "}"))
_LETTERS = (*ODD, *SIGNS, "A", "z", "_", "9")
_BYTES = (0, 1, 0x7F, 0x80, 0xFF, *b'\n\r\t ",:{}[]-9')
_NUMBERS = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63 - 1, 2**63)
_SCALARS: tuple[object, ...] = (
    *(None, True, False, 0, -1, 1, 3, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**4_000),
    *(0.0, -0.0, 1.5, 1e300, 1e39, float("nan"), float("inf"), "", "a", "active", "left"),
    *("9007199254740993", "-1", "1" * 30, "2024-01-31", "2024-02-30", "0000-00-00", "٢٠٢٤-٠١-٣١"),
    *("2024-01-31T12:00:00Z", "2024-01-31T12:00:00+23:59", "9999-12-31T23:59:59-23:59"),
    *("2024-01-31 12:00:60z", "0001-01-01T00:00:00+14:00", "base64:AAAA", "base64:A", "base64:é"),
    *("s3://b", "\ud800", "a\x00b", "x" * 10_000),
)
# What `json.dumps` does not write: numbers too long to be read, and deep lists and objects.
_RAW = {
    '"@long"': "9" * 5_000,
    '"@float"': "-1e99999",
    '"@lists"': "[" * 2_000 + "]" * 2_000,
    '"@objects"': '{"a":' * 2_000 + "1" + "}" * 2_000,
}
_MEMBERS: tuple[object, ...] = (*_SCALARS, "é\u2028", [], {}, [[]], *(key[1:-1] for key in _RAW))
_NAMES = ("", "a", "type", "data", "é", "\x00", "\ud800", "__class__", "x" * 300)


@dataclass(frozen=True, slots=True)
class Language:
    """Valid texts, and the words and signs that are mixed into them."""

    texts: tuple[str, ...]
    words: tuple[str, ...] = WORDS
    signs: tuple[str, ...] = (*SIGNS, *ODD)


def hostile_text(random: Random, language: Language) -> str:
    """Return a text near to those of a language, or, now and then, random characters."""
    if random.random() < 0.05:
        return noise(random)
    pieces = _pieces(random.choice(language.texts))
    for _ in range(random.choice(_ROUNDS)):
        pieces = _mutated(random, pieces, language)
    return "".join(pieces)[:_LONGEST]


def hostile_file(random: Random, language: Language) -> bytes:
    """Return the bytes of a hostile text: in UTF-8, damaged, or in another encoding."""
    chosen = random.random()
    if chosen < 0.25:
        return hostile_bytes(random, [random.choice(language.texts).encode()])
    text = hostile_text(random, language)
    if chosen > 0.95:
        return text.encode(random.choice(_ENCODINGS), errors="replace")
    return text.encode(errors="surrogatepass")


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


def hostile_bytes(random: Random, corpus: Sequence[bytes]) -> bytes:
    """Return bytes near to those of a corpus: flipped, cut, inserted, repeated or joined."""
    data = bytearray(random.choice(corpus))
    for _ in range(random.choice(_ROUNDS)):
        _damage(random, data, corpus)
    return bytes(data[:_LONGEST])


def damaged(random: Random, data: bytes) -> bytes:
    """Return bytes of which one is another, or of which the end is missing."""
    at = random.randrange(len(data))
    if random.random() < 0.3:
        return data[:at]
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


def hostile_json(random: Random, corpus: Sequence[str]) -> str:
    """Return JSON in which members of a valid document are others, and sometimes no JSON."""
    document = json.loads(random.choice(corpus))
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        document = _changed(random, document)
    text = json.dumps(document, ensure_ascii=random.random() < 0.5)
    if "@" in text:
        for mark, raw in _RAW.items():
            text = text.replace(mark, raw)
    if random.random() < 0.2:
        at = random.randrange(len(text) + 1)
        text = text[:at] + random.choice(_LETTERS) * random.randrange(3) + text[at + 1 :]
    return text


def _changed(random: Random, document: Any) -> Any:
    """Return a document with one member replaced, removed, repeated, wrapped or renamed."""
    parent: Any = None
    place: Any = None
    found = document
    while isinstance(found, dict | list) and found and random.random() < 0.85:
        parent = found
        place = random.choice(list(found)) if isinstance(found, dict) else _at(random, found)
        found = found[place]
    if parent is None:
        return random.choice(_MEMBERS) if random.random() < 0.1 else document
    match random.randrange(6):
        case 0 | 1:
            parent[place] = random.choice(_MEMBERS)
        case 2:
            del parent[place]
        case 3:
            parent[place] = [found] if random.random() < 0.5 else {"a": found}
        case 4 if isinstance(parent, list):
            parent.insert(_at(random, parent), found)
        case 5 if isinstance(parent, dict):
            parent[random.choice((*_NAMES, *parent))] = parent.pop(place)
        case _:
            parent[place] = str(found) if random.random() < 0.5 else 0
    return document


def _at(random: Random, items: Sequence[object]) -> int:
    return random.randrange(len(items))


@cache
def _pieces(text: str) -> list[str]:
    return _PIECE.findall(text)


def _mutated(random: Random, pieces: list[str], language: Language) -> list[str]:
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
            second = _pieces(random.choice(language.texts))
            return [*pieces[:start], *second[random.randrange(len(second)) :]]
        case 4:
            return [*pieces[:start], " ", random.choice(language.words), " ", *pieces[end:]]
        case 5:
            return [*pieces[:start], random.choice(language.signs), *pieces[start:]]
        case 6:
            return [*pieces[:start], _repeated(random, cut), *pieces[end:]]
        case _:
            return _split(random, pieces, start)


def _repeated(random: Random, cut: list[str]) -> str:
    """Return a piece very often, or nested deeply."""
    count = random.choice(_COUNTS)
    if random.random() < 0.5:
        return "".join(cut) * count
    opening, closing = random.choice(_BRACKETS)
    return opening * count + "".join(cut) + closing * random.choice((count, count - 1))


def _split(random: Random, pieces: list[str], at: int) -> list[str]:
    """Return the pieces with one character of one of them changed."""
    if at >= len(pieces):
        return pieces
    piece = pieces[at]
    place = random.randrange(len(piece) + 1)
    char = random.choice(_LETTERS)
    return [*pieces[:at], piece[:place] + char + piece[place + 1 :], *pieces[at + 1 :]]


def _damage(random: Random, data: bytearray, corpus: Sequence[bytes]) -> None:
    """Change some bytes."""
    start = random.randrange(len(data) + 1)
    end = min(len(data), start + random.choice((1, 1, 2, 4, 8, 30, 200)))
    match random.randrange(10):
        case 0 | 1 | 2 if start < len(data):
            data[start] ^= 1 << random.randrange(8)
        case 3 if start < len(data):
            data[start] = random.choice(_BYTES)
        case 4:
            del data[start:end]
        case 5:
            del data[start:]
        case 6:
            data[start:start] = data[start:end] * random.choice((1, 1, 2, 30))
        case 7:
            size = random.choice((1, 2, 4, 8))
            number = random.choice(_NUMBERS) & (1 << 8 * size) - 1
            data[start : start + size] = number.to_bytes(size, random.choice(("little", "big")))
        case 8:
            other = random.choice(corpus)
            data[start:] = other[random.randrange(len(other) + 1) :]
        case _:
            data[start:start] = random.randbytes(random.choice((1, 1, 2, 4, 16)))


def _json(random: Random, depth: int) -> object:
    if depth < 3 and random.random() < 0.25:
        items = [_json(random, depth + 1) for _ in range(random.randrange(5))]
        return items if random.random() < 0.8 else {str(at): each for at, each in enumerate(items)}
    return random.choice(_SCALARS)
