"""OmniGraph: a typed property graph with Git-style branches and search, over Lance."""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from omnigraph import aio
    from omnigraph.api.branch import Branch
    from omnigraph.api.graph import Graph, connect, init, open, restore  # noqa: A004
    from omnigraph.api.view import View
    from omnigraph.data.result import Result, ResultStream
    from omnigraph.errors import (
        BudgetError,
        CancelledError,
        ConflictError,
        DeniedError,
        HeadMovedError,
        InputError,
        MergeConflictsError,
        NotFoundError,
        OmniGraphError,
        OutcomeUnknownError,
        ParamsError,
        QueryError,
        SchemaError,
        StorageError,
        ViolationsError,
    )
    from omnigraph.evolve.plan import SavedPlan, SchemaApplied, SchemaPlan
    from omnigraph.merge.compare.change_set import ChangeSet
    from omnigraph.merge.compare.row_change import Change
    from omnigraph.merge.conflict import Conflict, Resolutions
    from omnigraph.merge.outcome import Merge
    from omnigraph.query.compile import compile_query
    from omnigraph.query.layout import format_queries
    from omnigraph.query.lint import lint_queries
    from omnigraph.read.blob import Blob
    from omnigraph.read.execution import Budget
    from omnigraph.schema.catalog import Catalog
    from omnigraph.schema.compile import compile_schema
    from omnigraph.schema.parsing.layout import format_schema
    from omnigraph.span import Source
    from omnigraph.spark.settings import SparkSettings
    from omnigraph.versioning.commit import Commit
    from omnigraph.write.infer.inferred import infer
    from omnigraph.write.receipt import Receipt
    from omnigraph.write.resolved import Resolved

# Where each public name is defined. Imported on first use, so that `import omnigraph` and
# `omnigraph --help` load nothing they do not need.
_HOMES = {
    "Blob": "omnigraph.read.blob",
    "Branch": "omnigraph.api.branch",
    "Budget": "omnigraph.read.execution",
    "BudgetError": "omnigraph.errors",
    "CancelledError": "omnigraph.errors",
    "Catalog": "omnigraph.schema.catalog",
    "Change": "omnigraph.merge.compare.row_change",
    "ChangeSet": "omnigraph.merge.compare.change_set",
    "Commit": "omnigraph.versioning.commit",
    "Conflict": "omnigraph.merge.conflict",
    "ConflictError": "omnigraph.errors",
    "DeniedError": "omnigraph.errors",
    "Graph": "omnigraph.api.graph",
    "HeadMovedError": "omnigraph.errors",
    "InputError": "omnigraph.errors",
    "Merge": "omnigraph.merge.outcome",
    "MergeConflictsError": "omnigraph.errors",
    "NotFoundError": "omnigraph.errors",
    "OmniGraphError": "omnigraph.errors",
    "OutcomeUnknownError": "omnigraph.errors",
    "ParamsError": "omnigraph.errors",
    "QueryError": "omnigraph.errors",
    "Receipt": "omnigraph.write.receipt",
    "Resolved": "omnigraph.write.resolved",
    "Resolutions": "omnigraph.merge.conflict",
    "Result": "omnigraph.data.result",
    "ResultStream": "omnigraph.data.result",
    "SavedPlan": "omnigraph.evolve.plan",
    "SchemaApplied": "omnigraph.evolve.plan",
    "SchemaError": "omnigraph.errors",
    "SchemaPlan": "omnigraph.evolve.plan",
    "Source": "omnigraph.span",
    "SparkSettings": "omnigraph.spark.settings",
    "StorageError": "omnigraph.errors",
    "View": "omnigraph.api.view",
    "ViolationsError": "omnigraph.errors",
    "compile_query": "omnigraph.query.compile",
    "compile_schema": "omnigraph.schema.compile",
    "connect": "omnigraph.api.graph",
    "infer": "omnigraph.write.infer.inferred",
    "init": "omnigraph.api.graph",
    "format_queries": "omnigraph.query.layout",
    "format_schema": "omnigraph.schema.parsing.layout",
    "lint_queries": "omnigraph.query.lint",
    "open": "omnigraph.api.graph",
    "restore": "omnigraph.api.graph",
}

__all__ = [
    "Blob",
    "Branch",
    "Budget",
    "BudgetError",
    "CancelledError",
    "Catalog",
    "Change",
    "ChangeSet",
    "Commit",
    "Conflict",
    "ConflictError",
    "DeniedError",
    "Graph",
    "HeadMovedError",
    "InputError",
    "Merge",
    "MergeConflictsError",
    "NotFoundError",
    "OmniGraphError",
    "OutcomeUnknownError",
    "ParamsError",
    "QueryError",
    "Receipt",
    "Resolutions",
    "Resolved",
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
    "aio",
    "compile_query",
    "compile_schema",
    "connect",
    "format_queries",
    "format_schema",
    "infer",
    "init",
    "lint_queries",
    "open",
    "restore",
]


def __getattr__(name: str) -> object:
    if name == "aio":
        return import_module("omnigraph.aio")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'omnigraph' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
