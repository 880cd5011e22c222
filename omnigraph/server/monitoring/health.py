"""Health: whether the server at an address of this machine answers."""

import json
import time
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from ipaddress import ip_address

_PAUSE_SECONDS = 0.1
_MOST_BYTES = 65_536


def health_problem(host: str, port: int, *, seconds: float) -> str | None:
    """Return None as soon as the server answers, else what was wrong when the time was over."""
    end = time.monotonic() + seconds
    address = _reachable(host.strip("[]"))
    while True:
        problem = _problem(address, port, max(_PAUSE_SECONDS, end - time.monotonic()))
        if problem is None or time.monotonic() + _PAUSE_SECONDS > end:
            return problem
        time.sleep(_PAUSE_SECONDS)


def _reachable(host: str) -> str:
    """Return an address at which this machine reaches a server that listens at `host`."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not address.is_unspecified:
        return host
    return "127.0.0.1" if address.version == 4 else "::1"


def _problem(address: str, port: int, seconds: float) -> str | None:
    try:
        with closing(HTTPConnection(address, port, timeout=seconds)) as connection:
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            status, body = answer.status, answer.read(_MOST_BYTES)
    except OSError as failed:
        return str(failed)
    except HTTPException as failed:
        return f"{type(failed).__name__}: {failed}"
    if status == 200 and _field(body, "status") == "ok":
        return None
    # A server that takes requests by certain names alone refuses this one; so it does answer.
    if status == 400 and _field(body, "code") == "bad_host":
        return None
    return "another program answers" if status == 200 else f"it answers with {status}"


def _field(body: bytes, name: str) -> object:
    try:
        document = json.loads(body)
    except ValueError:
        return None
    return document.get(name) if isinstance(document, dict) else None
