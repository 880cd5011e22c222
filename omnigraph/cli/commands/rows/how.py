"""How: what the options of `load` and `ingest` mean for a load, at hand and through a server."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from omnigraph.cli.session import Session
from omnigraph.errors import InputError

if TYPE_CHECKING:
    from omnigraph.write.load.keywords import LoadKeywords

_TABULAR = (".csv", ".parquet", ".arrow")
_NAMED = ("mode", "shown", "report", "dry_run", "message")


@contextmanager
def load_keywords(session: Session, how: Mapping[str, Any]) -> "Iterator[LoadKeywords]":
    """Yield the keywords that options mean, and show how far it is meanwhile."""
    from omnigraph.cli.progress import shown_progress

    with shown_progress() as progress:
        chosen = {name: how[name] for name in _NAMED}
        yield cast("LoadKeywords", {**chosen, **session.work_options(how, progress)})


def refuse_for_server(how: Mapping[str, Any]) -> None:
    """Raise InputError for rows and options that a server does not take."""
    if how["report"] is not None or how["engine"] != "auto":
        raise InputError("--report and --engine do not work through a server")
    hint = "load it where the graph itself is"
    for place in how["data"]:
        if "://" in place:
            message = f"only local files can be sent to a server, not '{place}'"
            raise InputError(message, hint=hint)
        if place.removesuffix(".gz").endswith(_TABULAR):
            raise InputError(f"a server takes JSON lines only, not '{place}'", hint=hint)
