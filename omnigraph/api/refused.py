"""Refused: the error that stands behind a server's answer, of the class that it had there."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from omnigraph import errors
from omnigraph.errors import Code, OmniGraphError, Problem, Violation
from omnigraph.span import Source, Span

# By the first letter of their codes: which class of error holds such problems.
_OF_PROBLEMS: Mapping[str, type[errors.SourceError] | type[errors.ParamsError]] = {
    "S": errors.SchemaError,
    "Q": errors.QueryError,
    "T": errors.QueryError,
    "D": errors.QueryError,
    "P": errors.ParamsError,
}
# Errors that are made of what is listed in their documents, and where.
_OF_LIST: Mapping[Callable[[list[Any]], OmniGraphError], str] = {
    errors.MergeConflictsError: "merge_conflicts",
    errors.SchemaConflictError: "schema_conflicts",
    errors.UnsupportedMigrationError: "unsupported_changes",
}
# What an answer means whose code is not known here, by its status.
_OF_STATUS: Mapping[int, type[OmniGraphError]] = {
    400: errors.InputError,
    401: errors.UnauthorizedError,
    404: errors.NotFoundError,
    405: errors.UnavailableError,
    409: errors.ConflictError,
    413: errors.InputError,
    501: errors.UnavailableError,
}


def error_of(status: int, body: bytes, source: Source | None) -> OmniGraphError:
    """Give the error that an answer tells of; its problems are those of the source."""
    found = _document(body)
    if found is None:
        return errors.RemoteError(f"the server answered with status {status}")
    try:
        return _problems(found, source) or _own(found) or _other(status, found)
    except (KeyError, TypeError, ValueError, IndexError):
        return _other(status, found)


def error_in(line: bytes) -> OmniGraphError | None:
    """Give the error that the last line of an answer tells of, if it is such a line."""
    found = _document(line)
    return None if found is None else error_of(500, line, None)


def _document(body: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(body)
    except ValueError:
        return None
    if not isinstance(found, dict) or not isinstance(found.get("error"), str):
        return None
    detail = found.get("detail")
    return detail if isinstance(detail, dict) and isinstance(detail.get("error"), str) else found


def _problems(found: dict[str, Any], source: Source | None) -> OmniGraphError | None:
    """Give an error that is made of problems or violations."""
    if found.get("violations"):
        violations = [
            Violation(**{**each, "code": Code(each["code"])}) for each in found["violations"]
        ]
        return errors.ViolationsError(violations, total=found["violation_count"])
    if not found.get("problems"):
        return None
    kind = _OF_PROBLEMS[found["code"][0]]
    problems = [_problem(each) for each in found["problems"]]
    of = source if found.get("source") is not None else None
    return kind(problems, source=of, total=found["problem_count"])


def _problem(found: dict[str, Any]) -> Problem:
    span = found["span"]
    where = None if span is None else Span(span["start"], span["end"])
    return Problem(Code(found["code"]), found["message"], where, found["hint"])


def _own(found: dict[str, Any]) -> OmniGraphError | None:
    """Give an error of the class that has the code of the answer."""
    kind = next((each for each in _classes() if each.code == found["code"]), None)
    if kind is None:
        return None
    for listing, name in _OF_LIST.items():
        if kind is listing:
            return listing(found[name])
    if kind is errors.ExpectedVersionMismatchError:
        told = found["manifest_conflict"]
        expected, actual = (_version(told[each]) for each in ("expected", "actual"))
        return errors.ExpectedVersionMismatchError(told["table_key"], expected, actual)
    return _made(kind, found)


def _version(told: str | None) -> int | None:
    return None if told is None else int(told)


def _other(status: int, found: dict[str, Any]) -> OmniGraphError:
    """Give an error that only its status tells about; it keeps the code that came."""
    error = _made(_OF_STATUS.get(status, errors.RemoteError), found)
    if isinstance(found.get("code"), str):
        error.code = found["code"]
    return error


def _made(kind: type[OmniGraphError], found: dict[str, Any]) -> OmniGraphError:
    """Give an error of a class with all that was told about it as its attributes."""
    error = kind.__new__(kind)
    OmniGraphError.__init__(error, found["error"], hint=found.get("hint"))
    rest = {name: value for name, value in found.items() if name not in ("error", "code", "hint")}
    error.__dict__.update(rest)
    return error


def _classes() -> Iterator[type[OmniGraphError]]:
    """Give every class of the tree, those above before those below."""
    waiting: list[type[OmniGraphError]] = [OmniGraphError]
    for kind in waiting:
        yield kind
        waiting.extend(kind.__subclasses__())
