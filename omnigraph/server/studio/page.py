"""Page: the files of the page, its token, and what it may offer."""

import gzip
from functools import cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta

import omnigraph
from omnigraph.api.operation import NO_PARTS, Audience, Key, Parts, SentFields, Shape
from omnigraph.frozen import dataclass
from omnigraph.server.call import Answer, ServerCall, WholeAnswer, json_answer
from omnigraph.server.handlers import ListedGraphShape
from omnigraph.server.refusal import Refusal
from omnigraph.server.routes.route import Route
from omnigraph.versioning.names import MAIN

HTML = "text/html; charset=utf-8"
# Files below it have a digest of their content in their names.
HASHED = "assets/"
_FOLDER = Path(omnigraph.__file__).parent / "studio"
_START = "index.html"
_FEWEST_COMPRESSED = 1_000
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "vary": "accept-encoding",
}
# Not those of the machine, which may know others or none.
_KINDS = {
    ".html": HTML,
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".map": "application/json; charset=utf-8",
    ".webmanifest": "application/manifest+json; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
}
_MISSING = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>OmniGraph Studio</title>
<h1>The studio is not built</h1>
<p>This is a checkout of the source, and the page is not part of it.</p>
<p>Run <code>make studio</code> in the checkout and load this page again, or install a release.</p>
</html>
"""


class ConfigShape(Shape, frozen=True, kw_only=True):
    """What is served, and what the actor may do to a branch of a graph.

    A server of one graph names it as `graph`. One of a deployment lists those that the actor may
    see; `may` is about the graph that was asked for.
    """

    product: str
    version: str
    graph: str | None
    graphs: list[ListedGraphShape] | None
    actor_id: str | None
    branch: str
    may: list[str]


class TokenShape(Shape, frozen=True, kw_only=True):
    """The token for a browser, and who acts by it."""

    token: str
    actor_id: str


class ConfigQuery(SentFields, frozen=True, kw_only=True):
    """The graph and the branch on which rights are asked for."""

    graph: Key | None = None
    branch: Key = MAIN


class SessionBody(SentFields, frozen=True, kw_only=True):
    """The code of an address that `omnigraph studio` opened."""

    code: Annotated[str, Meta(min_length=1, max_length=200)]


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the page, as it is and compressed."""

    body: bytes
    media_type: str
    packed: bytes | None

    @classmethod
    def read(cls, path: Path) -> "_File":
        body = path.read_bytes()
        kind = _KINDS.get(path.suffix, "application/octet-stream")
        is_packed = kind.endswith("utf-8") and len(body) >= _FEWEST_COMPRESSED
        return cls(body, kind, gzip.compress(body, 9, mtime=0) if is_packed else None)


@cache
def _files(folder: Path, _: int) -> dict[str, Path]:
    """Return the files of the page by their names in an address; nothing else can be read."""
    found = (each for each in sorted(folder.rglob("*")) if each.is_file())
    return {each.relative_to(folder).as_posix(): each for each in found}


@cache
def _read(path: Path, _: int) -> _File:
    return _File.read(path)


def page(call: ServerCall) -> Answer:
    """Return a file of the page for a browser; a path of no file is one of its rooms."""
    name = call.params.get("path", "")
    start = _FOLDER / _START
    if not start.is_file():
        return WholeAnswer(_MISSING, HTML, headers=_HEADERS)
    # A build that replaces the files replaces the first page last.
    built = start.stat().st_mtime_ns
    files = _files(_FOLDER, built)
    path = files.get(name)
    if path is None and name.startswith(HASHED):
        raise Refusal(404, "no_route", "the page has no such file")
    found = _read(path or start, built)
    is_hashed = path is not None and name.startswith(HASHED)
    caching = "public, max-age=31536000, immutable" if is_hashed else "no-cache"
    headers = {**_HEADERS, "cache-control": caching}
    if found.packed is not None and call.takes_gzip:
        headers["content-encoding"] = "gzip"
        return WholeAnswer(found.packed, found.media_type, headers=headers)
    return WholeAnswer(found.body, found.media_type, headers=headers)


def session(call: ServerCall) -> Answer:
    """Return the token for a code of `omnigraph studio`; it is void after one use or 60 s."""
    found = call.about.hand_over(call.sent.code)
    if found is None:
        message = "this code was used, is too old, or is not of this server"
        raise Refusal(401, "unauthorized", message, {"WWW-Authenticate": "Bearer"})
    return json_answer(found)


def config(call: ServerCall) -> Answer:
    """Return what is served, and what the actor may do to a branch."""
    sent = call.sent
    return json_answer(
        {
            "product": "OmniGraph",
            "version": omnigraph.__version__,
            **call.overview.offered(call.actor, sent.graph, sent.branch),
            "actor_id": call.actor,
            "branch": sent.branch,
        }
    )


ROUTES = (
    Route(
        method="GET",
        path="/studio/config.json",
        name="studio_config",
        guard=Audience.ACTORS,
        answer=ConfigShape,
        handler=config,
        errors=(404,),
        parts=Parts((), ConfigQuery),
    ),
    Route(
        method="POST",
        path="/studio/session",
        name="studio_session",
        guard=Audience.ANYBODY,
        answer=TokenShape,
        handler=session,
        errors=(401,),
        parts=Parts((), NO_PARTS.query, SessionBody),
    ),
    Route(
        method="GET",
        path="/studio",
        name="studio",
        guard=Audience.ANYBODY,
        answer=HTML,
        handler=page,
        is_page=True,
    ),
    Route(
        method="GET",
        path="/studio/{path:path}",
        name="studio_file",
        guard=Audience.ANYBODY,
        answer=HTML,
        handler=page,
        errors=(404,),
        parts=Parts(("path",), NO_PARTS.query),
        is_page=True,
    ),
)
