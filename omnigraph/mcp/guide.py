"""Guide: the query language in few words, made from its own tables."""

from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("guide.md")


@cache
def guide_text() -> str:
    """Return the guide, with the functions that this release has."""
    from omnigraph.query.functions import FUNCTIONS

    functions = (f"- `{each.form}` on {each.takes}: {each.summary}" for each in FUNCTIONS.values())
    return _FILE.read_text(encoding="utf-8").replace("{functions}", "\n".join(functions))
