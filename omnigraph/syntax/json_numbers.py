"""JSON numbers: refuses what Python reads as a number and JSON does not have, or no float holds."""

import math


def parse_finite(text: str) -> float:
    """Return the float of a JSON number; raise ValueError for one that would be infinite."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large a number")
    return number


def refuse_constant(name: str) -> object:
    """Raise ValueError for NaN and Infinity."""
    raise ValueError(f"{name} is not a number")
