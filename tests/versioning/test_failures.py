"""What Lance raises becomes an error of ours, and a lost commit is told from a broken store."""

import pytest

from omnigraph.errors import StorageError
from omnigraph.storage.failures import CommitRejectedError, report_as


def test_a_commit_that_others_were_faster_than_is_lost_and_not_a_failure() -> None:
    with pytest.raises(CommitRejectedError), report_as("cannot commit"):
        raise OSError("Incompatible transaction: this UpdateConfig lost")


def test_anything_else_is_a_failure_of_the_store() -> None:
    with (
        pytest.raises(StorageError, match="cannot commit: No space left"),
        report_as("cannot commit"),
    ):
        raise OSError("No space left on device")
