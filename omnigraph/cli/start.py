"""Start: runs the `omnigraph` command; Ctrl-C ends it in one way, also while it is imported."""

import sys
from importlib import import_module
from typing import NoReturn

INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C ends it with one line and 130."""
    try:
        import_module("omnigraph.cli.main").main()
    except KeyboardInterrupt:
        end_interrupted()


def end_interrupted() -> NoReturn:
    """Say that somebody interrupted the command, and end it."""
    sys.stderr.write("interrupted\n")
    sys.exit(INTERRUPTED)
