"""OpenAI: the embeddings interface of OpenAI, which many other servers offer too."""

from collections.abc import Sequence
from typing import Any

from omnigraph.embedding.embedder import EmbeddingTask
from omnigraph.errors import Json
from omnigraph.frozen import dataclass


@dataclass(frozen=True, slots=True)
class OpenAI:
    """`POST /embeddings`; documents and queries are embedded alike."""

    name: str

    @property
    def model(self) -> str:
        return self.name if self.name.startswith("text-embedding-") else f"openai:{self.name}"

    @property
    def path(self) -> str:
        return "/embeddings"

    def body(self, texts: Sequence[str], dimension: int, task: EmbeddingTask) -> Json:  # noqa: ARG002 - the interface has no tasks
        return {"model": self.name, "input": list(texts), "dimensions": dimension}

    def rows(self, answer: Any) -> list[list[float]]:  # noqa: ANN401 - whatever the provider sent
        """Return the vectors by `index`, which must count from 0 without a gap."""
        found = {item["index"]: item["embedding"] for item in answer["data"]}
        return [found[index] for index in range(len(answer["data"]))]
