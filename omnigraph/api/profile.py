"""Profile: how a read is run, before and after it was, for people and for programs."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from omnigraph.api.operation import Document
from omnigraph.errors import Json, RemoteError
from omnigraph.frozen import dataclass
from omnigraph.query.plan import ReadPlan
from omnigraph.query.planning.explain import explain_json, explain_text, operator_text

if TYPE_CHECKING:
    from omnigraph.data.result import Result
    from omnigraph.query.planning.arrange import Move, Orders
    from omnigraph.read.answer import PlanAnswer
    from omnigraph.read.road import Road, RoadChoice
    from omnigraph.schema.catalog import Catalog

_METADATA = b"omnigraph.api.profile"
_UNEXPECTED = 10


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The plan of a read and the road that it would take now; printing it shows both.

    `expected` has for each operator about how many rows there will be after it, and `orders` the
    order of each pattern.
    """

    plan: ReadPlan
    choice: "RoadChoice"
    expected: tuple[int, ...] = ()
    orders: "Orders" = ()

    def __str__(self) -> str:
        return f"{explain_text(self.plan, self.expected)}  {'Road':10}  {self.choice}\n"

    __repr__ = __str__

    def to_json(self) -> dict[str, Json]:
        """Return the plan, the rows that are expected, and the road as JSON."""
        road: dict[str, Json] = {
            "road": str(self.choice.road),
            "lookups": self.choice.lookups,
            "rows_to_read": self.choice.unread,
        }
        return {
            "plan": explain_json(self.plan),
            "expected_rows": list(self.expected),
            "orders": [[_move_json(move) for move in moves] for moves in self.orders],
            "road": road,
        }

    @classmethod
    def from_json(cls, document: Document, plan: ReadPlan, catalog: "Catalog") -> Self:
        """Return the explanation that `to_json` wrote of a plan, given as it was compiled."""
        from omnigraph.query.planning.arrange import rearrange
        from omnigraph.read.road import Road, RoadChoice

        road = document["road"]
        choice = RoadChoice(Road(road["road"]), road["lookups"], road["rows_to_read"])
        orders = tuple(tuple(map(_read_move, moves)) for moves in document.get("orders", ()))
        arranged = rearrange(plan, orders, catalog) if orders else plan
        return cls(arranged, choice, tuple(document.get("expected_rows", ())), orders)


def _move_json(move: "Move") -> dict[str, Json]:
    from omnigraph.query.planning.arrange import Start

    if isinstance(move, Start):
        return {"start": move.variable}
    return {"follow": move.link, "from": move.source}


def _read_move(document: Document) -> "Move":
    from omnigraph.query.planning.arrange import Follow, Start

    if "start" in document:
        return Start(document["start"])
    return Follow(document["follow"], document["from"])


@dataclass(frozen=True, slots=True)
class Cost:
    """What one or several operators took together, and how many rows there were after them."""

    operators: tuple[str, ...]
    rows: int
    milliseconds: float
    bytes_read: int
    expected: int | None = None

    @property
    def is_unexpected(self) -> bool:
        """Whether there were ten times more or fewer rows than the planner expected."""
        if self.expected is None:
            return False
        fewer, more = sorted((max(self.rows, 1), max(self.expected, 1)))
        return more >= _UNEXPECTED * fewer


@dataclass(frozen=True, slots=True, repr=False)
class Profile:
    """A result, the road that led to it, and what each operator took; printing shows the costs."""

    result: "Result"
    road: "Road"
    costs: tuple[Cost, ...]

    def __str__(self) -> str:
        lines = [f"{'rows':>12}  {'expected':>13}  {'ms':>10}  {'bytes read':>14}  operator"]
        for cost in self.costs:
            expected = "" if cost.expected is None else f"{cost.expected:,}"
            mark = "!" if cost.is_unexpected else " "
            numbers = f"{cost.rows:>12,}  {expected:>12}{mark}"
            numbers += f"  {cost.milliseconds:>10.3f}  {cost.bytes_read:>14,}"
            lines += [f"{numbers}  {cost.operators[0]}"]
            lines += [f"{'':>55}  {each}" for each in cost.operators[1:]]
        total = sum(cost.milliseconds for cost in self.costs)
        lines.append(f"{len(self.result):>12,}  {'':>13}  {total:>10.3f}  {'':>14}  by {self.road}")
        return "\n".join(lines) + "\n"

    __repr__ = __str__

    @classmethod
    def of(cls, answer: "PlanAnswer") -> Self:
        """Return the profile of an answer."""
        costs = tuple(
            Cost(
                tuple(operator_text(operator) for operator in each.operators),
                each.rows,
                each.seconds * 1000,
                each.bytes,
                each.expected,
            )
            for each in answer.measurements
        )
        return cls(answer.rows.to_result(), answer.road, costs)

    def to_ipc(self) -> Iterator[bytes]:
        """Return the rows as an Arrow stream that has the road and the costs with it, in pieces."""
        from omnigraph.data.result import Result

        about = json.dumps({"query_name": self.result.query_name, **self.to_json()})
        table = self.result.table
        metadata = {**(table.schema.metadata or {}), _METADATA: about.encode()}
        with_about = table.replace_schema_metadata(metadata)
        return Result(self.result.query_name, with_about).to_stream().to_ipc()

    @classmethod
    def from_ipc(cls, stream: bytes) -> Self:
        """Return the profile that `to_ipc` wrote."""
        from omnigraph.data.result import Result, table_of
        from omnigraph.read.road import Road

        table = table_of(stream)
        metadata = dict(table.schema.metadata or {})
        try:
            about = json.loads(metadata.pop(_METADATA))
            costs = tuple(
                Cost(
                    tuple(each["operators"]),
                    each["rows"],
                    each["ms"],
                    each["bytes_read"],
                    each.get("expected_rows"),
                )
                for each in about["operators"]
            )
            name, road = about["query_name"], Road(about["road"])
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            raise RemoteError("the answer says nothing of what the query cost") from None
        return cls(Result(name, table.replace_schema_metadata(metadata or None)), road, costs)

    def to_json(self) -> dict[str, Json]:
        """Return the road and the costs as JSON."""
        costs: list[Json] = [
            {
                "operators": list(cost.operators),
                "rows": cost.rows,
                "ms": round(cost.milliseconds, 3),
                "bytes_read": cost.bytes_read,
                "expected_rows": cost.expected,
            }
            for cost in self.costs
        ]
        return {"road": str(self.road), "row_count": len(self.result), "operators": costs}
