"""Selection: the embedder that a model name and the environment select."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from omnigraph.embedding.embedder import Embedder
from omnigraph.embedding.gemini import Gemini
from omnigraph.embedding.http import HttpEmbedder, Service
from omnigraph.embedding.local import DEFAULT, local_embedder
from omnigraph.embedding.mock import MockEmbedder
from omnigraph.embedding.openai import OpenAI
from omnigraph.errors import EmbeddingError, EmbeddingModelError
from omnigraph.frozen import dataclass

_KINDS = "gemini-NAME, text-embedding-NAME, openai:NAME, local, local:NAME or mock"
_MOCKS = ("NANOGRAPH_EMBEDDINGS_MOCK", "OMNIGRAPH_EMBEDDINGS_MOCK")
_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variables:
    """The variables of one provider, its default URL, and the header that carries its key."""

    key: str
    key_header: tuple[str, str]
    base_url: str
    default_url: str
    prefix: str


_OPENAI = _Variables(
    key="OPENAI_API_KEY",
    key_header=("Authorization", "Bearer "),
    base_url="OPENAI_BASE_URL",
    default_url="https://api.openai.com/v1",
    prefix="NANOGRAPH_EMBED",
)
_GEMINI = _Variables(
    key="GEMINI_API_KEY",
    key_header=("x-goog-api-key", ""),
    base_url="OMNIGRAPH_GEMINI_BASE_URL",
    default_url="https://generativelanguage.googleapis.com/v1beta",
    prefix="OMNIGRAPH_EMBED",
)


def embedder_for(
    model: str | None, environment: Mapping[str, str], *, filled_by: str | None = None
) -> Embedder:
    """Return the embedder of a model, or of the one that the environment selects.

    Vectors can be compared only with those of the same model. `filled_by` is the model of the
    vectors that are there: it is used unless another one is named, which raises EmbeddingError.
    """
    if any(_flag(environment, name) for name in _MOCKS):
        return _checked(MockEmbedder(), filled_by)
    wanted = model or _value(environment, "OMNIGRAPH_EMBED_MODEL") or filled_by
    found = _default(environment) if wanted is None else _named(wanted, environment)
    return _checked(found, filled_by)


def _checked(embedder: Embedder, filled_by: str | None) -> Embedder:
    if filled_by not in (None, embedder.model):
        raise EmbeddingModelError(
            f"the vectors here were made by '{filled_by}'; '{embedder.model}' makes others, which "
            "cannot be compared with them",
            hint=f"set OMNIGRAPH_EMBED_MODEL to {filled_by}, or make all vectors of the type anew "
            "with omnigraph embed --again",
        )
    return embedder


def _named(model: str, environment: Mapping[str, str]) -> Embedder:
    kind, _, name = model.partition(":")
    if model == "mock":
        return MockEmbedder()
    if kind == "local":
        return local_embedder(name or DEFAULT)
    if kind == "openai" and name:
        return HttpEmbedder(OpenAI(name), _service(environment, _OPENAI))
    if model.startswith("text-embedding-"):
        return HttpEmbedder(OpenAI(model), _service(environment, _OPENAI))
    if model.startswith("gemini-"):
        return HttpEmbedder(Gemini(model), _service(environment, _GEMINI))
    raise EmbeddingError(f"unknown embedding model '{model}'", hint=f"expected {_KINDS}")


def _default(environment: Mapping[str, str]) -> Embedder:
    if _value(environment, _GEMINI.key):
        return _named("gemini-embedding-2-preview", environment)
    if _value(environment, _OPENAI.key):
        name = _value(environment, "NANOGRAPH_EMBED_MODEL") or "text-embedding-3-small"
        return HttpEmbedder(OpenAI(name), _service(environment, _OPENAI))
    raise EmbeddingError(
        "no embedding model is selected: none of OMNIGRAPH_EMBED_MODEL, "
        f"{_GEMINI.key} and {_OPENAI.key} is set",
        hint=f"set the key of a provider, or OMNIGRAPH_EMBED_MODEL to {_KINDS}",
    )


def _service(environment: Mapping[str, str], variables: _Variables) -> Service:
    header, scheme = variables.key_header
    key = _key(environment, variables)
    return Service(
        url=_url(environment, variables),
        key=key,
        key_header=(header, scheme + key),
        key_variable=variables.key,
        timeout=_number(environment, f"{variables.prefix}_TIMEOUT_MS", 30_000, 1) / 1000,
        attempts=_number(environment, f"{variables.prefix}_RETRY_ATTEMPTS", 4, 1),
        backoff=_number(environment, f"{variables.prefix}_RETRY_BACKOFF_MS", 200, 0) / 1000,
    )


def _key(environment: Mapping[str, str], variables: _Variables) -> str:
    key = _value(environment, variables.key)
    if key is None:
        raise EmbeddingError(
            f"{variables.key} is not set", hint=f"set {variables.key}, or choose another model"
        )
    if not (key.isascii() and key.isprintable()):
        raise EmbeddingError(f"{variables.key} contains characters that are not allowed in a key")
    return key


def _url(environment: Mapping[str, str], variables: _Variables) -> str:
    url = _value(environment, variables.base_url) or variables.default_url
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        valid = False
    if not valid:
        raise EmbeddingError(
            f"{variables.base_url} must be a URL that starts with http:// or https://"
        )
    return url.rstrip("/")


def _number(environment: Mapping[str, str], name: str, default: int, least: int) -> int:
    text = _value(environment, name) or str(default)
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and int(text) >= least):
        raise EmbeddingError(f"{name} must be a whole number of at least {least}, not '{text}'")
    return int(text)


def _flag(environment: Mapping[str, str], name: str) -> bool:
    text = (_value(environment, name) or "no").lower()
    if text not in _YES + _NO:
        raise EmbeddingError(f"{name} must be {_YES[0]} or {_NO[0]}, not '{text}'")
    return text in _YES


def _value(environment: Mapping[str, str], name: str) -> str | None:
    """Return the value of a variable; an empty one counts as not set."""
    return environment.get(name, "").strip() or None
