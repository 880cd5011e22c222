"""Model: what a graph must hold after some operations, as plain dicts that travel as JSON."""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, TypedDict

FIRST = "init"


class Kind(StrEnum):
    """What an operation does."""

    INIT = "init"
    WRITE = "write"
    APPEND = "append"
    OVERWRITE = "overwrite"
    CREATE_BRANCH = "create branch"
    DELETE_BRANCH = "delete branch"
    RENAME_BRANCH = "rename branch"
    MIGRATE = "migrate"
    SPILL = "spill"
    OPTIMIZE = "optimize"
    CLEANUP = "cleanup"


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing done to a graph; its number is its own, and `other` the name it makes."""

    kind: Kind
    number: int
    branch: str = "main"
    other: str = ""

    @property
    def message(self) -> str:
        """The message of the commit that it makes."""
        return f"{self.kind} {self.number}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(given: dict[str, Any]) -> "Operation":
        return Operation(**{**given, "kind": Kind(given["kind"])})


class Content(TypedDict):
    """The age of every person, and the sorted ids of the edges."""

    people: dict[str, int]
    edges: list[str]


class Model(TypedDict):
    """The messages of every branch's commits, oldest first, and what the graph held at each."""

    branches: dict[str, list[str]]
    contents: dict[str, Content]


NOTHING: Model = {"branches": {}, "contents": {}}


def person(number: int) -> str:
    """Return the id of the person that an operation adds."""
    return f"p{number}"


def edge(number: int) -> str:
    """Return the id of the edge that an operation adds: from its person to the counter."""
    return f"{person(number)}-counter"


def applied(model: Model, operation: Operation) -> Model:
    """Return the model after an operation; the one given stays as it is."""
    branches, contents = dict(model["branches"]), dict(model["contents"])
    match operation.kind:
        case Kind.INIT:
            branches["main"] = [FIRST]
            contents[FIRST] = {"people": {}, "edges": []}
        case Kind.MIGRATE | Kind.OPTIMIZE | Kind.CLEANUP | Kind.SPILL:
            pass
        case Kind.CREATE_BRANCH:
            branches[operation.other] = branches[operation.branch]
        case Kind.DELETE_BRANCH:
            del branches[operation.branch]
        case Kind.RENAME_BRANCH:
            branches[operation.other] = branches.pop(operation.branch)
        case Kind.WRITE | Kind.APPEND | Kind.OVERWRITE:
            before = contents[branches[operation.branch][-1]]
            branches[operation.branch] = [*branches[operation.branch], operation.message]
            contents[operation.message] = _changed(before, operation)
    return {"branches": branches, "contents": contents}


def agrees(seen: Model, expected: Model) -> bool:
    """Tell whether all that was seen is as expected; not all contents need to have been read."""
    held = expected["contents"]
    return seen["branches"] == expected["branches"] and all(
        held[message] == content for message, content in seen["contents"].items()
    )


def _changed(before: Content, operation: Operation) -> Content:
    number = operation.number
    people, edges = dict(before["people"]), set(before["edges"])
    if operation.kind is Kind.OVERWRITE:
        people, edges = {"counter": number}, set()
    if operation.kind is Kind.WRITE:
        people |= {"counter": number, person(number - 1): -number}
        people.pop(person(number - 2), None)
        edges.discard(edge(number - 2))
    return {"people": people | {person(number): number}, "edges": sorted(edges | {edge(number)})}
