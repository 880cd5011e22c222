"""Of random histories everything stays that a later merge, a branch or a tag needs."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import InputError
from omnigraph.versioning.commit import Commit, CommitKind
from omnigraph.versioning.history.retention import History, Retention, retained_commits
from omnigraph.versioning.names import TAG

HOUR = 3_600_000_000


def _commit(number: int, parents: tuple[Commit, ...]) -> Commit:
    return Commit(
        id=f"c{number}",
        parents=tuple(each.id for each in parents),
        branch="main",
        version=max((each.version + 1 for each in parents), default=0),
        kind=CommitKind.MERGE if len(parents) > 1 else CommitKind.WRITE,
        created_at=number * HOUR,
        operation_id="",
        schema="",
        tables={},
    )


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw commits, each after one or two earlier ones, and heads and tags at some of them."""
    commits = [_commit(0, ())]
    for number in range(1, draw(st.integers(1, 25))):
        recent = st.sampled_from(range(max(0, number - 6), number))
        parents = dict.fromkeys([draw(recent), *draw(st.lists(recent, max_size=1))])
        commits.append(_commit(number, tuple(commits[each] for each in parents)))
    ids = st.sampled_from([each.id for each in commits])
    heads = {f"b{at}": draw(ids) for at in range(draw(st.integers(0, 3)))}
    tags = {f"{TAG}t{at}": draw(ids) for at in range(draw(st.integers(0, 2)))}
    retired = draw(st.dictionaries(ids, st.integers(0, 25 * HOUR), max_size=2))
    known = {each.id: each for each in commits}
    return History(known, {"main": commits[-1].id, **heads, **tags}, retired)


def _ancestors(history: History, commit_id: str) -> set[str]:
    found, waiting = {commit_id}, [commit_id]
    while waiting:
        fresh = set(history.commits[waiting.pop()].parents) - found
        found |= fresh
        waiting += fresh
    return found


def _bases(history: History, one: str, other: str) -> set[str]:
    common = _ancestors(history, one) & _ancestors(history, other)
    older = {each for base in common for each in _ancestors(history, base) - {base}}
    return common - older


@given(history=histories(), keep=st.integers(1, 4))
def test_what_heads_and_their_merges_need_stays(history: History, keep: int) -> None:
    kept = retained_commits(history, Retention(keep, None, 0), now=1_000 * HOUR)

    assert set(history.heads.values()) <= kept
    for one, other in combinations(set(history.heads.values()), 2):
        assert _bases(history, one, other) <= kept
    for name, at in history.heads.items():
        commit: str | None = at
        for _ in range(1 if name.startswith(TAG) else keep):
            if commit is not None:
                assert commit in kept
                commit = history.commits[commit].parent


@given(history=histories(), age=st.integers(0, 30))
def test_what_a_branch_left_within_the_age_stays(history: History, age: int) -> None:
    now = 25 * HOUR
    kept = retained_commits(history, Retention(None, age * HOUR, 0), now)

    for commit in history.commits.values():
        if commit.created_at > now - age * HOUR:
            assert set(commit.parents) <= kept
    assert {each for each, until in history.retired.items() if until > now - age * HOUR} <= kept


def test_a_long_line_keeps_only_its_end() -> None:
    commits = [_commit(0, ())]
    for number in range(1, 50):
        commits.append(_commit(number, (commits[-1],)))
    history = History({each.id: each for each in commits}, {"main": "c49"}, {})

    assert retained_commits(history, Retention(2, None, 0), now=1_000 * HOUR) == {"c49", "c48"}
    assert retained_commits(history, Retention(1, None, 3 * HOUR), now=50 * HOUR) == {
        "c49",
        "c48",
        "c47",
    }


def test_branches_that_were_merged_and_deleted_leave_nothing() -> None:
    commits = [_commit(0, ())]
    for number in range(1, 40, 2):
        side = _commit(number, (commits[-1],))
        commits += [side, _commit(number + 1, (commits[-1], side))]
    head = commits[-1].id
    history = History({each.id: each for each in commits}, {"main": head}, {})

    assert retained_commits(history, Retention(1, None, 0), now=1_000 * HOUR) == {head}


def test_a_rule_has_to_say_something() -> None:
    for keep, age in ((None, None), (0, None), (-1, HOUR)):
        with pytest.raises(InputError):
            Retention(keep, age, 0)
