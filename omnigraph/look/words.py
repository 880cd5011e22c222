"""Words: numbers with their nouns."""


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: `1 branch`, `2,000 branches`, `3 queries`."""
    return f"{count:,} {noun if count == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return what several of a thing are called."""
    if noun.endswith("y"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("ch") else f"{noun}s"
