"""Review record: what people said about a branch before it is merged, and what they decided."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Self

from omnigraph.errors import Json
from omnigraph.frozen import dataclass


class ReviewState(StrEnum):
    """How far the review of a branch has come."""

    OPEN = "open"
    CHANGES_ASKED = "changes_asked"
    APPROVED = "approved"
    MERGED = "merged"


COMMENT = "comment"


@dataclass(frozen=True, slots=True)
class ReviewedEntity:
    """What a comment is about: a type, a row of it, or a property of a row."""

    type: str
    id: str | None = None
    property: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the entity as JSON."""
        return {"type": self.type, "id": self.id, "property": self.property}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewEvent:
    """A comment, or a state that a review was given; `head` is the commit it was said about.

    Whoever may not read the branch `into` is not told it, nor the `commit` of the merge.
    """

    id: str
    at: int
    actor_id: str | None
    state: ReviewState | None
    message: str | None
    into: str | None
    head: str
    entity: ReviewedEntity | None = None
    commit: str | None = None

    def to_json(self) -> dict[str, Json]:
        """Return the event as JSON."""
        return {
            "id": self.id,
            "at": self.at,
            "actor_id": self.actor_id,
            "kind": COMMENT if self.state is None else "state",
            "state": None if self.state is None else str(self.state),
            "message": self.message,
            "into": self.into,
            "head": self.head,
            "entity": None if self.entity is None else self.entity.to_json(),
            "commit": self.commit,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the event that `to_json` wrote."""
        state, entity = document["state"], document["entity"]
        found = {name: each for name, each in document.items() if name != "kind"}
        return cls(
            **{
                **found,
                "state": None if state is None else ReviewState(state),
                "entity": None if entity is None else ReviewedEntity(**entity),
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The review of a branch: its state, the commit that was said about, and all that was said.

    A branch that moved since stands at another commit than `head`. Whoever may not read the branch
    `into` is not told it.
    """

    branch: str
    into: str | None
    state: ReviewState
    head: str
    events: tuple[ReviewEvent, ...]

    def __iter__(self) -> Iterator[ReviewEvent]:
        return iter(self.events)

    def to_json(self) -> dict[str, Json]:
        """Return the review as JSON."""
        return {
            "branch": self.branch,
            "into": self.into,
            "state": str(self.state),
            "head": self.head,
            "events": [each.to_json() for each in self.events],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the review that `to_json` wrote."""
        events = tuple(ReviewEvent.from_json(each) for each in document["events"])
        return cls(**{**document, "state": ReviewState(document["state"]), "events": events})


def review_of(branch: str, events: tuple[ReviewEvent, ...]) -> Review | None:
    """Return the review that some events make, oldest first; None without any.

    Comments alone make an open review.
    """
    if not events:
        return None
    last = next((each for each in reversed(events) if each.state is not None), events[0])
    state = last.state or ReviewState.OPEN
    return Review(branch=branch, into=last.into, state=state, head=last.head, events=events)
