"""Moves: an open connection goes from one worker to another, and its client sees nothing of it."""

import asyncio
import os
import socket
from array import array
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from omnigraph.frozen import dataclass
from omnigraph.server.process.shared import SharedTurns

# Of the connections that a worker may have, so many may be there before none is sent to it.
_ROOM = 0.75


@dataclass(slots=True)
class Moves:
    """The box from which this worker takes connections, and the way to those of the others.

    A connection that cannot be sent stays where it is.
    """

    shared: SharedTurns
    most: int
    _box: socket.socket = field(init=False, repr=False)

    def __post_init__(self) -> None:
        path = self._path(self.shared.index)
        path.unlink(missing_ok=True)  # that of a worker that died
        self._box = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._box.settimeout(0)
        self._box.bind(str(path))

    def take(self, welcome: Callable[[socket.socket, bool], None]) -> None:
        """Call `welcome` with each connection that comes, and whether its token was right once."""
        asyncio.get_running_loop().add_reader(self._box, self._take, welcome)

    def target(self, actor: str) -> int | None:
        """Return the worker that had better have a connection of an actor, if it is another."""
        return self.shared.better_for(actor, int(self.most * _ROOM))

    def send(self, connection: socket.socket, index: int, *, is_known: bool) -> bool:
        """Send a connection to another worker; return whether it went."""
        with suppress(OSError):  # its box is full, or it died
            # `socket.send_fds` takes an address, and forgets it.
            carried = array("i", [connection.fileno()])
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, carried)
            self._box.sendmsg([bytes([is_known])], [rights], 0, str(self._path(index)))
            return True
        return False

    def count(self, connections: int) -> None:
        """Let the other workers know how many connections this one has."""
        self.shared.note_connections(connections)

    def close(self) -> None:
        """Take no more."""
        asyncio.get_running_loop().remove_reader(self._box)
        self._box.close()

    def _take(self, welcome: Callable[[socket.socket, bool], None]) -> None:
        try:
            data, files, _, _ = socket.recv_fds(self._box, 1, 1)
        except BlockingIOError:
            return
        for each in files:
            os.set_inheritable(each, False)  # noqa: FBT003 - it has no name
            connection = socket.socket(fileno=each)
            connection.settimeout(0)
            welcome(connection, data == b"\x01")

    def _path(self, index: int) -> Path:
        return self.shared.folder / f"box-{index}"
