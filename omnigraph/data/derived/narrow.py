"""Narrow: whole numbers in as few bytes as the largest of them needs."""

import numpy as np

# The kinds of the low bytes and of the rest, by how many bytes a number needs.
_PARTS = {
    1: ("<u1",),
    2: ("<u2",),
    3: ("<u2", "<u1"),
    4: ("<u4",),
    5: ("<u4", "<u1"),
    6: ("<u4", "<u2"),
}
_BYTES = 8


def narrow(numbers: "np.ndarray") -> "tuple[np.ndarray, ...]":
    """Return numbers of 64 bits as their low bytes and the rest, if any of them has more.

    Negative and very large ones stay as they are. Two arrays are widened in the time in which a
    checksum of the bytes that they save is computed.
    """
    needed = (int(numbers.max(initial=0)).bit_length() + 7) // 8
    kinds = _PARTS.get(max(needed, 1))
    if kinds is None or numbers.min(initial=0) < 0:
        return (numbers,)
    low, *rest = kinds
    words = _words(np.ascontiguousarray(numbers).view(low))
    return (words[:, 0].copy(), *(words[:, 1].astype(kind) for kind in rest))


def widen(parts: "tuple[np.ndarray, ...]", kind: str) -> "np.ndarray":
    """Return the numbers of which these are the low bytes and the rest, as 64 bits of a kind."""
    low, *rest = parts
    if not rest:
        return low.astype(kind, copy=False)
    found = np.zeros(len(low), kind)
    words = _words(found.view(low.dtype))
    words[:, 0], words[:, 1] = low, rest[0]
    return found


def _words(parts: "np.ndarray") -> "np.ndarray":
    """Return the parts of each number of 64 bits, the lowest first."""
    in_one = _BYTES // parts.itemsize
    return parts.reshape(len(parts) // in_one, in_one)
