"""Profile: how a read is run, before and after it was, for people and for programs."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from omnigraph.api.operation import Document
from omnigraph.errors import Json
from omnigraph.query.explain import explain_json, explain_text, operator_text
from omnigraph.query.plan import ReadPlan

if TYPE_CHECKING:
    from omnigraph.data.result import Result
    from omnigraph.read.answer import PlanAnswer
    from omnigraph.read.road import Road, RoadChoice

_METADATA = b"omnigraph.api.profile"


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The plan of a read and the road that it would take now; printing it shows both."""

    plan: ReadPlan
    choice: "RoadChoice"

    def __str__(self) -> str:
        return f"{explain_text(self.plan)}  {'Road':10}  {self.choice}\n"

    __repr__ = __str__

    def to_json(self) -> dict[str, Json]:
        """Return the plan and the road as JSON."""
        road: dict[str, Json] = {
            "road": str(self.choice.road),
            "lookups": self.choice.lookups,
            "rows_to_read": self.choice.unread,
        }
        return {"plan": explain_json(self.plan), "road": road}

    @classmethod
    def from_json(cls, document: Document, plan: ReadPlan) -> Self:
        """Return the explanation of a plan that `to_json` wrote."""
        from omnigraph.read.road import Road, RoadChoice

        road = document["road"]
        return cls(plan, RoadChoice(Road(road["road"]), road["lookups"], road["rows_to_read"]))


@dataclass(frozen=True, slots=True)
class Cost:
    """What one or several operators took together, and how many rows there were after them."""

    operators: tuple[str, ...]
    rows: int
    milliseconds: float
    bytes_read: int


@dataclass(frozen=True, slots=True, repr=False)
class Profile:
    """A result, the road that led to it, and what each operator took; printing shows the costs."""

    result: "Result"
    road: "Road"
    costs: tuple[Cost, ...]

    def __str__(self) -> str:
        lines = [f"{'rows':>12}  {'ms':>10}  {'bytes read':>14}  operator"]
        for cost in self.costs:
            numbers = f"{cost.rows:>12,}  {cost.milliseconds:>10.3f}  {cost.bytes_read:>14,}"
            lines += [f"{numbers}  {cost.operators[0]}"]
            lines += [f"{'':>40}  {each}" for each in cost.operators[1:]]
        total = sum(cost.milliseconds for cost in self.costs)
        lines.append(f"{len(self.result):>12,}  {total:>10.3f}  {'':>14}  by {self.road}")
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
        metadata = dict(table.schema.metadata)
        about = json.loads(metadata.pop(_METADATA))
        costs = tuple(
            Cost(tuple(each["operators"]), each["rows"], each["ms"], each["bytes_read"])
            for each in about["operators"]
        )
        rows = table.replace_schema_metadata(metadata or None)
        return cls(Result(about["query_name"], rows), Road(about["road"]), costs)

    def to_json(self) -> dict[str, Json]:
        """Return the road and the costs as JSON."""
        costs: list[Json] = [
            {
                "operators": list(cost.operators),
                "rows": cost.rows,
                "ms": round(cost.milliseconds, 3),
                "bytes_read": cost.bytes_read,
            }
            for cost in self.costs
        ]
        return {"road": str(self.road), "row_count": len(self.result), "operators": costs}
