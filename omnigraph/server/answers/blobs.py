"""Blobs: the bytes of a Blob property as an answer, whole or a range of them."""

import re
from collections.abc import Mapping
from hashlib import blake2b

from omnigraph.api.operation import BYTES, JSON
from omnigraph.errors import BudgetError, InputError, RowNotFoundError
from omnigraph.read.blob import Blob
from omnigraph.server.call import Answer, ServerCall, WholeAnswer, json_answer
from omnigraph.server.limits import MIB
from omnigraph.server.refusal import Refusal, refusal_of

# What a browser is told: to save the bytes, and not to guess that they are a page or a script.
_AS_DATA = {"content-disposition": "attachment", "x-content-type-options": "nosniff"}
# No blob has a number of bytes with more digits.
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


def blob(call: ServerCall) -> Answer:
    """Send a Blob property: its bytes, or as rows have it for those who accept JSON."""
    found: Blob | None = call.backend.run(call.operation, call.options)
    if call.accept == JSON:
        body = json_answer(call.operation.answer(found, call.backend)).body
        length = {"content-length": str(len(body))}
        parts = (body[start : start + MIB] for start in range(0, len(body), MIB))
        return call.held(parts, JSON, 200, length)
    if found is None:
        raise RowNotFoundError(f"{call.operation.property} of '{call.operation.id}' is null")
    return _bytes(call, found)


def _bytes(call: ServerCall, found: Blob) -> Answer:
    size = found.size
    if size is None:
        raise InputError(
            f"the blob has no content, it refers to {found.uri}", hint="fetch it there"
        )
    tag = f'"{blake2b(found.text.encode(), digest_size=16).hexdigest()}"'
    headers = {**_AS_DATA, "etag": tag, "accept-ranges": "bytes"}
    if _names(call.conditions.get("if-none-match"), tag):
        return WholeAnswer(b"", BYTES, 304, headers)
    asked = _asked(call.conditions, tag, size)
    first, end = asked or (0, size)
    if end - first > call.limits.export_bytes:
        message = f"the blob is larger than {call.limits.export_bytes >> 20:,} MiB"
        hint = "ask for a range; who runs the server can raise its limit export_bytes"
        raise refusal_of(BudgetError(message, limit="bytes", hint=hint))
    headers["content-length"] = str(end - first)
    parts = found.chunks(offset=first, length=end - first)
    if asked is None:
        return call.held(parts, BYTES, 200, headers)
    headers["content-range"] = f"bytes {first}-{end - 1}/{size}"
    return call.held(parts, BYTES, 206, headers)


def _names(header: str | None, tag: str) -> bool:
    """Whether a list of tags has this one, weak or strong; `*` has all."""
    given = [] if header is None else [each.strip() for each in header.split(",")]
    return "*" in given or tag in given or f"W/{tag}" in given


def _asked(conditions: Mapping[str, str], tag: str, size: int) -> tuple[int, int] | None:
    """Return the first byte of the range that is asked for, and the one after its last.

    None is for all bytes: also where several ranges are asked for, or one of other content.
    """
    found = _RANGE.fullmatch(conditions.get("range", "").strip())
    if found is None or conditions.get("if-range", tag) != tag:
        return None
    first, last = found.groups()
    if not first and not last:
        return None
    start = int(first) if first else max(size - int(last), 0)
    end = min(int(last) + 1, size) if first and last else size
    if first and last and int(first) > int(last):
        return None
    if start >= size or (not first and not int(last)):
        message = f"the blob has {size} bytes"
        raise Refusal(416, "range", message, {"content-range": f"bytes */{size}"})
    return start, end
