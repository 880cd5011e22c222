"""Head: where one branch stands, and the text that the manifest stores for it."""

import json
from typing import TypeAlias

from omnigraph.frozen import dataclass
from omnigraph.versioning.record_decoder import RecordDecoder

BRANCH_KEY = "branch/"
# Stored for a branch that was deleted while a layer has its name.
GONE = "null"
_Stored: TypeAlias = tuple[str, str, int, int | None]
_decoder = RecordDecoder[_Stored](_Stored, "the head of a branch")


@dataclass(frozen=True, slots=True)
class Head:
    """Where a branch stands.

    `fragment` is where in the manifest the row of its commit is; None when it was a key.
    """

    name: str
    commit: str
    version: int
    fragment: int | None

    def encoded(self) -> str:
        """Return the head in the form in which the manifest stores it."""
        return json.dumps([self.name, self.commit, self.version, self.fragment])


def decode_head(text: str) -> Head | None:
    """Return the head that a text holds; None when it says that the branch is gone.

    Raises StorageError for another text.
    """
    return None if text == GONE else Head(*_decoder.read(text))
