"""OmniGraph: a typed property graph with Git-style branches and search, over Lance."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from omnigraph.engine.blob import Blob
    from omnigraph.engine.change import Receipt
    from omnigraph.engine.changes import ChangeSet, EntityChange
    from omnigraph.engine.merge import Merge
    from omnigraph.engine.run import Budget
    from omnigraph.engine.runs import RunRecord
    from omnigraph.engine.threeway import Resolutions
    from omnigraph.errors import (
        ConflictError,
        InputError,
        MergeConflictsError,
        NotFoundError,
        OmniGraphError,
        ParamsError,
        Problem,
        QueryError,
        SchemaError,
        StorageError,
        ViolationsError,
    )
    from omnigraph.graph import Graph, View, Writer, init, open  # noqa: A004
    from omnigraph.pipeline.session import SparkSettings
    from omnigraph.profile import Explanation, Profile
    from omnigraph.query.compile import compile_queries, compile_query
    from omnigraph.query.explain import explain_json, explain_text
    from omnigraph.query.lint import LintReport, lint_queries
    from omnigraph.query.params import bind_params
    from omnigraph.query.plan import MutationPlan, ReadPlan
    from omnigraph.result import Result
    from omnigraph.schema.catalog import Catalog
    from omnigraph.schema.compile import compile_schema
    from omnigraph.schema.printer import print_schema
    from omnigraph.span import Source
    from omnigraph.versioning.commit import Commit
    from omnigraph.versioning.snapshot import Snapshot

# Where each public name is defined. Imported on first use, so that `import omnigraph` and
# `omnigraph --help` load nothing they do not need.
_HOMES = {
    "Blob": "omnigraph.engine.blob",
    "Budget": "omnigraph.engine.run",
    "Catalog": "omnigraph.schema.catalog",
    "ChangeSet": "omnigraph.engine.changes",
    "Commit": "omnigraph.versioning.commit",
    "ConflictError": "omnigraph.errors",
    "EntityChange": "omnigraph.engine.changes",
    "Explanation": "omnigraph.profile",
    "Graph": "omnigraph.graph",
    "InputError": "omnigraph.errors",
    "LintReport": "omnigraph.query.lint",
    "Merge": "omnigraph.engine.merge",
    "MergeConflictsError": "omnigraph.errors",
    "MutationPlan": "omnigraph.query.plan",
    "NotFoundError": "omnigraph.errors",
    "OmniGraphError": "omnigraph.errors",
    "ParamsError": "omnigraph.errors",
    "Problem": "omnigraph.errors",
    "Profile": "omnigraph.profile",
    "QueryError": "omnigraph.errors",
    "ReadPlan": "omnigraph.query.plan",
    "Receipt": "omnigraph.engine.change",
    "Resolutions": "omnigraph.engine.threeway",
    "Result": "omnigraph.result",
    "RunRecord": "omnigraph.engine.runs",
    "SchemaError": "omnigraph.errors",
    "Snapshot": "omnigraph.versioning.snapshot",
    "Source": "omnigraph.span",
    "SparkSettings": "omnigraph.pipeline.session",
    "StorageError": "omnigraph.errors",
    "View": "omnigraph.graph",
    "ViolationsError": "omnigraph.errors",
    "Writer": "omnigraph.graph",
    "bind_params": "omnigraph.query.params",
    "compile_queries": "omnigraph.query.compile",
    "compile_query": "omnigraph.query.compile",
    "compile_schema": "omnigraph.schema.compile",
    "explain_json": "omnigraph.query.explain",
    "explain_text": "omnigraph.query.explain",
    "init": "omnigraph.graph",
    "lint_queries": "omnigraph.query.lint",
    "open": "omnigraph.graph",
    "print_schema": "omnigraph.schema.printer",
}

__all__ = [
    "Blob",
    "Budget",
    "Catalog",
    "ChangeSet",
    "Commit",
    "ConflictError",
    "EntityChange",
    "Explanation",
    "Graph",
    "InputError",
    "LintReport",
    "Merge",
    "MergeConflictsError",
    "MutationPlan",
    "NotFoundError",
    "OmniGraphError",
    "ParamsError",
    "Problem",
    "Profile",
    "QueryError",
    "ReadPlan",
    "Receipt",
    "Resolutions",
    "Result",
    "RunRecord",
    "SchemaError",
    "Snapshot",
    "Source",
    "SparkSettings",
    "StorageError",
    "View",
    "ViolationsError",
    "Writer",
    "__version__",
    "bind_params",
    "compile_queries",
    "compile_query",
    "compile_schema",
    "explain_json",
    "explain_text",
    "init",
    "lint_queries",
    "open",
    "print_schema",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'omnigraph' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
