"""What the tests of embedding share: the stand-ins, and embedders that ask them."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from omnigraph.embedding import embedder_for
from omnigraph.embedding.http import HttpEmbedder
from tests.embedding.providers import KEY, Provider, running

MODELS = {"openai": "text-embedding-3-small", "gemini": "gemini-embedding-001"}


@dataclass(frozen=True, slots=True)
class Asking:
    """Makes embedders that ask the stand-ins and note their pauses instead of sleeping."""

    provider: Provider
    pauses: list[float] = field(default_factory=list)

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{self.provider.url}/v1",
            "GEMINI_API_KEY": KEY,
            "OMNIGRAPH_GEMINI_BASE_URL": f"{self.provider.url}/v1beta/",
            **more,
        }

    def embedder(self, model: str, **more: str) -> HttpEmbedder:
        embedder = embedder_for(model, self.environment(**more))
        assert isinstance(embedder, HttpEmbedder)
        return replace(embedder, service=replace(embedder.service, sleep=self.pauses.append))


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running() as provider:
        yield provider


@pytest.fixture
def asking(provider: Provider) -> Asking:
    return Asking(provider)


@pytest.fixture(params=list(MODELS.values()), ids=list(MODELS))
def embedder(request: pytest.FixtureRequest, asking: Asking) -> HttpEmbedder:
    return asking.embedder(request.param)
