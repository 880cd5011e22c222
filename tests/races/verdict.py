"""Verdict: what is wrong with a graph after a race; nothing, if all promises were kept."""

from collections import Counter
from collections.abc import Iterable, Iterator

from omnigraph.api.graph import Graph
from tests.races.worker import COUNTER, Tally
from tests.sample import KNOWS, PERSON


def after_counting(graph: Graph, branch: str, tallies: Iterable[Tally]) -> list[str]:
    """Return every broken promise after workers counted up on one branch."""
    done = list(tallies)
    names = _names(done)
    problems = [*_rows(graph, branch, PERSON, names | {COUNTER} if names else names)]
    problems += _rows(graph, branch, KNOWS, {f"{name}-{COUNTER}" for name in names})
    problems += _log(graph, branch, done)
    rows = graph.snapshot(branch).table(PERSON).scan(["id", "age"]).to_pylist()
    counted = [row["age"] for row in rows if row["id"] == COUNTER]
    if counted != ([len(names)] if names else []):
        problems.append(f"{branch}: the counter is {counted} after {len(names)} writes")
    ages = sorted(row["age"] for row in rows if row["id"] != COUNTER)
    if ages != list(range(1, len(names) + 1)):
        problems.append(f"{branch}: two writes read the same counter")
    return problems


def after_appending(
    graph: Graph, branch: str, persons: Iterable[Tally], edges: Iterable[Tally]
) -> list[str]:
    """Return every broken promise after some added persons and others edges to one branch."""
    added, joined = list(persons), list(edges)
    problems = _rows(graph, branch, PERSON, _names(added))
    problems += _rows(graph, branch, KNOWS, {f"{name}-{name}" for name in _names(joined)})
    return problems + _log(graph, branch, [*added, *joined])


def _names(tallies: Iterable[Tally]) -> set[str]:
    return {name for tally in tallies for name in tally.acknowledged}


def _rows(graph: Graph, branch: str, table: str, expected: set[str]) -> list[str]:
    snapshot = graph.snapshot(branch)
    found = snapshot.table(table).scan(["id"])["id"].to_pylist()
    problems = [f"{branch}: lost {each} of {table}" for each in sorted(expected - set(found))]
    problems += [f"{branch}: {each} in {table}, unasked" for each in sorted({*found} - expected)]
    problems += [f"{branch}: {each} is {n} times in {table}" for each, n in _repeated(found)]
    if snapshot.state(table).row_count != len(found):
        problems.append(f"{branch}: the row count of {table} is wrong")
    return problems


def _log(graph: Graph, branch: str, tallies: Iterable[Tally]) -> list[str]:
    promised = sorted(each for tally in tallies for each in tally.acknowledged.values())
    found = sorted(commit.id for commit in graph.log(branch) if commit.parents)
    if promised == found:
        return []
    missing, more = set(promised) - set(found), set(found) - set(promised)
    return [f"{branch}: the log lacks {len(missing)} commits and has {len(more)} too many"]


def _repeated(ids: Iterable[str]) -> Iterator[tuple[str, int]]:
    return ((each, times) for each, times in Counter(ids).items() if times > 1)
