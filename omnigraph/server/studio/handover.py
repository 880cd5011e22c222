"""Handover: a one-time code for which a browser gets its token.

The code travels in the fragment of an address, which browsers neither send nor log; the token
travels in one answer and stands in no address.
"""

import hmac
import secrets
import time
from dataclasses import field
from threading import Lock

from omnigraph.errors import Json
from omnigraph.frozen import dataclass

CODE_SECONDS = 60.0


@dataclass(slots=True)
class Handover:
    """A token for one actor, handed over once, to whoever has the code in time."""

    actor: str
    seconds: float = CODE_SECONDS
    code: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _from: float = field(default_factory=time.monotonic, repr=False)
    _is_open: bool = True
    _lock: Lock = field(default_factory=Lock, repr=False)

    def begin(self) -> None:
        """Let the time of the code begin now, when it is first shown."""
        self._from = time.monotonic()

    def take(self, code: str) -> dict[str, Json] | None:
        """Return the token and its actor for the code; None for another, a used or an old one."""
        with self._lock:
            if time.monotonic() - self._from > self.seconds:
                self._is_open = False
            is_right = hmac.compare_digest(code.encode(), self.code.encode())
            if not (is_right and self._is_open):
                return None
            self._is_open = False
            return {"token": self.token, "actor_id": self.actor}
