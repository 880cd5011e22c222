"""Reach: keeps files that every user of the machine could change where only some can get at them.

Lance creates files with the modes that the process's umask leaves, and takes no other setting. A
umask belongs to the whole process, and a library does not change it for others.
"""

import logging
import stat
from itertools import takewhile
from pathlib import Path

_LOG = logging.getLogger("omnigraph.storage")


def make_folder(folder: Path) -> None:
    """Create the folder of a graph, with its parents, unless it exists.

    Where the umask lets every user change new files, the folder is closed to others, which holds
    for all that will be in it. The parents are only kept from being changed by others.
    """
    missing = list(takewhile(lambda each: not each.exists(), (folder, *folder.parents)))
    for each in reversed(missing):
        try:
            each.mkdir()
        except FileExistsError:
            continue
        mode = each.stat().st_mode
        if mode & stat.S_IWOTH:
            each.chmod(mode & ~(stat.S_IRWXO if each == folder else stat.S_IWOTH))


def warn_if_open(folder: Path, made: Path) -> None:
    """Log a warning if others can get at a folder and change what this process makes in it."""
    is_open = folder.stat().st_mode & stat.S_IXOTH
    if is_open and made.stat().st_mode & stat.S_IWOTH:
        _LOG.warning(
            "every user of this machine can change what this process writes to %s; "
            "set its umask to 002 or stricter, or close the folder to others",
            folder,
        )
