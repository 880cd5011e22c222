"""Proposing: the tools by which a branch is handed over to reviewers, and their words come back."""

from typing import Annotated

from msgspec import Meta
from msgspec.structs import asdict

from omnigraph.errors import Json, OmniGraphError
from omnigraph.mcp.desk import ToolCall
from omnigraph.mcp.reading import Goes
from omnigraph.mcp.reviewing import merge_text
from omnigraph.mcp.table import Cursor, Page, question_of
from omnigraph.mcp.tool import Arguments, Tool
from omnigraph.mcp.wording import to_line
from omnigraph.policy.actions import Action
from omnigraph.versioning.commit import time_text
from omnigraph.versioning.names import MAIN

_Own = Annotated[str | None, Meta(description="default: your own")]


class ProposeArguments(Arguments, frozen=True, kw_only=True):
    """What `propose` takes."""

    message: Annotated[str, Meta(min_length=1, description="what changes, why, from where")]
    source: _Own = None
    into: str = MAIN


class ReviewArguments(Arguments, frozen=True, kw_only=True):
    """What `review` takes."""

    branch: _Own = None
    cursor: Goes = None


def propose(call: ToolCall, given: ProposeArguments) -> str:
    """Open the review of a branch, and return what its merge would do."""
    source = given.source or call.desk.to_write(None)
    found = call.graph.set_review(source, "open", given.message, into=given.into)
    try:
        preview = call.branch(given.into).preview_merge(source, **call.work)
        merge = merge_text(call, preview, "would be")
    except OmniGraphError as failed:  # the review is open all the same
        merge = f"what its merge would do cannot be told:\n{call.desk.tell(failed)}"
    head = f"proposed {to_line(source)} at commit {found.head}; the review is {found.state}"
    return f"{head}\n{merge}"


def review(call: ToolCall, given: ReviewArguments) -> str:
    """Return the state of a review, and what was said, newest last; a cursor leads to the older."""
    branch = given.branch or call.desk.to_write(None)
    found = call.graph.review_record(branch)
    if found is None:
        return f"nobody said anything about {to_line(branch)}"
    question = question_of("review", asdict(given))
    cursor = Cursor.read(given.cursor, question, commits=0)
    events = list(found)
    # The events before it, so that those that come meanwhile move nothing.
    count = len(events) if cursor is None else min(cursor.offset, len(events))
    columns = ["at", "actor", "state", "message", "about", "commit"]
    page = Page(columns, call.desk.tokens, len(events) - count)
    for each in reversed(events):
        about: Json = None if each.entity is None else each.entity.to_json()
        state = None if each.state is None else str(each.state)
        page.add([time_text(each.at), each.actor_id, state, each.message, about, each.head])
    into = "" if found.into is None else f" into {to_line(found.into)}"
    older = page.turn()
    more = f'; {older:,} older left out; cursor: "{Cursor(older, question)}"' if older else ""
    return page.text("events", note=f"{more}; {to_line(branch)}{into} is {found.state}")


TOOLS = (
    Tool(
        name="propose",
        about="Open the review of a branch, and show what a merge would do.",
        run=propose,
        arguments=ProposeArguments,
        needs=Action.REVIEW,
        writes=True,
    ),
    Tool(
        name="review",
        about="State of the review of a branch, and what reviewers said.",
        run=review,
        arguments=ReviewArguments,
    ),
)
