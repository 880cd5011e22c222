"""Source: text that is decoded and small enough to be parsed."""

import codecs

from omnigraph.errors import Code, InputError, Problem, SourceError
from omnigraph.span import Source, Span

MOST_BYTES = 256 * 1024


def decode(name: str, data: bytes, error: type[SourceError], code: Code) -> Source:
    """Decode UTF-8 bytes into a source, without a leading byte order mark; raise `error`."""
    text = data.removeprefix(codecs.BOM_UTF8)
    try:
        return Source(name, text.decode())
    except UnicodeDecodeError as broken:
        readable = Source(name, text[: broken.start].decode() + "\N{REPLACEMENT CHARACTER}")
        at = len(readable.text) - 1
        byte = broken.start + len(data) - len(text)
        message = f"byte {byte} is not UTF-8 ({broken.reason})"
        problem = Problem(code, message, Span(at, at + 1), "save the file as UTF-8")
        raise error([problem], source=readable) from None


def make_source(text: str | Source, name: str) -> Source:
    """Wrap a text into a source; return a source as it is."""
    if isinstance(text, Source):
        return text
    if not isinstance(text, str):
        raise InputError(f"a text is a str, not a {type(text).__name__}")
    return Source(name, text)


def size_problem(source: Source, code: Code) -> Problem | None:
    """Return the problem of a text that is too long or has half a surrogate pair, or None."""
    try:
        size = len(source.text.encode())
    except UnicodeEncodeError as broken:
        message = "invalid Unicode: half of a surrogate pair"
        return Problem(code, message, Span(broken.start, broken.start + 1))
    if size > MOST_BYTES:
        message = f"the text has {size:,} bytes; the limit is {MOST_BYTES:,}"
        return Problem(code, message, Span(0, 0), "split the file")
    return None
