"""Editing: what an editor asks about a text of queries, against the schema of a graph at hand."""

from typing import TYPE_CHECKING

from omnigraph.api.access import Access
from omnigraph.api.backend import CallOptions
from omnigraph.api.local.places import Functions, snapshot_of
from omnigraph.api.operations.editing import CompleteText, LintText

if TYPE_CHECKING:
    from omnigraph.query.editor.complete import Completions
    from omnigraph.query.editor.diagnose import Diagnosis


def lint_text(access: Access, operation: LintText, options: CallOptions) -> "Diagnosis":
    """Return the problems of a text, and what its queries take and return."""
    from omnigraph.query.editor.diagnose import diagnose

    catalog = snapshot_of(access, operation.place, options).catalog
    return diagnose(operation.query_source, catalog)


def complete_text(access: Access, operation: CompleteText, options: CallOptions) -> "Completions":
    """Return what may be written at a position of a text."""
    from omnigraph.query.editor.complete import complete

    catalog = snapshot_of(access, operation.place, options).catalog
    return complete(operation.query_source, operation.position, catalog)


FUNCTIONS: Functions = {LintText: lint_text, CompleteText: complete_text}
