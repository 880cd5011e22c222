"""Revision: a definition as an immutable document that is named by its content."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

from omnigraph.api.budgets import Budgets
from omnigraph.deploy.definition import (
    Definition,
    GraphDefinition,
    PolicyDefinition,
    ProviderDefinition,
)
from omnigraph.errors import FormatError, Json, StorageError
from omnigraph.frozen import dataclass
from omnigraph.query.stored import StoredQueries, StoredQuery, parse_stored
from omnigraph.span import Source
from omnigraph.syntax.problems import Problems

VERSION = 1


@dataclass(frozen=True, slots=True)
class Revision:
    """A document, the digest that is its name, and the texts that it refers to by theirs."""

    digest: str
    document: bytes = field(repr=False)
    texts: Mapping[str, bytes] = field(repr=False)


def encode(definition: Definition) -> Revision:
    """Return a definition as a document; equal definitions give equal bytes."""
    texts: dict[str, bytes] = {}

    def kept(source: Source) -> dict[str, Json]:
        data = source.text.encode()
        texts[digest_of(data)] = data
        return {"file": source.name, "text": digest_of(data)}

    document: dict[str, Json] = {
        "version": VERSION,
        "name": definition.name,
        "graphs": {
            name: {
                "schema": kept(each.schema),
                "queries": {query.name: _query(query, kept) for query in each.queries.values()},
                "embedding_provider": each.provider,
                **({"limits": each.budgets.to_json()} if each.budgets else {}),
            }
            for name, each in definition.graphs.items()
        },
        "policies": {
            name: {**kept(each.source), "applies_to": [*each.applies_to]}
            for name, each in definition.policies.items()
        },
        "providers": {
            name: {"kind": each.kind, **each.settings}
            for name, each in definition.providers.items()
        },
    }
    data = canonical(document)
    return Revision(digest_of(data), data, texts)


def decode(data: bytes, text_of: Callable[[str], bytes]) -> Definition:
    """Return the definition of a document; `text_of` reads a text by its digest.

    Raises StorageError for what is no such document, and FormatError for that of a newer release.
    """
    try:
        return _decoded(json.loads(data), text_of)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as failed:
        hint = "apply the deployment again"
        raise StorageError("the revision of a deployment cannot be read", hint=hint) from failed


def _decoded(document: Mapping[str, Any], text_of: Callable[[str], bytes]) -> Definition:
    if document["version"] != VERSION:
        message = f"the revision has version {document['version']}, which a newer release wrote"
        raise FormatError(message, hint="upgrade omnigraph")

    def source(kept: Mapping[str, Any]) -> Source:
        return Source(kept["file"], text_of(kept["text"]).decode())

    return Definition(
        name=document["name"],
        graphs={
            name: GraphDefinition(
                schema=source(each["schema"]),
                queries=_queries(each["queries"], source),
                provider=each["embedding_provider"],
                budgets=Budgets.from_json(each.get("limits", {})),
            )
            for name, each in document["graphs"].items()
        },
        policies={
            name: PolicyDefinition(source=source(each), applies_to=tuple(each["applies_to"]))
            for name, each in document["policies"].items()
        },
        providers={
            name: ProviderDefinition(
                kind=each["kind"],
                settings={key: value for key, value in each.items() if key != "kind"},
            )
            for name, each in document["providers"].items()
        },
    )


def canonical(document: Json) -> bytes:
    """Return JSON of which equal documents have equal bytes."""
    return json.dumps(document, sort_keys=True, ensure_ascii=False, indent=1).encode()


def digest_of(data: bytes) -> str:
    """Return the name of a content."""
    return hashlib.sha256(data).hexdigest()


def _query(query: StoredQuery, kept: Callable[[Source], dict[str, Json]]) -> Json:
    return {**kept(query.source), "expose": query.is_exposed, "roles": [*query.roles]}


def _queries(
    document: Mapping[str, Any], source: Callable[[Mapping[str, Any]], Source]
) -> StoredQueries:
    parsed: dict[Source, dict[str, StoredQuery]] = {}
    found = []
    for name, kept in document.items():
        text = source(kept)
        if text not in parsed:
            problems = Problems()
            parsed[text] = {each.name: each for each in parse_stored(text, problems)}
        if name not in parsed[text]:
            raise StorageError(f"the recorded text of the query '{name}' does not have it")
        known = parsed[text][name]
        found.append(replace(known, is_exposed=kept["expose"], roles=tuple(kept["roles"])))
    return StoredQueries(found)
