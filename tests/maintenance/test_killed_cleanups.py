"""A cleanup that is killed beside the creation of a branch takes nothing that the branch needs."""

from pathlib import Path

from tests.maintenance.campaign import campaign


def test_branches_that_are_created_beside_killed_cleanups_have_all_their_rows(
    tmp_path: Path,
) -> None:
    tally = campaign(tmp_path, 5, seed=3)

    assert tally.violations == []
    assert tally.counts["branches"] + tally.counts["refused"] == 5
