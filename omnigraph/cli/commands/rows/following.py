"""Following: the options of `ingest --follow`, and what they start."""

import json
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import click

from omnigraph.cli import completing
from omnigraph.cli.commands.rows.how import load_keywords, refuse_for_server
from omnigraph.cli.following.follow import Batch, BatchSource, Ingest, Tally, follow
from omnigraph.cli.following.topic import SCHEME, parse_topic
from omnigraph.cli.session import Session
from omnigraph.cli.start import INTERRUPTED

if TYPE_CHECKING:
    from omnigraph.write.load.keywords import LoadKeywords
    from omnigraph.write.load.loaded import Loaded
    from omnigraph.write.load.sources.inputs import Data

_Command = TypeVar("_Command", bound=Callable[..., Any])

_MESSAGES, _BYTES, _SECONDS = 10_000, 32 << 20, 1.0
# Options that say something about topics of Kafka alone, with what they are unless given.
_OF_TOPICS = {
    "kafka_config": None,
    "aside": None,
    "skip_lost": False,
    "batch_messages": _MESSAGES,
    "batch_bytes": _BYTES,
    "batch_seconds": _SECONDS,
}
_OPTIONS = (
    click.option(
        "--follow",
        metavar="FOLDER|TOPIC",
        shell_complete=completing.files,
        help="Instead of --data: files as they appear in a folder, or the messages of "
        "kafka://HOST:PORT/TOPIC, until Ctrl-C.",
    ),
    click.option("--once", is_flag=True, help="With --follow: end when all that is there is done."),
    click.option(
        "--kafka-config",
        metavar="FILE",
        shell_complete=completing.files,
        help="With a topic: settings of the client, such as credentials, a name=value on each "
        "line.",
    ),
    click.option(
        "--aside",
        metavar="FOLDER",
        shell_complete=completing.files,
        help="With a topic: put bad messages there and go on; without it they end the command.",
    ),
    click.option(
        "--skip-lost",
        is_flag=True,
        help="With a topic: go on where it begins now, if messages were deleted unread.",
    ),
    click.option(
        "--batch-messages",
        type=click.IntRange(min=1),
        default=_MESSAGES,
        show_default=True,
        help="With a topic: the most messages of one commit.",
    ),
    click.option(
        "--batch-bytes",
        type=click.IntRange(min=1),
        default=_BYTES,
        show_default=True,
        help="With a topic: the most bytes of one commit, give or take a message.",
    ),
    click.option(
        "--batch-seconds",
        type=click.FloatRange(min=0),
        default=_SECONDS,
        show_default=True,
        help="With a topic: how long to wait for more messages of one commit.",
    ),
)


def follow_options(command: _Command) -> _Command:
    """Add the options of `--follow` to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def run_follow(session: Session, into: str, base: str, how: Mapping[str, Any]) -> None:
    """Ingest what comes into a branch, until Ctrl-C or until all is done."""
    _check(session, how)
    is_topic = how["follow"].startswith(SCHEME)
    made = _topic if is_topic else _folder
    tally, code = Tally("message" if is_topic else "file"), 0
    try:
        source, ingest = made(session, into, base, how)
        follow(source, ingest, tally, once=how["once"])
    except KeyboardInterrupt:
        click.echo("stopped", err=True)
        # Without `once` there is no other end.
        code = INTERRUPTED if how["once"] else 0
    click.echo(str(tally))
    raise click.exceptions.Exit(code or int(tally.bad > 0))


def _check(session: Session, how: Mapping[str, Any]) -> None:
    """Raise for options that do not go with --follow."""
    if session.as_json:
        message = "--follow prints a line for each commit, and --json one document; leave one out"
        raise click.UsageError(message)
    named = {"--data": how["data"], "--dry-run": how["dry_run"], "--report": how["report"]}
    wrong = next((name for name, given in named.items() if given), None)
    if wrong is not None:
        raise click.UsageError(f"--follow and {wrong} exclude each other")
    if how["mode"] == "overwrite":
        raise click.UsageError("each commit would overwrite the one before; use another --mode")
    if not how["follow"].startswith(SCHEME):
        check_no_topic(how)
    if session.address.is_remote:
        refuse_for_server(how)


def check_no_topic(how: Mapping[str, Any]) -> None:
    """Raise for options that are for topics alone."""
    wrong = next((name for name, usual in _OF_TOPICS.items() if how[name] != usual), None)
    if wrong is not None:
        option = f"--{wrong.replace('_', '-')}"
        raise click.UsageError(f"{option} is for --follow kafka://HOST:PORT/TOPIC")


def _folder(
    session: Session, into: str, base: str, how: Mapping[str, Any]
) -> tuple[BatchSource, Ingest]:
    from omnigraph.cli.following.inbox import Inbox

    graph = session.graph(writing=True)

    def load(data: "Data", **more: Unpack["LoadKeywords"]) -> "Loaded":
        with load_keywords(session, how) as keywords:
            keywords.update(more)
            kind = how["type_name"]
            return graph.ingest(data, branch=into, base=base, type=kind, **keywords).loaded

    def ingest(batch: Batch) -> "Loaded":
        return load(batch.data, **batch.how())

    # What is wrong with the options is the fault of no file.
    load(BytesIO(), dry_run=True)
    scope = json.dumps([into, base, how["mode"], how["type_name"]])
    return Inbox(Path(how["follow"]).absolute(), scope), ingest


def _topic(
    session: Session, into: str, base: str, how: Mapping[str, Any]
) -> tuple[BatchSource, Ingest]:
    from omnigraph.cli.following.reader import TopicLimits, TopicReader
    from omnigraph.cli.following.settings import read_settings
    from omnigraph.cli.following.stream import FollowedBranch, TopicStream

    topic = parse_topic(how["follow"])
    reader = TopicReader(
        topic,
        read_settings(how["kafka_config"], topic.brokers),
        TopicLimits(how["batch_messages"], how["batch_bytes"], how["batch_seconds"]),
        once=how["once"],
        skip_lost=how["skip_lost"],
    )
    graph = session.graph(writing=True)

    def ingest(batch: Batch) -> "Loaded":
        with load_keywords(session, how) as keywords:
            keywords.update(batch.how())
            # The branch is there: one that was deleted meanwhile is not made again by a part.
            return graph.load(batch.data, branch=into, type=how["type_name"], **keywords)

    aside = None if how["aside"] is None else Path(how["aside"]).absolute()
    return TopicStream(reader, FollowedBranch(graph, into, base), aside, how["message"]), ingest
