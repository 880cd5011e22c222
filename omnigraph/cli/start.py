"""Start: runs the `omnigraph` command; Ctrl-C ends it in one way, also while it is imported."""

import os
import sys
from importlib import import_module
from typing import NoReturn

INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C ends it with one line and 130."""
    _open_closed_streams()
    try:
        import_module("omnigraph.cli.main").main()
    except KeyboardInterrupt:
        end_interrupted()


def end_interrupted() -> NoReturn:
    """Say that somebody interrupted the command, and end it."""
    sys.stderr.write("interrupted\n")
    sys.exit(INTERRUPTED)


def _open_closed_streams() -> None:
    """Open what standard streams are closed, with nothing in them and to nowhere.

    The first file that is opened would have the number of a closed one, and get what is written
    there.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, True)  # noqa: FBT003 - it has no name
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))
