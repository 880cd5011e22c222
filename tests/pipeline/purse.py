"""Purse: a provider that answers until the money is spent, and says how much it took."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from tests.embedding.providers import KEY, Provider, Rows, running

MODEL = "text-embedding-3-small"


@dataclass(slots=True)
class Purse:
    """What is left to pay with and what was paid, in texts."""

    provider: Provider
    money: int = 1_000_000
    paid: int = 0
    environment: dict[str, str] = field(default_factory=dict)

    def pay(self, rows: Rows) -> Rows:
        """Let an answer through that can be paid; any other is refused by the provider."""
        with self.provider.lock:
            if self.money < len(rows):
                raise LookupError("no money left")
            self.money -= len(rows)
            self.paid += len(rows)
        return rows


@contextmanager
def open_purse() -> Iterator[Purse]:
    """Return a purse and the environment in which its provider is asked."""
    with running() as provider:
        purse = Purse(provider)
        provider.spoils = purse.pay
        purse.environment = {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{provider.url}/v1",
            "OMNIGRAPH_EMBED_MODEL": MODEL,
        }
        yield purse


@pytest.fixture
def purse(monkeypatch: pytest.MonkeyPatch) -> Iterator[Purse]:
    """A purse whose provider is the one that this process asks."""
    with open_purse() as purse:
        for name, value in purse.environment.items():
            monkeypatch.setenv(name, value)
        yield purse
