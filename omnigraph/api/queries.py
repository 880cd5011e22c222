"""Queries: the stored queries of a branch or commit, each a function of its parameters."""

from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter, Signature
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from omnigraph.api.operations.queries import GetQuery, InvokeQuery, ListQueries
from omnigraph.html import html_facts, notebook_part
from omnigraph.query.stored import CHANGE, QueryDescription
from omnigraph.write.receipt import Receipt

if TYPE_CHECKING:
    from omnigraph.data.result import Result

# What runs an operation with the options of a handle.
Run = Callable[[Any], Any]
_PYTHON = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "array": "list",
    "null": "None",
}


class Queries(Mapping[str, "QueryFunction"]):
    """The stored queries that the actor may run here, by name.

    Each is read from the graph when it is used, so that new ones are there at once.
    """

    def __init__(self, run: Run, place: Mapping[str, Any], notes: Mapping[str, Any]) -> None:
        self._run = run
        self._place = place
        self._notes = notes

    def __getitem__(self, name: str) -> "QueryFunction":
        """Return a stored query; raise QueryNotFoundError, which is no KeyError."""
        return self._function(self._run(GetQuery(name=name, **self._place)))

    def __iter__(self) -> Iterator[str]:
        return iter([each.name for each in self.describe()])

    def __len__(self) -> int:
        return len(self.describe())

    def __repr__(self) -> str:
        return f"Queries({list(self)})"

    def _repr_html_(self) -> str:
        facts = [(each.name, each.description) for each in self.describe()]
        return notebook_part(html_facts("Queries", facts))

    def describe(self) -> list[QueryDescription]:
        """Return what each stored query takes and returns."""
        found: list[QueryDescription] = self._run(ListQueries(**self._place))
        return found

    def _function(self, about: QueryDescription) -> "QueryFunction":
        def invoke(params: dict[str, object]) -> object:
            notes = self._notes if about.kind == CHANGE else {}
            return self._run(InvokeQuery(name=about.name, params=params, **self._place, **notes))

        return QueryFunction(about, invoke)


class QueryFunction:
    """A stored query: called with its parameters, it returns a `Result` or a `Receipt`."""

    def __init__(
        self, about: QueryDescription, invoke: Callable[[dict[str, object]], object]
    ) -> None:
        self.about = about
        self._invoke = invoke
        self.__name__ = about.name
        self.__doc__ = _documented(about)
        self.__signature__ = _signature(about)

    def __call__(self, /, **params: object) -> "Result | Receipt":
        """Run the query; keywords are its parameters."""
        found: Any = self._invoke(params)
        if isinstance(found, Receipt):
            return found
        result: Result = found.to_result()
        return result

    def __repr__(self) -> str:
        return f"{self.about.name}{self.__signature__}"


def _signature(about: QueryDescription) -> Signature:
    required = set(about.params.get("required", ()))
    declared = about.params.get("properties", {})
    shown = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if name in required else None,
            annotation=_annotation(schema),
        )
        for name, schema in declared.items()
        if not iskeyword(name)
    ]
    # A word of Python, such as `from`, is passed as **{"from": …}.
    rest = [Parameter("others", Parameter.VAR_KEYWORD)] if len(shown) < len(declared) else []
    return Signature(
        [*shown, *rest],
        return_annotation="Receipt" if about.kind == CHANGE else "Result",
    )


def _annotation(schema: Mapping[str, Any]) -> str:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " | ".join(_PYTHON[each] for each in kinds)


def _documented(about: QueryDescription) -> str:
    lines = [about.description or f"The stored {about.kind} '{about.name}'."]
    if about.instruction is not None:
        lines += ["", about.instruction]
    if about.columns:
        columns = ", ".join(f"{name}: {kind}" for name, kind in about.columns)
        lines += ["", f"Columns: {columns}"]
    if about.problem is not None:
        lines += ["", f"It cannot be run here: {about.problem}"]
    return "\n".join(lines)
