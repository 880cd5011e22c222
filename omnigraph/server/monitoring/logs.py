"""Logs: one line of JSON for each thing that happened, with no token and no secret in it."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

from omnigraph.errors import Json, StorageError, StoreError

logger = logging.getLogger("omnigraph.server")
_LONGEST = 300


class Lines(logging.Formatter):
    """Formats records as lines of JSON, with the place of an exception but not its message."""

    def format(self, record: logging.LogRecord) -> str:
        found: dict[str, Json] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        return json.dumps({k: _short(v) for k, v in found.items()}, ensure_ascii=False)


def configure() -> None:
    """Make the server and uvicorn log to standard error, as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    for name in ("omnigraph.server", "uvicorn.error"):
        found = logging.getLogger(name)
        found.handlers, found.propagate = [handler], False
        found.setLevel(logging.INFO if name == "omnigraph.server" else logging.WARNING)


def log(event: str, **fields: Json) -> None:
    """Write a line about an event."""
    logger.info(event, extra={"fields": fields})


def warn(event: str, **fields: Json) -> None:
    """Write a line about something that should not be."""
    logger.warning(event, extra={"fields": fields})


def log_failure(request_id: str, failed: BaseException) -> None:
    """Write what kind of failure it was and where; its message may hold what nobody should see."""
    frames: list[Json] = [
        f"{Path(each.filename).name}:{each.lineno} {each.name}"
        for each in traceback.extract_tb(failed.__traceback__)[-8:]
    ]
    why: dict[str, Json] = {}
    if isinstance(failed, StorageError | StoreError) and failed.cause is not None:
        why = {"cause": failed.cause}
    kind = type(failed).__name__
    warn("failed", request_id=request_id, kind=kind, **why, frames=frames)


def _short(value: Json) -> Json:
    """Cut long texts, which come from clients."""
    return value[:_LONGEST] + "…" if isinstance(value, str) and len(value) > _LONGEST else value
