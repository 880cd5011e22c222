"""Systems: OmniGraph and its peers with the same data, each behind the same method.

Nothing but the system itself is imported, so that a new process can be timed from its start.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from bench.questions import Question

# LanceDB warns at every hybrid search that some day it will project otherwise.
os.environ.setdefault("LANCEDB_LOG", "error")

Answer = list[tuple[object, ...]]


class System(Protocol):
    """Something that answers questions about the data it holds."""

    def ask(self, question: Question) -> Answer:
        """Return the rows of the answer, from the text of the question."""


class OmniGraph:
    """The graph as OmniGraph has it."""

    def __init__(self, root: Path) -> None:
        import omnigraph

        self.graph = omnigraph.open(root, durable=False)

    def ask(self, question: Question) -> Answer:
        """Return the rows of the answer."""
        found = self.graph.query(question.gq, **question.params)
        return [tuple(row.values()) for row in found.to_dicts()]


class Ladybug:
    """The graph as node and relation tables of Ladybug, with a primary key for every node."""

    def __init__(self, root: Path) -> None:
        import ladybug

        self.connection = ladybug.Connection(ladybug.Database(str(root)))

    def ask(self, question: Question) -> Answer:
        """Return the rows of the answer."""
        found = self.connection.execute(question.cypher, dict(question.params))
        assert not isinstance(found, list)
        return [tuple(row) for row in found.get_all()]


class DuckDb:
    """The graph as tables of DuckDB, with a primary key for nodes and an index on sources."""

    def __init__(self, root: Path) -> None:
        import duckdb

        self.connection = duckdb.connect(str(root))

    def ask(self, question: Question) -> Answer:
        """Return the rows of the answer."""
        found = self.connection.execute(question.sql, dict(question.params))
        return [tuple(row) for row in found.fetchall()]


class LanceDb:
    """Documents as a table of LanceDB, which is searched by words and by meaning together."""

    def __init__(self, root: Path) -> None:
        import lancedb

        self.table: Any = lancedb.connect(root).open_table("docs")

    def ask(self, question: Question) -> Answer:
        """Return the best ten documents."""
        from lancedb.rerankers import RRFReranker

        point, words = question.params["point"], question.params["words"]
        asked = self.table.search(
            query_type="hybrid", vector_column_name="vector", fts_columns="text"
        )
        asked = asked.vector(point).text(words).distance_type("cosine")
        found = asked.rerank(RRFReranker()).limit(10).select(["slug"]).to_list()
        return [(row["slug"], row["_relevance_score"]) for row in found]


SYSTEMS: dict[str, Callable[[Path], System]] = {
    "omnigraph": OmniGraph,
    "ladybug": Ladybug,
    "duckdb": DuckDb,
    "lancedb": LanceDb,
}
