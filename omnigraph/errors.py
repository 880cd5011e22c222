"""The whole error tree: every failure has a stable code, a message and a hint.

    OmniGraphError
    ├── InputError                the caller's input is wrong; nothing was done
    │   ├── SourceError           problems in a text, each with its span
    │   │   ├── SchemaError       a `.pg` schema does not compile
    │   │   ├── QueryError        a `.gq` query does not compile
    │   │   └── ExpressionError   what a query computes has no value for a row
    │   ├── ParamsError           the parameters do not fit the query
    │   ├── SchemaIrError         a stored schema cannot be read back
    │   ├── SchemaEditedError     the graph's readable copy of its schema was edited by hand
    │   ├── UnsupportedMigrationError  the graph cannot be migrated to the given schema
    │   ├── DataLossError         the given schema drops something, and that was not allowed
    │   ├── UnreadableError       a file cannot be read
    │   ├── ConfigError           a configuration file is invalid
    │   │   └── DeclarationError  the files of a deployment are invalid
    │   ├── ApprovalNeededError   a graph would lose data, and nobody approved of that
    │   ├── ViolationsError       records break the rules of their types
    │   ├── StoreError            the location cannot hold a graph
    │   ├── BranchNameError       the name is not a valid branch name
    │   ├── ReadOnlyError         the graph was opened read-only
    │   ├── GraphExistsError      a graph already exists at this location
    │   ├── OperationReusedError  the operation id was used for another request before
    │   ├── BranchExistsError     a branch with this name, or in other case, already exists
    │   └── TagExistsError        a tag with this name already exists
    ├── NotFoundError             the named thing does not exist
    │   ├── QueryNotFoundError    the file has no query with this name
    │   ├── GraphNotFoundError    there is no graph at this location
    │   │   └── GraphReplacedError  the open graph was replaced by another one
    │   ├── BranchNotFoundError   there is no branch with this name
    │   ├── CommitNotFoundError   there is no commit with this id or version
    │   │   └── CommitCleanedError  the commit is known, but a cleanup removed its rows
    │   │       └── HistoryGapError  changes after a cursor were removed by a cleanup
    │   ├── TableNotFoundError    there is no table with this key
    │   ├── RowNotFoundError      there is no node or edge with this id
    │   ├── TagNotFoundError      there is no tag with this name
    │   ├── RevisionNotFoundError  there is no such revision of the deployment
    │   └── RunNotFoundError      there is no run with this id
    ├── ConflictError             another writer was faster; nothing was done
    │   ├── DeploymentMovedError  the deployment is no longer what was planned on
    │   ├── ExpectedVersionMismatchError  a table is no longer at the version that was read
    │   ├── HeadMovedError        the branch kept moving, or is not at the expected commit
    │   │   └── SchemaMovedError  the schema of the branch changed meanwhile
    │   ├── SchemaConflictError   both sides of a merge changed the schema differently
    │   └── MergeConflictsError   both sides of a merge changed the same values differently
    ├── DeniedError               the policy does not allow the action; nothing was done
    ├── StorageError              the disk or object store failed; nothing was done
    ├── OutcomeUnknownError       nobody can tell whether the write landed
    ├── SparkError                Spark cannot start, or a job on it failed; nothing was done
    ├── EmbeddingError            a text could not be embedded; nothing was done
    │   └── EmbeddingModelError   the vectors that are there were made by another model
    ├── BudgetError               a query needs more time, rows or memory than its budget
    ├── ResultOverflowError       a number in a result does not fit its type
    ├── CancelledError            the operation was cancelled; nothing was done
    ├── FormatError               the graph was written by a newer release
    │   └── FormatUnreadableError  the graph does not say which format it has
    ├── RemoteError               a server failed, or its answer could not be read
    │   ├── UnreachableError      no server answers at this address; nothing was done
    │   └── UnauthorizedError     the token is missing or unknown; nothing was done
    └── UnavailableError          this release does not support the operation

An error about a text has all problems of that text (up to a bound) and renders
each with its source line and a caret. The codes are documented in
docs/errors.md.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, Self, TypeAlias

from omnigraph.frozen import dataclass
from omnigraph.span import Source, Span, show_span

_MOST_CONFLICTS = 20
_MOST_PROBLEMS = 50
_LONGEST_VALUE = 80
_BESIDE = (
    "nothing was changed; add a property or type beside it instead, and fill it with a mutation"
)

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None


class Code(StrEnum):
    """Every stable code of a problem in a schema, a query, its parameters or records."""

    SCHEMA_SYNTAX = "S000"
    SCHEMA_CAP = "S001"
    DUPLICATE_TYPE = "S1"
    DUPLICATE_PROPERTY = "S2"
    UNDECLARED_TYPE = "S3"
    RESERVED_NAME = "S4"
    EDGE_TWINS = "S5"
    INTERFACE_MISMATCH = "S6"
    MISPLACED_ANNOTATION = "S7"
    REPEATED_ANNOTATION = "S8"
    ANNOTATION_ARGUMENT = "S9"
    UNDECLARED_PROPERTY = "S10"
    UNSUITABLE_PROPERTY = "S11"
    SECOND_KEY = "S12"
    BAD_RANGE = "S13"
    BAD_PATTERN = "S14"
    BAD_CARDINALITY = "S15"
    BAD_EMBED = "S16"
    BAD_DEFAULT = "S17"
    BAD_RENAME = "S18"

    QUERY_SYNTAX = "Q000"
    QUERY_CAP = "Q001"
    MIXED_MUTATION = "D2"
    UNKNOWN_TYPE = "T1"
    UNKNOWN_PROPERTY = "T2"
    UNKNOWN_EDGE = "T3"
    UNKNOWN_VARIABLE = "T4"
    REBOUND_VARIABLE = "T5"
    DUPLICATE_NAME = "T6"
    TYPE_MISMATCH = "T7"
    ENUM_VALUE = "T8"
    UNSUITABLE_OPERATOR = "T9"
    EDGE_ENDPOINTS = "T10"
    BAD_HOPS = "T11"
    AMBIGUOUS_DIRECTION = "T12"
    UNCORRELATED_NEGATION = "T13"
    OPTIONAL_ESCAPE = "T14"
    NOT_A_VALUE = "T15"
    MISUSED_AGGREGATE = "T16"
    DUPLICATE_COLUMN = "T17"
    UNKNOWN_ALIAS = "T18"
    MISUSED_SEARCH = "T19"
    NEAREST_WITHOUT_LIMIT = "T20"
    UNGROUPED_EXPRESSION = "T21"
    BAD_BOUND = "T22"
    REQUIRED_ASSIGNMENT = "T23"
    READ_ONLY_PROPERTY = "T24"
    KEY_UPDATE = "T25"
    VALUE_OUT_OF_RANGE = "T26"
    MISUSED_FUNCTION = "T27"
    STALE_MATCH = "T28"
    MISPLACED_EXISTS = "T29"
    UNION_COLUMNS = "T30"
    MISUSED_PATH = "T31"

    UNCOMPUTABLE = "E1"

    PROPERTY_NEVER_UPDATED = "L201"
    MUTATION_WITHOUT_PARAMS = "L202"

    MISSING_PARAM = "P1"
    UNKNOWN_PARAM = "P2"
    NULL_PARAM = "P3"
    PARAM_TYPE = "P4"
    PARAM_BOUND = "P5"

    RECORD_SYNTAX = "V1"
    RECORD_SHAPE = "V2"
    RECORD_TYPE = "V3"
    RECORD_FIELD = "V4"
    REPEATED_FIELD = "V5"
    REQUIRED_VALUE = "V6"
    VALUE_TYPE = "V7"
    VALUE_ENUM = "V8"
    VALUE_RANGE = "V9"
    VALUE_CHECK = "V10"
    REPEATED_KEY = "V11"
    EXISTING_KEY = "V12"
    UNIQUE_VALUE = "V13"
    MISSING_ENDPOINT = "V14"
    CARDINALITY = "V15"


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake, where it is, and what to do about it."""

    code: Code
    message: str
    span: Span | None = None
    hint: str | None = None

    def render(self, source: Source | None) -> str:
        """Return the problem as text, with the source line and a caret when there is a span."""
        lines = [f"error[{self.code}]: {self.message}"]
        if source is not None and self.span is not None:
            lines += show_span(source, self.span)
        if self.hint is not None:
            lines.append(f"   = hint: {self.hint}")
        return "\n".join(lines)

    def to_json(self, source: Source | None) -> dict[str, Json]:
        """Return the problem as a JSON object; places count from 1."""
        return {
            "code": str(self.code),
            "message": self.message,
            "hint": self.hint,
            "span": None if source is None or self.span is None else _span_json(source, self.span),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the problem that `to_json` wrote."""
        span = document["span"]
        where = None if span is None else Span(span["start"], span["end"])
        return cls(Code(document["code"]), document["message"], where, document["hint"])


class OmniGraphError(Exception):
    """Any failure that OmniGraph reports on purpose."""

    code: str = "error"
    hint: str | None = None

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        # Half of a surrogate pair, which a name or a value of Python can hold, cannot be written.
        self.message = message.encode(errors="backslashreplace").decode()
        self.hint = hint
        super().__init__(self.message)

    def __str__(self) -> str:
        """Return all that a terminal shows: the message, then places, hints and problems."""
        rendered = self.render()
        rest = rendered.removeprefix(f"error[{self.code}]: {self.message}")
        return f"{self.message}{rest}" if rest != rendered else f"{self.message}\n{rendered}"

    def render(self) -> str:
        """Return the error as text for a person."""
        hint = "" if self.hint is None else f"\n   = hint: {self.hint}"
        return f"error[{self.code}]: {self.message}{hint}"

    def to_json(self) -> dict[str, Json]:
        """Return the error as a JSON object for a program."""
        return {"error": self.message, "code": self.code, "hint": self.hint}

    @classmethod
    def from_json(cls, document: Mapping[str, Any], source: Source | None = None) -> Self:
        """Return the error of this class that `to_json` wrote; its problems are in the source."""
        del source
        error = cls.__new__(cls)
        OmniGraphError.__init__(error, document["error"], hint=document.get("hint"))
        known = ("error", "code", "hint")
        error.__dict__.update({name: each for name, each in document.items() if name not in known})
        return error

    def __reduce__(self) -> tuple[object, ...]:
        return (_revive, (type(self), self.args, self.__dict__))


class InputError(OmniGraphError):
    """The caller's input is wrong; nothing was done."""

    code = "bad_input"


class _ProblemsError(InputError):
    """An error made of one or more problems, the first of which gives its code."""

    summary: ClassVar[str]
    # The first letters of the codes of its problems.
    letters: ClassVar[str] = ""

    def __init__(
        self, problems: Sequence[Problem], *, source: Source | None = None, total: int | None = None
    ) -> None:
        first = problems[0]
        total = len(problems) if total is None else total
        more = "" if total == 1 else f" (and {total - 1} more)"
        super().__init__(f"{self.summary}: {first.message}{more}", hint=first.hint)
        self.code = str(first.code)
        self.problems = tuple(problems)
        self.source = source
        self.total = total

    def render(self) -> str:
        parts = [problem.render(self.source) for problem in self.problems]
        if self.total > len(self.problems):
            parts.append(f"… and {self.total - len(self.problems)} more problems")
        return "\n\n".join(parts)

    def to_json(self) -> dict[str, Json]:
        return {
            **super().to_json(),
            "source": None if self.source is None else self.source.name,
            "problems": [problem.to_json(self.source) for problem in self.problems],
            "problem_count": self.total,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], source: Source | None = None) -> Self:
        problems = [Problem.from_json(each) for each in document["problems"]]
        quoted_source = None if document.get("source") is None else source
        return cls(problems, source=quoted_source, total=document["problem_count"])


class SourceError(_ProblemsError):
    """Problems in a text, each with its span."""

    summary = "the text does not compile"


class SchemaError(SourceError):
    """A `.pg` schema does not compile."""

    summary = "the schema does not compile"
    letters = "S"


class QueryError(SourceError):
    """A `.gq` query does not compile."""

    summary = "the query does not compile"
    letters = "QTD"


class ExpressionError(SourceError):
    """What a query computes has no value for a row: a number is divided by zero, for instance."""

    summary = "the query has no answer"
    letters = "E"


class ParamsError(_ProblemsError):
    """The parameters do not fit the query."""

    summary = "the parameters do not fit"
    letters = "P"


class SchemaIrError(InputError):
    """A stored schema cannot be read back."""

    code = "schema_ir_invalid"


class SchemaEditedError(InputError):
    """The graph's readable copy of its schema was edited by hand."""

    code = "schema_edited"


class UnsupportedMigrationError(InputError):
    """The graph cannot be migrated to the given schema; nothing was done."""

    code = "unsupported_migration"

    def __init__(self, changes: Sequence[str], *, hint: str | None = _BESIDE) -> None:
        more = "" if len(changes) == 1 else f" (and {len(changes) - 1} more)"
        super().__init__(f"{changes[0]}{more}", hint=hint)
        self.changes = tuple(changes)

    def render(self) -> str:
        return "\n".join([super().render(), *(f"   - {each}" for each in self.changes)])

    def to_json(self) -> dict[str, Json]:
        return {**super().to_json(), "unsupported_changes": list(self.changes)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any], source: Source | None = None) -> Self:
        del source
        return cls(document["unsupported_changes"], hint=document.get("hint"))


class DataLossError(InputError):
    """The given schema drops something, and that was not allowed; nothing was done."""

    code = "data_loss"

    def __init__(self, drops: Sequence[str]) -> None:
        more = "" if len(drops) == 1 else f" (and {len(drops) - 1} more)"
        hint = "nothing was changed; --allow-data-loss, or allow_data_loss=True, applies it"
        super().__init__(f"{drops[0]}{more}", hint=hint)
        self.drops = tuple(drops)

    def render(self) -> str:
        return "\n".join([super().render(), *(f"   - {each}" for each in self.drops)])

    def to_json(self) -> dict[str, Json]:
        return {**super().to_json(), "drops": list(self.drops)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any], source: Source | None = None) -> Self:
        del source
        return cls(document["drops"])


class UnreadableError(InputError):
    """A file cannot be read."""

    code = "unreadable"


class ConfigError(InputError):
    """A configuration file is invalid."""

    code = "config_invalid"


@dataclass(frozen=True, slots=True, order=True)
class FileProblem:
    """What is wrong in a file, and in which line of it."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"

    def to_json(self) -> dict[str, Json]:
        """Return the problem as JSON."""
        return {"file": self.file, "line": self.line, "message": self.message}


class DeclarationError(ConfigError):
    """The files of a deployment are invalid; nothing was done."""

    code = "deployment_invalid"

    def __init__(self, problems: Iterable[FileProblem]) -> None:
        self.file_problems = tuple(sorted(set(problems)))
        more = len(self.file_problems) - 1
        first = f"{self.file_problems[0]}"
        super().__init__(first if not more else f"{first} (and {more} more)")

    def render(self) -> str:
        shown = [f"   - {each}" for each in self.file_problems[:_MOST_PROBLEMS]]
        more = len(self.file_problems) - len(shown)
        rest = [f"   … and {more} more"] if more > 0 else []
        count = len(self.file_problems)
        head = f"error[{self.code}]: {count} problem{'' if count == 1 else 's'}; nothing was done"
        return "\n".join([head, *shown, *rest])

    def to_json(self) -> dict[str, Json]:
        return {
            **super().to_json(),
            "file_problems": [each.to_json() for each in self.file_problems],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], source: Source | None = None) -> Self:
        del source
        return cls(FileProblem(**each) for each in document["file_problems"])


class ApprovalNeededError(InputError):
    """A graph would be deleted or lose data, and nobody approved of the plan that does so."""

    code = "approval_needed"


# Records that break rules are counted up to here, and from there on no longer looked for.
MOST_VIOLATIONS = 100_000
_OTHER_MODES = (
    "--mode merge changes rows that exist, --mode replace writes them whole; "
    'in Python, mode="merge" and mode="replace"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One record that breaks a rule: its place, the field, and the reason.

    `line` counts from 1; a row that is in no file is named by `id`. `other` is the row that
    this one conflicts with, or that it refers to and that does not exist.
    """

    code: Code
    reason: str
    type: str | None = None
    field: str | None = None
    id: str | None = None
    file: str | None = None
    line: int | None = None
    other: str | None = None

    def render(self) -> str:
        """Return the violation as one line of text."""
        at = "" if self.line is None else f":{self.line}"
        place = "" if self.file is None else f"{self.file}{at}: "
        what = ".".join(each for each in (self.type, self.field) if each is not None)
        row = "" if self.id is None else f" of '{self.id}'"
        return f"error[{self.code}]: {place}{what}{row}{': ' if what else ''}{self.reason}"

    def to_json(self) -> dict[str, Json]:
        """Return the violation as a JSON object."""
        return {
            "code": str(self.code),
            "file": self.file,
            "line": self.line,
            "type": self.type,
            "id": self.id,
            "field": self.field,
            "reason": self.reason,
            "other": self.other,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Return the violation that `to_json` wrote."""
        return cls(**{**document, "code": Code(document["code"])})


class ViolationsError(InputError):
    """Records break the rules of their types; nothing was written.

    Violations are counted up to `MOST_VIOLATIONS`; a `total` above it means that there are more.
    """

    def __init__(self, violations: Sequence[Violation], *, total: int) -> None:
        first = violations[0]
        self.code = str(first.code)
        self.violations = tuple(violations)
        self.total = min(total, MOST_VIOLATIONS + 1)
        message = first.render().partition(": ")[2]
        more = "" if self.total == 1 else f" (and {self._beyond(1)} more)"
        exists = any(each.code is Code.EXISTING_KEY for each in self.violations)
        super().__init__(f"{message}{more}", hint=_OTHER_MODES if exists else None)

    def render(self) -> str:
        parts = [violation.render() for violation in self.violations]
        if self.total > len(self.violations):
            parts.append(f"… and {self._beyond(len(self.violations))} more")
        many = "1 violation" if self.total == 1 else f"{self._beyond(0)} violations"
        parts.append(f"{many}; nothing was written")
        if self.hint is not None:
            parts.append(f"   = hint: {self.hint}")
        return "\n".join(parts)

    def _beyond(self, told: int) -> str:
        """Return how many violations there are beside so many."""
        if self.total > MOST_VIOLATIONS:
            return f"more than {MOST_VIOLATIONS - told:,}"
        return str(self.total - told)

    def to_json(self) -> dict[str, Json]:
        return {
            **super().to_json(),
            "violations": [violation.to_json() for violation in self.violations],
            "violation_count": self.total,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any], source: Source | None = None) -> Self:
        del source
        violations = [Violation.from_json(each) for each in document["violations"]]
        return cls(violations, total=document["violation_count"])


class StoreError(InputError):
    """The location cannot hold a graph."""

    code = "store_unusable"
    # In a few words that may be logged, such as `403 AccessDenied`, when the store said why.
    cause: str | None = None


class BranchNameError(InputError):
    """The name is not a valid branch name."""

    code = "branch_name_invalid"


class ReadOnlyError(InputError):
    """The graph was opened read-only."""

    code = "read_only"


class GraphExistsError(InputError):
    """A graph already exists at this location."""

    code = "graph_exists"


class OperationReusedError(InputError):
    """The operation id was used for another request before."""

    code = "operation_reused"


class BranchExistsError(InputError):
    """A branch with this name, or one that differs only in case, already exists."""

    code = "branch_exists"


class TagExistsError(InputError):
    """A tag with this name already exists."""

    code = "tag_exists"


class NotFoundError(OmniGraphError):
    """The named thing does not exist."""

    code = "not_found"


class QueryNotFoundError(NotFoundError):
    """The file has no query with this name."""

    code = "query_not_found"


class GraphNotFoundError(NotFoundError):
    """There is no graph at this location."""

    code = "graph_not_found"


class GraphReplacedError(GraphNotFoundError):
    """The open graph was removed, and another one was made in its place."""

    code = "graph_replaced"


class BranchNotFoundError(NotFoundError):
    """There is no branch with this name."""

    code = "branch_not_found"


class CommitNotFoundError(NotFoundError):
    """There is no commit with this id or version."""

    code = "commit_not_found"


class CommitCleanedError(CommitNotFoundError):
    """The commit is known, but a cleanup removed its rows."""

    code = "commit_cleaned"


class HistoryGapError(CommitCleanedError):
    """Changes after a cursor were removed by a cleanup, so that they cannot be followed."""

    code = "history_gap"


class TableNotFoundError(NotFoundError):
    """There is no table with this key."""

    code = "table_not_found"


class RowNotFoundError(NotFoundError):
    """There is no node or edge with this id."""

    code = "row_not_found"


class TagNotFoundError(NotFoundError):
    """There is no tag with this name."""

    code = "tag_not_found"


class RevisionNotFoundError(NotFoundError):
    """There is no such revision of the deployment, or none that serves."""

    code = "revision_not_found"


class RunNotFoundError(NotFoundError):
    """There is no run with this id."""

    code = "run_not_found"


class ConflictError(OmniGraphError):
    """Another writer was faster; nothing was done."""

    code = "conflict"


class ExpectedVersionMismatchError(ConflictError):
    """A table is no longer at the version that was read."""

    code = "expected_version_mismatch"

    def __init__(self, table_key: str, expected: int | None, actual: int | None) -> None:
        message = f"{table_key} was at version {expected} and is now at {actual}"
        super().__init__(message, hint="read again and repeat the change")
        self.table_key = table_key
        self.expected = expected
        self.actual = actual

    def to_json(self) -> dict[str, Json]:
        conflict: Json = {
            "table_key": self.table_key,
            "expected": None if self.expected is None else str(self.expected),
            "actual": None if self.actual is None else str(self.actual),
        }
        return {**super().to_json(), "manifest_conflict": conflict}

    @classmethod
    def from_json(cls, document: Mapping[str, Any], source: Source | None = None) -> Self:
        del source
        found = document["manifest_conflict"]
        expected, actual = (
            None if found[each] is None else int(found[each]) for each in ("expected", "actual")
        )
        return cls(found["table_key"], expected, actual)


class DeploymentMovedError(ConflictError):
    """The deployment is no longer what was planned on; nothing was published."""

    code = "deployment_moved"


class HeadMovedError(ConflictError):
    """The branch kept moving, or is not at the commit that the caller expects."""

    code = "head_moved"


class SchemaMovedError(HeadMovedError):
    """The schema of the branch changed between reading it and publishing to it."""

    code = "schema_moved"


class SchemaConflictError(ConflictError):
    """Both sides of a merge changed the schema in ways that contradict each other."""

    code = "schema_conflict"

    def __init__(self, conflicts: Sequence[str]) -> None:
        more = "" if len(conflicts) == 1 else f" (and {len(conflicts) - 1} more)"
        super().__init__(f"the two sides changed the schema differently: {conflicts[0]}{more}")
        self.conflicts = tuple(conflicts)

    def render(self) -> str:
        return "\n".join([super().render(), *(f"   - {each}" for each in self.conflicts)])

    def to_json(self) -> dict[str, Json]:
        return {**super().to_json(), "schema_conflicts": list(self.conflicts)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any], source: Source | None = None) -> Self:
        del source
        return cls(document["schema_conflicts"])


class MergeConflictsError(ConflictError):
    """Both sides of a merge changed the same values differently; nothing was done."""

    code = "merge_conflicts"

    def __init__(
        self, documents: Sequence[Mapping[str, Json]], conflicts: Sequence[Any] = ()
    ) -> None:
        more = "" if len(documents) == 1 else f" (and {len(documents) - 1} more)"
        hint = "preview the merge to see all conflicts, then choose a side or a value for each"
        super().__init__(f"{documents[0]['message']}{more}", hint=hint)
        self.documents = tuple(documents)
        self.conflicts = tuple(conflicts)

    def render(self) -> str:
        shown = self.documents[:_MOST_CONFLICTS]
        lines = [line for each in shown for line in conflict_lines(each)]
        if len(self.documents) > len(shown):
            lines.append(f"   … and {len(self.documents) - len(shown)} more conflicts")
        return "\n".join([super().render(), *lines])

    def to_json(self) -> dict[str, Json]:
        return {**super().to_json(), "merge_conflicts": [dict(each) for each in self.documents]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any], source: Source | None = None) -> Self:
        del source
        return cls(document["merge_conflicts"])


def conflict_lines(conflict: Mapping[str, Json]) -> list[str]:
    """Return a conflict, as a preview writes it, as lines for a person."""
    name = conflict.get("property")
    of = "" if name is None else f" ({name})"
    lines = [f"   - {conflict.get('kind', 'conflict')}: {conflict['message']}{of}"]
    sides = {side: conflict.get(side) for side in ("base", "ours", "theirs")}
    if any(value is not None for value in sides.values()):
        shown = ", ".join(f"{side} {_shown(value)}" for side, value in sides.items())
        lines.append(f"       {shown}")
    return lines


def _shown(value: Json) -> str:
    """Return a value of a conflict, cut when it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"


class DeniedError(OmniGraphError):
    """The policy does not allow the action; nothing was done."""

    code = "denied"

    def __init__(
        self,
        actor: str | None,
        action: str,
        branch: str | None = None,
        *,
        message: str | None = None,
        hint: str | None = None,
    ) -> None:
        about = f"'{action}'" if branch is None else f"'{action}' on '{branch}'"
        allowed = f"{about} without an actor" if actor is None else f"'{actor}' to {about}"
        super().__init__(message or f"the policy does not allow {allowed}", hint=hint)
        self.actor = actor
        self.action = action
        self.branch = branch

    def to_json(self) -> dict[str, Json]:
        asked: dict[str, Json] = {
            "actor": self.actor,
            "action": self.action,
            "branch": self.branch,
        }
        return {**super().to_json(), **asked}


class StorageError(OmniGraphError):
    """The disk or object store failed; nothing was done."""

    code = "storage_failed"
    # In a few words that may be logged, such as `403 AccessDenied`, when the store said why.
    cause: str | None = None


class OutcomeUnknownError(OmniGraphError):
    """The store or the connection failed during a write, which may or may not have landed."""

    code = "outcome_unknown"


class SparkError(OmniGraphError):
    """Spark cannot start, or a job on it failed; nothing was done."""

    code = "spark_failed"


class EmbeddingError(OmniGraphError):
    """A text could not be embedded; nothing was done."""

    code = "embedding_failed"


class EmbeddingModelError(EmbeddingError):
    """The vectors that are there were made by another model; nothing was done."""

    code = "embedding_model"


class BudgetError(OmniGraphError):
    """Some work needs more time, rows or memory than its budget allows.

    `setting` is the limit of a server that it was, if that is not the one of the work.
    """

    code = "budget_exceeded"

    def __init__(
        self, message: str, *, limit: str, hint: str | None = None, setting: str | None = None
    ) -> None:
        super().__init__(message, hint=hint or f"allow more {limit}, or ask for less")
        self.limit = limit
        self.setting = setting

    def to_json(self) -> dict[str, Json]:
        return {**super().to_json(), "limit": self.limit}


class ResultOverflowError(OmniGraphError):
    """A number in a result does not fit its type."""

    code = "overflow"


class CancelledError(OmniGraphError):
    """The operation was cancelled; nothing was done."""

    code = "cancelled"


class FormatError(OmniGraphError):
    """The graph was written by a newer release."""

    code = "format_too_new"


class FormatUnreadableError(FormatError):
    """The graph does not say which format it has."""

    code = "format_unreadable"


class RemoteError(OmniGraphError):
    """A server failed, or its answer could not be read."""

    code = "remote_failed"


class UnreachableError(RemoteError):
    """No server answers at this address; nothing was done."""

    code = "unreachable"


class UnauthorizedError(RemoteError):
    """The token is missing or unknown; nothing was done."""

    code = "unauthorized"

    def render(self) -> str:
        hint = "set OMNIGRAPH_BEARER_TOKEN, `omnigraph login` with a profile, or token= in Python"
        return (
            super().render() if self.hint is not None else f"{super().render()}\n   = hint: {hint}"
        )


class UnavailableError(OmniGraphError):
    """This release does not support the operation."""

    code = "unavailable"


def hint_install(extra: str, *others: str) -> str:
    """Return the command that installs an extra; zsh refuses its brackets without the quotes."""
    return " ".join(("pip install", f"'omnigraph[{extra}]'", *others))


def error_from_json(
    document: Mapping[str, Any], source: Source | None = None
) -> OmniGraphError | None:
    """Return the error that `to_json` wrote, of the class that it had; None for an unknown code."""
    if document.get("violations"):
        return ViolationsError.from_json(document)
    code = document["code"]
    for kind in _classes():
        if kind.code == code and not document.get("problems"):
            return kind.from_json(document, source)
        if (
            issubclass(kind, _ProblemsError)
            and document.get("problems")
            and code[0] in kind.letters
        ):
            return kind.from_json(document, source)
    return None


def _classes() -> Iterator[type[OmniGraphError]]:
    """Yield every class of the tree, those above before those below."""
    waiting: list[type[OmniGraphError]] = [OmniGraphError]
    for kind in waiting:
        yield kind
        waiting.extend(kind.__subclasses__())


def _span_json(source: Source, span: Span) -> dict[str, Json]:
    """Return a span with both its ends as offsets and as line and column."""
    start, end = source.locate(span.start), source.locate(span.end)
    return {
        "start": span.start,
        "end": span.end,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
    }


def _revive(
    kind: type[OmniGraphError], args: tuple[object, ...], state: dict[str, object]
) -> OmniGraphError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error
