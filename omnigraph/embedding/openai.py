"""OpenAI: the embeddings interface of OpenAI, which many other servers offer too."""

from collections.abc import Sequence
from typing import Any

from omnigraph.embedding.embedder import EmbeddingTask
from omnigraph.errors import Json
from omnigraph.frozen import dataclass

# It refuses a request that names a dimension, also its own.
_OF_ONE_DIMENSION = "text-embedding-ada-002"


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

    def body(self, texts: Sequence[str], dimension: int | None, task: EmbeddingTask) -> Json:  # noqa: ARG002 - the interface has no tasks
        body: dict[str, Json] = {"model": self.name, "input": list(texts)}
        if dimension is not None and self.name != _OF_ONE_DIMENSION:
            body["dimensions"] = dimension
        return body

    def rows(self, answer: Any) -> list[list[float]]:  # noqa: ANN401 - whatever the provider sent
        """Return the vectors by `index`, which must count from 0 without a gap."""
        found = {item["index"]: item["embedding"] for item in answer["data"]}
        return [found[index] for index in range(len(answer["data"]))]
