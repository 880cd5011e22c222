"""OmniGraph: a typed property graph with Git-style branches and search, over Lance."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from omnigraph.branch import Branch
    from omnigraph.engine.blob import Blob
    from omnigraph.engine.change import Receipt
    from omnigraph.engine.changes import Change, ChangeSet
    from omnigraph.engine.merge import Merge
    from omnigraph.engine.run import Budget
    from omnigraph.engine.schema_plan import SavedPlan, SchemaApplied, SchemaPlan
    from omnigraph.engine.threeway import Conflict, Resolutions
    from omnigraph.errors import (
        ConflictError,
        DeniedError,
        InputError,
        MergeConflictsError,
        NotFoundError,
        OmniGraphError,
        ParamsError,
        QueryError,
        SchemaError,
        StorageError,
        ViolationsError,
    )
    from omnigraph.graph import Graph, init, open  # noqa: A004
    from omnigraph.pipeline.session import SparkSettings
    from omnigraph.query.compile import compile_query
    from omnigraph.query.lint import lint_queries
    from omnigraph.remote.graph import connect
    from omnigraph.result import Result, ResultStream
    from omnigraph.schema.catalog import Catalog
    from omnigraph.schema.compile import compile_schema
    from omnigraph.span import Source
    from omnigraph.versioning.commit import Commit
    from omnigraph.view import View

# Where each public name is defined. Imported on first use, so that `import omnigraph` and
# `omnigraph --help` load nothing they do not need.
_HOMES = {
    "Blob": "omnigraph.engine.blob",
    "Branch": "omnigraph.branch",
    "Budget": "omnigraph.engine.run",
    "Catalog": "omnigraph.schema.catalog",
    "Change": "omnigraph.engine.changes",
    "ChangeSet": "omnigraph.engine.changes",
    "Commit": "omnigraph.versioning.commit",
    "Conflict": "omnigraph.engine.threeway",
    "ConflictError": "omnigraph.errors",
    "DeniedError": "omnigraph.errors",
    "Graph": "omnigraph.graph",
    "InputError": "omnigraph.errors",
    "Merge": "omnigraph.engine.merge",
    "MergeConflictsError": "omnigraph.errors",
    "NotFoundError": "omnigraph.errors",
    "OmniGraphError": "omnigraph.errors",
    "ParamsError": "omnigraph.errors",
    "QueryError": "omnigraph.errors",
    "Receipt": "omnigraph.engine.change",
    "Resolutions": "omnigraph.engine.threeway",
    "Result": "omnigraph.result",
    "ResultStream": "omnigraph.result",
    "SavedPlan": "omnigraph.engine.schema_plan",
    "SchemaApplied": "omnigraph.engine.schema_plan",
    "SchemaError": "omnigraph.errors",
    "SchemaPlan": "omnigraph.engine.schema_plan",
    "Source": "omnigraph.span",
    "SparkSettings": "omnigraph.pipeline.session",
    "StorageError": "omnigraph.errors",
    "View": "omnigraph.view",
    "ViolationsError": "omnigraph.errors",
    "compile_query": "omnigraph.query.compile",
    "compile_schema": "omnigraph.schema.compile",
    "connect": "omnigraph.remote.graph",
    "init": "omnigraph.graph",
    "lint_queries": "omnigraph.query.lint",
    "open": "omnigraph.graph",
}

__all__ = [
    "Blob",
    "Branch",
    "Budget",
    "Catalog",
    "Change",
    "ChangeSet",
    "Commit",
    "Conflict",
    "ConflictError",
    "DeniedError",
    "Graph",
    "InputError",
    "Merge",
    "MergeConflictsError",
    "NotFoundError",
    "OmniGraphError",
    "ParamsError",
    "QueryError",
    "Receipt",
    "Resolutions",
    "Result",
    "ResultStream",
    "SavedPlan",
    "SchemaApplied",
    "SchemaError",
    "SchemaPlan",
    "Source",
    "SparkSettings",
    "StorageError",
    "View",
    "ViolationsError",
    "__version__",
    "compile_query",
    "compile_schema",
    "connect",
    "init",
    "lint_queries",
    "open",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'omnigraph' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
