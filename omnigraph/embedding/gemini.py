"""Gemini: the embeddings interface of the Gemini API."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from omnigraph.embedding.embedder import EmbeddingTask
from omnigraph.errors import Json
from omnigraph.frozen import dataclass

# For these models the API ignores `taskType`; the text names the task, as Google documents it.
_TASK_IN_TEXT = "gemini-embedding-2"
_PREFIXES = {
    EmbeddingTask.DOCUMENT: "title: none | text: ",
    EmbeddingTask.QUERY: "task: search result | query: ",
}


@dataclass(frozen=True, slots=True)
class Gemini:
    """`POST /models/MODEL:batchEmbedContents`; each text is a content of its own."""

    model: str

    @property
    def path(self) -> str:
        return f"/models/{quote(self.model, safe='')}:batchEmbedContents"

    def body(self, texts: Sequence[str], dimension: int | None, task: EmbeddingTask) -> Json:
        prefix = _PREFIXES[task] if self.model.startswith(_TASK_IN_TEXT) else ""
        size = {} if dimension is None else {"outputDimensionality": dimension}
        return {
            "requests": [
                {
                    "model": f"models/{self.model}",
                    "content": {"parts": [{"text": prefix + text}]},
                    "taskType": task.value,
                    **size,
                }
                for text in texts
            ]
        }

    def rows(self, answer: Any) -> list[list[float]]:  # noqa: ANN401 - whatever the provider sent
        return [embedding["values"] for embedding in answer["embeddings"]]
