"""Model: what a mutation must leave of a graph, in plain dicts, and which rules that breaks."""

import json
import operator
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tests.changes.programs import (
    DEFAULTS,
    ENDS,
    KEYED,
    NODES,
    PROPERTIES,
    Both,
    Delete,
    Insert,
    Matched,
    Not,
    Query,
    Replace,
    Row,
    Statement,
    Test,
    Update,
    Value,
    Where,
)

State = dict[str, dict[str, Row]]
Broken = Counter[tuple[str, str, str | None]]  # code, type and field of each violation

# Ids that are made up begin with a digit, as real ones do, so that they sort like them.
NEW = "0:"
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">=": operator.ge,
}
_UNIQUE = (("Person", "badge", "badge"), ("Team", "motto", "motto"), ("About", "dst", "to"))
_BOUNDS = {"Led": (1, 2), "Member": (0, 2)}


@dataclass(frozen=True, slots=True)
class Left:
    """What a query leaves: a state that breaks no rule, or the rules that it would break."""

    state: State
    broken: Broken
    affected: tuple[int, int]


def empty() -> State:
    """Return a graph without rows."""
    return {name: {} for name in (*NODES, *ENDS)}


def after(before: State, query: Query) -> Left:
    """Return what a query leaves of a state, which itself stays as it is."""
    if query.is_wrong:
        return Left(before, Counter(), (0, 0))
    state = {name: {key: dict(row) for key, row in rows.items()} for name, rows in before.items()}
    broken: Broken = Counter()
    for statement in query.statements:
        if isinstance(statement, Matched):
            broken.update(_apply_matched(state, statement))
        else:
            _apply(state, statement)
    broken.update(_broken(state))
    if broken:
        return Left(before, broken, (0, 0))
    return Left(state, broken, _affected(before, state))


def comparable(state: State) -> dict[str, list[str]]:
    """Return a state as sorted texts, in which ids that were made up are all alike.

    A text tells zeros apart and not-a-number is like itself.
    """
    return {
        name: sorted(repr(sorted({**row, "id": _known(key)}.items())) for key, row in rows.items())
        for name, rows in state.items()
    }


def _known(key: str) -> str:
    made_up = key.startswith(NEW) or (len(key) == 26 and key.isalnum())
    return NEW if made_up else key


def _apply_matched(state: State, statement: Matched) -> list[tuple[str, str, str | None]]:
    """Change what a pattern matches; return the rows for which matches disagree."""
    rows = list(_matched_rows(state, statement.name))
    by_id: dict[str, list[Row]] = {}
    for at, (name, row) in enumerate(rows):
        key = _id(state, name, dict(row)) if name in KEYED or "id" in row else f"new {at}"
        same = by_id.setdefault(key, [])
        if row not in same:
            same.append(row)
    name = rows[0][0] if rows else ""
    for key, values in by_id.items():
        if len(values) > 1:
            continue
        if statement.name == "inherit":
            state["Person"][key] |= {"age": values[0]["age"]}
        else:
            whole = statement.name == "copy"
            _apply(state, (Replace if whole else Insert)(name, dict(values[0])))
    return [("V11", name, None) for values in by_id.values() if len(values) > 1]


def _matched_rows(state: State, change: str) -> Iterator[tuple[str, Row]]:
    """Yield the type and the values of the rows that a change makes or sets."""
    pairs = {(row["src"], row["dst"]) for row in state["Knows"].values()}
    if change == "mirror":
        for source, target in sorted(pairs, key=str):
            yield "Knows", {"src": target, "dst": source, "weight": 0.5}
    elif change == "inherit":
        for source, target in sorted(pairs, key=str):
            age = state["Person"][str(target)]["age"]
            yield "Person", {"slug": source, "age": age}
    elif change == "enrol":
        for member in list(state["Person"]):
            for team, row in list(state["Team"].items()):
                yield "Member", {"src": member, "dst": team, "role": row["motto"]}
    else:
        for row in state["About"].values():
            memo, person = state["Memo"][str(row["src"])], state["Person"][str(row["dst"])]
            yield "Memo", {"id": row["dst"], "text": memo["text"], "size": person["age"]}


def _apply(state: State, statement: Statement) -> None:
    match statement:
        case Insert(name, values) | Replace(name, values):
            row: Row = dict.fromkeys(PROPERTIES[name])
            row |= {**DEFAULTS.get(name, {}), **values}
            key = _id(state, name, row)
            if isinstance(statement, Insert) and key in state[name]:
                row = state[name][key] | {each: row[each] for each in values if each in row}
            state[name][key] = row
        case Update(name, values, where):
            for key in _chosen(state, name, where):
                state[name][key] |= values
        case Delete(name, where):
            for key in _chosen(state, name, where):
                del state[name][key]
                _cascade(state, name, key)


def _id(state: State, name: str, row: Row) -> str:
    given = row.pop("id", None)
    if name in KEYED:
        parts = [str(row[column]) for column in KEYED[name]]
        return parts[0] if len(parts) == 1 else json.dumps(parts, separators=(",", ":"))
    return f"{NEW}{len(state[name])}:{id(row)}" if given is None else str(given)


def _cascade(state: State, node: str, key: str) -> None:
    for edge, (source, target) in ENDS.items():
        state[edge] = {
            each: row
            for each, row in state[edge].items()
            if (node, key) not in ((source, row["src"]), (target, row["dst"]))
        }


def _chosen(state: State, name: str, where: Where) -> list[str]:
    return [key for key, row in state[name].items() if _holds({**row, "id": key}, where) is True]


def _holds(row: Row, where: Where) -> bool | None:
    """Tell whether a condition is true, false or unknown."""
    match where:
        case Not(inner):
            found = _holds(row, inner)
            return None if found is None else not found
        case Both(left, word, right):
            both = (_holds(row, left), _holds(row, right))
            decisive = word == "or"
            if decisive in both:
                return decisive
            return None if None in both else not decisive
        case Test(column, "is null"):
            return row[column] is None
        case Test(column, "is not null"):
            return row[column] is not None
        case Test(column, word, value):
            return None if row[column] is None else _COMPARE[word](row[column], value)


def _broken(state: State) -> Iterator[tuple[str, str, str | None]]:
    for row in state["Person"].values():
        age, name = row["age"], str(row["name"])
        if isinstance(age, int) and not 0 <= age <= 100:
            yield "V9", "Person", "age"
        if not "a" <= name[:1] <= "m":
            yield "V10", "Person", "name"
    for name, column, field in _UNIQUE:
        values: Counter[Value] = Counter(row[column] for row in state[name].values())
        for value, count in values.items():
            yield from [("V13", name, field)] * (count - 1 if value is not None else 0)
    for edge, nodes in ENDS.items():
        for row in state[edge].values():
            for column, field, node in zip(("src", "dst"), ("from", "to"), nodes, strict=True):
                if row[column] not in state[node]:
                    yield "V14", edge, field
    for edge, (least, most) in _BOUNDS.items():
        counts = Counter(row["src"] for row in state[edge].values())
        for key in state[ENDS[edge][0]]:
            if not least <= counts[key] <= most:
                yield "V15", edge, None


def _affected(before: State, state: State) -> tuple[int, int]:
    nodes, edges = (
        sum(
            repr(before[name].get(key)) != repr(state[name].get(key))
            for name in names
            for key in {*before[name], *state[name]}
        )
        for names in (NODES, ENDS)
    )
    return nodes, edges
