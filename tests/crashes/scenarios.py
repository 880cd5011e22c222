"""Scenarios: each kind of operation, on a graph on which it does all that it can do."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.crashes.model import NOTHING, Kind, Model, Operation, applied
from tests.crashes.nursery import Nursery

INIT = Operation(Kind.INIT, 0)
WRITES = (INIT, Operation(Kind.WRITE, 1), Operation(Kind.WRITE, 2))
BRANCHED = (
    *WRITES,
    Operation(Kind.CREATE_BRANCH, 3, other="draft"),
    Operation(Kind.WRITE, 4, "draft"),
    Operation(Kind.CREATE_BRANCH, 5, other="spare"),
)
SPILLED = (
    *BRANCHED,
    Operation(Kind.SPILL, 6),
    Operation(Kind.DELETE_BRANCH, 7, "spare"),
    Operation(Kind.WRITE, 8, "draft"),
    Operation(Kind.CREATE_BRANCH, 9, other="late"),
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A graph, an operation on it, and one of the same kind to follow.

    What follows depends on whether the operation happened (`then`) or not (`instead`).
    `marks` are steps that its trace must show so often, so that it does what it is for.
    """

    name: str
    before: tuple[Operation, ...]
    operation: Operation
    then: Operation
    instead: Operation
    marks: tuple[tuple[str, int], ...]

    def prepare(self, nursery: Nursery, root: Path) -> None:
        """Make the graph on which the operation is done."""
        if self.operation.kind is Kind.MIGRATE:
            nursery.answer("first format", root=str(root))
        elif self.before:
            prepared(nursery, root, self.before)

    @property
    def model(self) -> Model:
        """The model before the operation."""
        return replayed(self.before)

    @property
    def candidates(self) -> list[Model]:
        """The models that may be found after a crash: without and with the operation."""
        return [self.model, applied(self.model, self.operation)]


def replayed(operations: Iterable[Operation], start: Model = NOTHING) -> Model:
    """Return the model after some operations."""
    for operation in operations:
        start = applied(start, operation)
    return start


def prepared(nursery: Nursery, root: Path, operations: Iterable[Operation]) -> list[str]:
    """Do operations without a crash, and give the durable steps."""
    acks, wanted = f"{root}.acks", [each.to_json() for each in operations]
    steps: list[str] = nursery.answer("run", root=str(root), operations=wanted, acks=acks, cut=None)
    Path(acks).unlink()
    return steps


def _again(
    name: str, before: tuple[Operation, ...], kind: Kind, *marks: tuple[str, int]
) -> Scenario:
    number = len(before)
    operation, following = Operation(kind, number), Operation(kind, number + 1)
    return Scenario(name, before, operation, following, following, marks)


def _maintained(kind: Kind, *marks: tuple[str, int]) -> Scenario:
    """Return a graph with a long history and a branch, on which maintenance has much to do."""
    appended = tuple(Operation(Kind.APPEND, number) for number in range(6, 10))
    before = (*BRANCHED, *appended, Operation(Kind.WRITE, 10, "draft"))
    operation, following = Operation(kind, 11), Operation(Kind.WRITE, 12)
    return Scenario(str(kind), before, operation, following, following, marks)


SCENARIOS = (
    Scenario("init", (), INIT, Operation(Kind.WRITE, 1), INIT, (("manifest created", 1),)),
    _again(
        "write",
        WRITES,
        Kind.WRITE,
        ("version staged", 5),
        ("commits written", 1),
        ("commits spilled", 1),
        ("head flipped", 1),
    ),
    _again("overwrite", WRITES, Kind.OVERWRITE, ("fragments written", 3)),
    Scenario(
        "create branch",
        BRANCHED,
        Operation(Kind.CREATE_BRANCH, 6, "draft", "other"),
        Operation(Kind.CREATE_BRANCH, 7, "other", "third"),
        Operation(Kind.CREATE_BRANCH, 7, "draft", "other"),
        (("branch flipped", 1),),
    ),
    Scenario(
        "delete branch",
        BRANCHED,
        Operation(Kind.DELETE_BRANCH, 6, "draft"),
        Operation(Kind.DELETE_BRANCH, 7, "spare"),
        Operation(Kind.DELETE_BRANCH, 7, "draft"),
        (("branch flipped", 1),),
    ),
    Scenario(
        "rename branch",
        BRANCHED,
        Operation(Kind.RENAME_BRANCH, 6, "draft", "final"),
        Operation(Kind.RENAME_BRANCH, 7, "final", "draft"),
        Operation(Kind.RENAME_BRANCH, 7, "draft", "final"),
        (("branch flipped", 1),),
    ),
    Scenario(
        "spill",
        BRANCHED,
        Operation(Kind.SPILL, 6),
        Operation(Kind.RENAME_BRANCH, 7, "draft", "final"),
        Operation(Kind.RENAME_BRANCH, 7, "draft", "final"),
        (("heads written", 1), ("heads spilled", 1)),
    ),
    Scenario(
        "spill beside deleted branches",
        SPILLED,
        Operation(Kind.SPILL, 10),
        Operation(Kind.CREATE_BRANCH, 11, other="spare"),
        Operation(Kind.CREATE_BRANCH, 11, other="spare"),
        (("heads written", 1), ("heads spilled", 1)),
    ),
    Scenario(
        "delete of a spilled branch",
        SPILLED,
        Operation(Kind.DELETE_BRANCH, 10, "draft"),
        Operation(Kind.SPILL, 11),
        Operation(Kind.SPILL, 11),
        (("branch flipped", 1),),
    ),
    Scenario(
        "migrate",
        WRITES,
        Operation(Kind.MIGRATE, 3),
        Operation(Kind.MIGRATE, 4),
        Operation(Kind.WRITE, 4),
        (("migration: column marked", 1), ("migration: stamped", 1)),
    ),
    _again(
        "fold of a table",
        (INIT, *(Operation(Kind.APPEND, number) for number in range(1, 5))),
        Kind.APPEND,
        ("rows joined", 2),
    ),
    _again(
        "fold of the manifest",
        (INIT, *(Operation(Kind.OVERWRITE, number) for number in range(1, 18))),
        Kind.OVERWRITE,
        ("manifest folded", 1),
    ),
    _maintained(
        Kind.OPTIMIZE,
        ("segments built", 1),
        ("fragments written", 2),
        ("head flipped", 1),
        ("manifest folded", 1),
    ),
    _maintained(
        Kind.CLEANUP,
        ("versions buried", 1),
        ("cleanup marked", 1),
        ("manifests removed", 1),
        ("files removed", 1),
        ("manifest cleaned", 1),
    ),
)
