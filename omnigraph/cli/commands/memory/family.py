"""Family: the family `memory`: facts with their sources, true for a time."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from omnigraph.cli.session import Session, branch_option, graph_options

if TYPE_CHECKING:
    from datetime import date

    from omnigraph.memory import Contradiction, Fact, Remembered

_DAY = click.DateTime(formats=["%Y-%m-%d"])
_MESSAGE = click.option("--message", metavar="TEXT", help="Why; noted with the commit.")


@click.group()
def memory() -> None:
    """Facts with sources, of a graph with the types of `omnigraph example memory`."""


@memory.command()
@click.argument("question")
@click.option("--about", multiple=True, metavar="NAME", help="Only about this entity; repeatable.")
@click.option("--on", type=_DAY, metavar="DAY", help="What was true then.  [default: today]")
@click.option(
    "--limit",
    type=click.IntRange(1, 100),
    default=10,
    help="Show at most this many.  [default: 10]",
)
@branch_option
@graph_options
def recall(session: Session, question: str, branch: str | None, **how: Any) -> None:  # noqa: ANN401
    """Show what answers a QUESTION, best first: by words, by meaning and by how new it is."""
    from omnigraph.memory import Memory

    found = Memory(session.graph(), session.branch(branch)).recall(
        question, about=how["about"], on=_day(how["on"]), limit=how["limit"]
    )
    notes = [f"note: {each}" for each in found.notes]
    lines = [_fact_line(each) for each in found]
    session.show(found.to_json(), *(lines or ["nothing is known"]), *notes)


@memory.command()
@click.argument("text")
@click.option(
    "--about",
    multiple=True,
    required=True,
    metavar="NAME",
    help="An entity, by id or name; repeatable.",
)
@click.option("--source", required=True, metavar="TITLE", help="Where it was said, by id or title.")
@click.option("--since", type=_DAY, metavar="DAY", help="True from this day on.  [default: today]")
@click.option("--until", type=_DAY, metavar="DAY", help="True before this day.")
@click.option("--attribute", metavar="NAME", help="What has one value at a time.")
@click.option("--value", metavar="TEXT", help="The value of the attribute.")
@click.option(
    "--replaces",
    multiple=True,
    metavar="FACT",
    help="A fact that ends where this one begins; repeatable.",
)
@branch_option
@_MESSAGE
@graph_options
def remember(session: Session, text: str, branch: str | None, **how: Any) -> None:  # noqa: ANN401
    """Note TEXT as one fact, and show what it contradicts.

    Entities and sources that are not there yet are made.
    """
    from omnigraph.memory import Memory

    graph = session.graph(writing=True)
    done = Memory(graph, session.branch(branch), message=how["message"]).remember(
        text,
        about=how["about"],
        source=how["source"],
        since=_day(how["since"]),
        until=_day(how["until"]),
        attribute=how["attribute"],
        value=how["value"],
        replaces=how["replaces"],
    )
    session.show(done.to_json(), *_done_lines(done))


@memory.command()
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000),
    default=50,
    help="Show at most this many.  [default: 50]",
)
@branch_option
@graph_options
def contradictions(session: Session, limit: int, branch: str | None) -> None:
    """Show facts that give one attribute of an entity different values at one time."""
    from omnigraph.memory import Memory

    found = Memory(session.graph(), session.branch(branch)).contradictions(limit=limit)
    lines = [_pair_line(each) for each in found]
    document = {"contradictions": [each.to_json() for each in found]}
    session.show(document, *(lines or ["no contradictions"]))


@memory.command()
@click.argument("fact")
@click.option("--until", type=_DAY, metavar="DAY", help="True before this day.  [default: today]")
@branch_option
@_MESSAGE
@graph_options
def end(
    session: Session, fact: str, until: datetime | None, branch: str | None, message: str | None
) -> None:
    """End a FACT; it stays, and answers for the time before."""
    from omnigraph.memory import Memory

    name = session.branch(branch)
    done = Memory(session.graph(writing=True), name, message=message).end(fact, until=_day(until))
    line = f"ended {fact} on {name}" if done is not None else f"{fact} ended then already"
    session.show({"fact": fact, "branch": name, "commit": done}, line)


def _day(given: datetime | None) -> "date | None":
    return None if given is None else given.date()


def _fact_line(fact: "Fact") -> str:
    until = "" if fact.until is None else f" until {fact.until}"
    about, sources = ", ".join(fact.about), ", ".join(fact.sources)
    return f"{fact.id}  {fact.text}  ({about}; since {fact.since}{until}; {sources})"


def _pair_line(each: "Contradiction") -> str:
    one, other = each.one, each.other
    return f"{each.entity}  {each.attribute}: {one.value} ({one.id}) or {other.value} ({other.id})"


def _done_lines(done: "Remembered") -> list[str]:
    verb = "remembered" if done.is_new else "known already:"
    new = f", new: {', '.join(done.new)}" if done.new else ""
    ended = f", ended: {', '.join(done.ended)}" if done.ended else ""
    twins = [f"may be one: {one} and {other}; see omnigraph resolve" for one, other in done.twins]
    pairs = [f"contradicts: {_pair_line(each)}" for each in done.contradictions]
    return [f"{verb} {done.fact} on {done.branch}{new}{ended}", *twins, *pairs]
