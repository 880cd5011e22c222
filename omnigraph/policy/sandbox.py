"""Sandbox: validates Cedar policies in a child process before this one parses them.

Cedar's parser aborts its process on a text that is nested too deeply. This file is also the program
of the child, and imports nothing from the package, so that it starts quickly.
"""

import json
import subprocess
import sys
from functools import lru_cache

_LONGEST = 30.0


@lru_cache(maxsize=16)
def check_in_child(text: str, schema: str) -> None:
    """Raise ValueError with the problem unless this process can parse the policies safely.

    Only success is cached: a child process that failed to start may start the next time.
    """
    problem = _run_child(text, schema)
    if problem is not None:
        raise ValueError(problem)


def _run_child(text: str, schema: str) -> str | None:
    command = [sys.executable, "-P", __file__]
    given = json.dumps([text, schema]).encode()
    try:
        done = subprocess.run(  # noqa: S603 - this very file
            command, input=given, capture_output=True, timeout=_LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return f"checking it took more than {_LONGEST:.0f} seconds"
    except OSError as failed:
        return f"could not start a process to check it: {failed.strerror}"
    if done.returncode != 0:
        return "the process that checked it crashed"
    found: str | None = json.loads(done.stdout)
    return found


def _problem(text: str, schema: str) -> str | None:
    from cedarpy import Schema, validate_policies

    try:
        result = validate_policies(text, Schema.from_str(schema))
    except ValueError as wrong:
        return str(wrong)
    problems = [error.error for error in result.errors]
    if problems or not result.validation_passed:
        return "; ".join(problems) or "it does not fit its schema"
    return None


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_problem(*json.load(sys.stdin))))
