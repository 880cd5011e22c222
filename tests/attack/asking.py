"""Asking: requests that are sent again until their outcome is known."""

import json
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx

from tests.attack.target import Target

# What says that nothing was done, to somebody who asked for nothing wrong.
DEFINITE = frozenset((409, 429, 503))
_SECONDS = 15.0
_PAUSE = 0.05


class GivenUpError(Exception):
    """The time was over before an outcome was known."""


@dataclass
class Asker:
    """One actor who asks a target, whose connections break all the time."""

    target: Target
    token: str
    last: float = field(default=float("inf"))
    _client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=_SECONDS))

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _may_wait(self) -> bool:
        return time.monotonic() < self.last and not self.target.violations

    def try_once(
        self, method: str, path: str, body: object = None, key: str | None = None
    ) -> httpx.Response | None:
        """Send a request once; None when nobody knows what became of it."""
        address = self.target.address
        if address is None:
            time.sleep(_PAUSE)
            return None
        headers = {"authorization": f"Bearer {self.token}"}
        headers |= {} if key is None else {"idempotency-key": key}
        content = None
        if body is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(body)
        try:
            answer = self._client.request(
                method, f"http://{address}{path}", headers=headers, content=content
            )
        except httpx.TransportError:
            return None
        self.target.counts["requests"] += 1
        if answer.status_code == 200:
            return answer
        code = answer.json().get("code")
        if code == "outcome_unknown":
            self.target.counts["unknown"] += 1
            return None
        is_right = answer.status_code in DEFINITE or code == "budget_exceeded"
        if not is_right:
            self.target.wrong(f"{method} {path} was answered {answer.status_code}: {answer.text}")
        return answer

    def insist(self, method: str, path: str, body: object = None, *, writes: bool = True) -> Any:
        """Send a request until it is done, and return the document of the answer."""
        key = uuid4().hex if writes else None
        while self._may_wait():
            answer = self.try_once(method, path, body, key)
            if answer is not None and answer.status_code == 200:
                return answer.json()
            self.target.counts["sent again"] += 1
            time.sleep(_PAUSE)
        raise GivenUpError(f"{method} {path}")

    def attempt(self, method: str, path: str, body: object) -> bool:
        """Send a write until its outcome is known, and return whether it was done.

        One that is refused with a definite error, and was never sent before, was not done.
        """
        key = uuid4().hex
        answer = self.try_once(method, path, body, key)
        if answer is not None and answer.status_code != 200:
            self.target.counts["refused"] += 1
            return False
        while answer is None or answer.status_code != 200:
            if not self._may_wait():
                raise GivenUpError(f"{method} {path}")
            self.target.counts["sent again"] += 1
            time.sleep(_PAUSE)
            answer = self.try_once(method, path, body, key)
        self.target.counts["writes"] += 1
        return True
