"""Branch names have one form, and ids of commits sort by time."""

import pytest

from omnigraph.errors import BranchNameError
from omnigraph.versioning.names import fold, new_branch_name, normalize_name
from omnigraph.versioning.ulid import Clock, is_ulid


@pytest.mark.parametrize(
    "name", ["main", "review/2026-04-25", "a", "ünïcödé", "feature_1", "a.b", "日本", "x-y", "a@b"]
)
def test_a_good_name_stays_as_it_is(name: str) -> None:
    assert normalize_name(name) == name


def test_a_name_is_brought_into_one_form() -> None:
    assert normalize_name("u\N{COMBINING DIAERESIS}ber") == "über"


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "a b",
        "-a",
        ".a",
        "a/.b",
        "a/-b",
        "a//b",
        "/a",
        "a/",
        "a..b",
        "a.",
        "a.lock",
        "a/b.lock/c",
        "@",
        "a@{b",
        "a~b",
        "a^b",
        "a:b",
        "a?b",
        "a*b",
        "a[b",
        "a\\b",
        'a"b',
        "a%2fb",
        "a#b",
        "a\tb",
        "a\nb",
        "a\0b",
        "a\N{ZERO WIDTH SPACE}b",
        "a\N{RIGHT-TO-LEFT OVERRIDE}b",
        "a\N{NO-BREAK SPACE}b",
        "\ud800",
        "x" * 201,
        "é" * 101,
    ],
)
def test_a_bad_name_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(BranchNameError, match="invalid branch name"):
        normalize_name(name)


@pytest.mark.parametrize("name", ["__run__x", "__schema_apply_lock__", "__mine"])
def test_names_of_the_system_are_not_for_users(name: str) -> None:
    assert normalize_name(name) == name
    with pytest.raises(BranchNameError, match="are reserved"):
        new_branch_name(name)


def test_names_that_differ_only_in_case_fold_to_one() -> None:
    assert fold("Straße") == fold("STRASSE")
    assert fold("Review/X") == fold("review/x")


def test_ids_sort_in_the_order_they_were_made_also_within_a_millisecond() -> None:
    clock = Clock(lambda: 1_700_000_000_000_000)
    made = [clock.ulid() for _ in range(1000)]
    assert made == sorted(set(made))
    assert all(map(is_ulid, made))


def test_ids_and_times_do_not_go_back_with_the_clock() -> None:
    times = iter([5_000_000, 4_000_000, 3_000_000, 2_000_000])
    clock = Clock(lambda: next(times))
    first, second = clock.ulid(), clock.ulid()
    assert second > first
    assert clock.time() < clock.time()


@pytest.mark.parametrize("text", ["", "main", "8" * 26, "0" * 25, "0" * 25 + "I", "z" * 26])
def test_what_is_no_id_is_told_from_one(text: str) -> None:
    assert not is_ulid(text)
