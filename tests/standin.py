"""Stand-in: a small S3 server in memory that counts, forgets If-None-Match, or loses replies."""

import hashlib
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

from tests.listening import QuietHandler, QuietServer, address_of, listening

_NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
# When what was there from the start was written, in seconds since 1970.
_LONG_AGO = 1_767_225_600.0

Reply: TypeAlias = tuple[int, bytes, dict[str, str]]


@dataclass
class Bucket:
    """All objects of the server, what was asked of it, and how it misbehaves.

    `loses` names the writes whose reply is lost: the connection is closed, or with `answers`
    an internal error is told. `drops` names the writes that time out before they are done;
    `late` keeps them, so that a test can let them arrive. By method and key, requests are `silent`,
    which are never answered, or `resets`, whose connection is closed before anything is done.
    `refuses` is the status, the code and the message with which every request is refused. Each
    request takes `pause` seconds, and `together` is the most that did so at the same time.
    """

    honours_create: bool = True
    objects: dict[str, bytes] = field(default_factory=dict)
    written: dict[str, float] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    loses: Callable[[str], bool] = lambda _: False
    drops: Callable[[str], bool] = lambda _: False
    answers: bool = False
    silent: Callable[[str, str], bool] = lambda *_: False
    refuses: tuple[int, str, str] | None = None
    resets: Callable[[str, str], bool] = lambda *_: False
    pause: float = 0.0
    waiting: int = 0
    together: int = 0
    sent: int = 0
    ended: threading.Event = field(default_factory=threading.Event)
    late: list[tuple[str, bytes, bool]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, key: str, body: bytes, only_new: bool) -> bool:
        """Store an object; False when it should only be created and is there already."""
        with self.lock:
            if only_new and self.honours_create and key in self.objects:
                return False
            self.objects[key], self.written[key] = body, time.time()
            return True

    def date_of(self, key: str) -> float:
        """Return when an object was written, in seconds since 1970."""
        return self.written.get(key, _LONG_AGO)

    def arrive(self) -> list[bool]:
        """Do the writes that were dropped, and tell which of them were taken."""
        late, self.late = self.late, []
        return [self.put(*each) for each in late]

    def behave(self) -> None:
        """Answer everything from now on."""
        self.refuses = None
        self.loses = self.drops = lambda _: False

    def take_time(self) -> None:
        """Let a request take its time, beside the others."""
        if not self.pause:
            return
        with self.lock:
            self.waiting += 1
            self.together = max(self.together, self.waiting)
        time.sleep(self.pause)
        with self.lock:
            self.waiting -= 1

    @contextmanager
    def counted(self) -> Iterator[Counter[str]]:
        """Count the requests made inside, by method; a listing counts as LIST."""
        before, seen = Counter(self.asked), Counter[str]()
        yield seen
        seen.update(self.asked - before)


class _Server(QuietServer):
    bucket: Bucket


class _Handler(QuietHandler, BaseHTTPRequestHandler):
    server: _Server

    def parse_request(self) -> bool:
        """Read the head of a request; one that is not to be answered ends here."""
        if not super().parse_request():
            return False
        bucket = self.server.bucket
        bucket.take_time()
        if bucket.silent(self.command, self._key()):
            bucket.ended.wait(60)
            self.close_connection = True
            return False
        if bucket.resets(self.command, self._key()):
            self.close_connection = True
            return False
        if bucket.refuses is not None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, code, message = bucket.refuses
            text = (
                f"<?xml version='1.0'?>\n<Error>\n<Code>{code}</Code>\n<Message>{message}</Message>"
            )
            secret = "<StringToSign>secret-of-the-key</StringToSign></Error>"
            self._send(self.command, (status, f"{text}{secret}".encode(), {}))
            return False
        return True

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if "list-type" in query:
            self._send("LIST", _listing(self.server.bucket, query))
            return
        self._send("GET", _read(self.server.bucket, self._key(), self.headers.get("Range")))

    def do_HEAD(self) -> None:
        self._send("HEAD", _read(self.server.bucket, self._key(), self.headers.get("Range")))

    def do_PUT(self) -> None:
        bucket, key = self.server.bucket, self._key()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        only_new = self.headers.get("If-None-Match") == "*"
        if bucket.drops(key):
            bucket.late.append((key, body, only_new))
            self._send("PUT", (400, b"<Error><Code>RequestTimeout</Code></Error>", {}))
            return
        done = bucket.put(key, body, only_new)
        if done and bucket.loses(key):
            self._lose()
            return
        self._send("PUT", (200, b"", {"ETag": _etag(body)}) if done else _refused())

    def do_DELETE(self) -> None:
        with self.server.bucket.lock:
            self.server.bucket.objects.pop(self._key(), None)
        self._send("DELETE", (204, b"", {}))

    def do_POST(self) -> None:
        """Delete many objects at once; the only POST that is known here."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        keys = [unescape(each.decode()) for each in re.findall(rb"<Key>(.*?)</Key>", body)]
        with self.server.bucket.lock:
            for key in keys:
                self.server.bucket.objects.pop(key, None)
        gone = "".join(f"<Deleted><Key>{escape(key)}</Key></Deleted>" for key in keys)
        text = f'<DeleteResult xmlns="{_NAMESPACE}">{gone}</DeleteResult>'
        self._send("DELETE", (200, text.encode(), {"Content-Type": "application/xml"}))

    def _key(self) -> str:
        return unquote(urlsplit(self.path).path).lstrip("/").partition("/")[2]

    def _lose(self) -> None:
        if self.server.bucket.answers:
            self._send("PUT", (500, b"<Error><Code>InternalError</Code></Error>", {}))
        else:
            self.close_connection = True

    def _send(self, method: str, reply: Reply) -> None:
        status, body, headers = reply
        with self.server.bucket.lock:
            self.server.bucket.asked[method] += 1
            self.server.bucket.sent += 0 if self.command == "HEAD" else len(body)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def running(bucket: Bucket) -> Iterator[str]:
    """Serve a bucket on a free port of this machine, and give its address."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.bucket = bucket
    with listening(server):
        try:
            yield address_of(server)
        finally:
            bucket.ended.set()


def _etag(body: bytes) -> str:
    return f'"{hashlib.md5(body).hexdigest()}"'


def _refused() -> Reply:
    return 412, b"<Error><Code>PreconditionFailed</Code></Error>", {}


def _read(bucket: Bucket, key: str, wanted: str | None) -> Reply:
    with bucket.lock:
        body = bucket.objects.get(key)
    if body is None:
        return 404, b"<Error><Code>NoSuchKey</Code></Error>", {}
    headers = {"ETag": _etag(body), "Last-Modified": formatdate(bucket.date_of(key), usegmt=True)}
    if wanted is None:
        return 200, body, headers | {"Content-Length": str(len(body))}
    first, _, last = wanted.removeprefix("bytes=").partition("-")
    start = int(first) if first else max(len(body) - int(last), 0)
    stop = min(int(last) + 1, len(body)) if first and last else len(body)
    headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(body)}"
    return 206, body[start:stop], headers | {"Content-Length": str(stop - start)}


def _listing(bucket: Bucket, query: dict[str, str]) -> Reply:
    """Return a page of a listing; a page holds as many objects as asked for, at most 1,000."""
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    after = query.get("continuation-token") or query.get("start-after", "")
    with bucket.lock:
        found = sorted((key, len(body)) for key, body in bucket.objects.items())
    entries: dict[str, str] = {}
    for key, size in found:
        if not key.startswith(prefix) or key <= after:
            continue
        rest = key[len(prefix) :]
        if delimiter and delimiter in rest:
            folder = prefix + rest.partition(delimiter)[0] + delimiter
            if folder > after:
                entries[folder] = _folder(folder)
        else:
            entries[key] = _entry(key, size, bucket.date_of(key))
    most = min(int(query.get("max-keys", 1000)), 1000)
    page, more = list(entries)[:most], len(entries) > most
    token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
    text = (
        f'<ListBucketResult xmlns="{_NAMESPACE}"><Prefix>{escape(prefix)}</Prefix>'
        f"<KeyCount>{len(page)}</KeyCount><IsTruncated>{str(more).lower()}</IsTruncated>"
        f"{token}{''.join(entries[each] for each in page)}</ListBucketResult>"
    )
    return 200, text.encode(), {"Content-Type": "application/xml"}


def _entry(key: str, size: int, date: float) -> str:
    told = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(date))
    return (
        f"<Contents><Key>{escape(key)}</Key><LastModified>{told}</LastModified>"
        f"<ETag>&quot;0&quot;</ETag><Size>{size}</Size></Contents>"
    )


def _folder(prefix: str) -> str:
    return f"<CommonPrefixes><Prefix>{escape(prefix)}</Prefix></CommonPrefixes>"
