"""Definition: what a deployment consists of: graphs, stored queries, policies, providers."""

import re
from collections.abc import Mapping
from dataclasses import field

from omnigraph.api.budgets import NO_BUDGETS, Budgets
from omnigraph.errors import ConfigError
from omnigraph.frozen import dataclass
from omnigraph.query.stored import NO_QUERIES, StoredQueries
from omnigraph.span import Source

# What a policy for the deployment as a whole applies to.
CLUSTER = "cluster"
GRAPHS = "graphs"
PROVIDER_KINDS = ("openai-compatible", "openai", "gemini", "mock")
GRAPH_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDefinition:
    """A graph: its schema, its stored queries, who embeds its texts, and what work may take."""

    schema: Source
    queries: StoredQueries = NO_QUERIES
    provider: str | None = None
    budgets: Budgets = NO_BUDGETS


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDefinition:
    """A policy file, and the graphs that it is for, or the deployment as a whole."""

    source: Source
    applies_to: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderDefinition:
    """Who embeds texts; the key is a reference to a variable, never the key itself."""

    kind: str
    settings: Mapping[str, str] = field(default_factory=dict)

    def environment(self, name: str, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the variables that select this provider; raise ConfigError for one not set."""
        model = self.settings.get("model", "")
        if self.kind == "mock":
            return {"OMNIGRAPH_EMBED_MODEL": "mock"}
        if self.kind == "gemini":
            names = {"base_url": "OMNIGRAPH_GEMINI_BASE_URL", "api_key": "GEMINI_API_KEY"}
            chosen = {"OMNIGRAPH_EMBED_MODEL": model} if model else {}
        else:
            names = {"base_url": "OPENAI_BASE_URL", "api_key": "OPENAI_API_KEY"}
            chosen = {"OMNIGRAPH_EMBED_MODEL": f"openai:{model}"} if model else {}
        for key, variable in names.items():
            if key in self.settings:
                chosen[variable] = resolve_reference(
                    self.settings[key], variables, f"provider.{name}"
                )
        return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """All that a deployment declares, with the texts of every file."""

    name: str
    graphs: Mapping[str, GraphDefinition]
    policies: Mapping[str, PolicyDefinition] = field(default_factory=dict)
    providers: Mapping[str, ProviderDefinition] = field(default_factory=dict)


def graph_uri(storage: str, graph: str) -> str:
    """Return where a graph of a deployment is."""
    return f"{storage.rstrip('/')}/{GRAPHS}/{graph}.omni"


def is_reference(text: str) -> bool:
    """Return whether a text is a reference to a variable, such as `${EMBED_KEY}`."""
    return _REFERENCE.fullmatch(text) is not None


def resolve_reference(text: str, variables: Mapping[str, str], what: str) -> str:
    """Return the value of a reference; other texts are themselves. Raise ConfigError if unset."""
    found = _REFERENCE.fullmatch(text)
    if found is None:
        return text
    if not variables.get(found[1]):
        message = f"the variable {found[1]}, which '{what}' refers to, is not set"
        raise ConfigError(message, hint="set it where the server runs")
    return variables[found[1]]
