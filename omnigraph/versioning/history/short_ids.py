"""Short ids: the commits that the beginning of an id, or its last eight characters, can mean."""

import re

import pyarrow.compute as pc

from omnigraph.versioning.commit import commit_row_id
from omnigraph.versioning.manifest.fresh import fresh_texts
from omnigraph.versioning.manifest.records import COMMIT_ROW
from omnigraph.versioning.repository import Repository

# What pages show of an id: its end, because ids of one hour begin alike.
SHOWN = 8
_SHORT = re.compile(r"[0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{8,25}")


def is_short(text: str) -> bool:
    """Whether a text may be part of an id: 8 characters of one, or more."""
    return len(text) >= SHOWN and _SHORT.fullmatch(text) is not None


def find_short(repository: Repository, text: str) -> list[str]:
    """Return the ids of the commits that a text can mean, in any case of its letters."""
    part = text.upper()
    at = repository.manifest.newest()
    rows = at.scan(["object_id"], pc.field("object_type") == COMMIT_ROW)
    every = {row.removeprefix(commit_row_id("")) for row in rows["object_id"].to_pylist()}
    found = (
        each
        for each in every | fresh_texts(at).keys()
        if each.startswith(part) or (len(part) == SHOWN and each.endswith(part))
    )
    return sorted(each for each in found if repository.manifest.is_published(each, at))
