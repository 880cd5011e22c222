"""Editing: operations of editors on a text of queries: its problems, and what may come next."""

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from omnigraph.api.backend import Backend
from omnigraph.api.operation import Document, PlaceOperation, Shape, ask
from omnigraph.api.operations.queries import ColumnShape

if TYPE_CHECKING:
    from omnigraph.query.editor.complete import Completions
    from omnigraph.query.editor.diagnose import Diagnosis


class ProblemPlaceShape(Shape, frozen=True, kw_only=True):
    """An error or a warning; `start` and `end` count the characters of the text."""

    severity: Literal["error", "warning"]
    code: str
    message: str
    hint: str | None
    line: int
    column: int
    start: int
    end: int


class ParameterShape(Shape, frozen=True, kw_only=True):
    """A parameter of a query."""

    name: str
    type: str
    required: bool


class QuerySketchShape(Shape, frozen=True, kw_only=True):
    """A query of a text; its columns are known when it has no errors."""

    name: str
    kind: Literal["read", "change"]
    parameters: list[ParameterShape]
    columns: list[ColumnShape]


class DiagnosisShape(Shape, frozen=True, kw_only=True):
    """The problems of a text, by where they are, and its queries."""

    problems: list[ProblemPlaceShape]
    queries: list[QuerySketchShape]


class CompletionShape(Shape, frozen=True, kw_only=True):
    """Something that may be written."""

    label: str
    kind: Literal["keyword", "type", "edge", "property", "function", "variable", "parameter"]
    detail: str
    insert: str


class CompletionsShape(Shape, frozen=True, kw_only=True):
    """What may be written instead of the characters from `start` to the position."""

    start: int
    items: list[CompletionShape]


class LintText(PlaceOperation["Diagnosis"], frozen=True, kw_only=True):
    """Return the problems of a text of queries, and what the queries take and return."""

    endpoint = ask("/lint", "lint", DiagnosisShape, "LintBody")

    query_source: str

    def result(self, answer: Document, backend: Backend) -> "Diagnosis":
        from omnigraph.query.editor.diagnose import Diagnosis

        return Diagnosis.from_json(answer)


class CompleteText(PlaceOperation["Completions"], frozen=True, kw_only=True):
    """Return what may be written at a position of a text of queries, which need not parse."""

    endpoint = ask("/complete", "complete", CompletionsShape, "CompleteBody")

    query_source: str
    position: Annotated[int, Meta(ge=0, le=2**31 - 1)]

    def result(self, answer: Document, backend: Backend) -> "Completions":
        from omnigraph.query.editor.complete import Completions

        return Completions.from_json(answer)


OPERATIONS = (LintText, CompleteText)
