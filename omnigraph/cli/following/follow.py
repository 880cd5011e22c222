"""Follow: the one loop: a source gives batches, each becomes one commit, bad rows are set aside.

A process can be killed between the commit of a batch and the moment at which its source knows
that. So a commit has an operation id that is made of what is ingested, and a source that gives
the same batch again changes nothing.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from omnigraph.cli.output import coloured, counted, loaded_line
from omnigraph.errors import OmniGraphError
from omnigraph.frozen import dataclass

if TYPE_CHECKING:
    from omnigraph.write.load.keywords import LoadKeywords
    from omnigraph.write.load.loaded import Loaded
    from omnigraph.write.load.sources.inputs import Data


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that become one commit: their name, themselves, and how they are loaded.

    `how` is called when they are: to read a file for its operation id can fail.
    """

    name: str
    data: "Data"
    how: "Callable[[], LoadKeywords]"


Ingest = Callable[[Batch], "Loaded"]


class BatchSource(Protocol):
    """Where batches come from."""

    def batches(self) -> Iterator[Batch | None]:
        """Yield batches as they come, and None whenever there is nothing; this has no end.

        The next one is asked for when the last one was kept or refused.
        """

    @property
    def is_done(self) -> bool:
        """Whether nothing is left of what was there."""

    def keep(self, batch: Batch, loaded: "Loaded") -> int:
        """Note that a batch is committed, and return how many units it had."""

    def refuse(self, batch: Batch, failed: OmniGraphError) -> int:
        """Set aside what an error is about, and return how many units; raise what is no fault."""

    def close(self) -> None:
        """Close the source."""


@dataclass(slots=True)
class Tally:
    """How many units of a source were ingested and set aside."""

    unit: str
    ingested: int = 0
    bad: int = 0

    def __str__(self) -> str:
        told = f"ingested {counted(self.ingested, self.unit)}"
        return f"{told}, set {counted(self.bad, self.unit)} aside" if self.bad else told


def follow(source: BatchSource, ingest: Ingest, tally: Tally, *, once: bool) -> None:
    """Ingest batches as they come; with `once`, until all that was there is done."""
    try:
        for batch in source.batches():
            if batch is not None:
                _take(source, ingest, tally, batch)
            elif once and source.is_done:
                return
    finally:
        source.close()


def _take(source: BatchSource, ingest: Ingest, tally: Tally, batch: Batch) -> None:
    try:
        loaded = ingest(batch)
        kept = source.keep(batch, loaded)
    except OmniGraphError as failed:
        tally.bad += source.refuse(batch, failed)
        return
    tally.ingested += kept
    if kept:
        click.echo(f"{batch.name}: {loaded_line(loaded)}")


def set_aside(place: Path, failed: OmniGraphError) -> None:
    """Report an error, and keep it beside the rows that were set aside."""
    place.with_name(f"{place.name}.error.json").write_text(json.dumps(failed.to_json(), indent=2))
    click.echo(coloured(f"{failed.render()}\n   = set aside as {place}"), err=True)
