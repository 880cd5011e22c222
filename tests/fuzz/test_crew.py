"""A process that dies or hangs while it tries inputs is a failure that names the input."""

import os
import signal
from random import Random
from typing import Any

import pytest

from tests.fuzz import campaign, crew
from tests.fuzz.crew import Chunk, Outcome, outcomes, run_chunk
from tests.fuzz.target import Broken, Target
from tests.fuzz.targets import TARGETS


def _try(given: int) -> None:
    if given == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    if given == 5:
        raise Broken("five")


def _count(random: Random) -> int:
    random.count = getattr(random, "count", -1) + 1  # type: ignore[attr-defined]
    return int(random.count)  # type: ignore[attr-defined]


def _run(chunk: Chunk, reached: Any) -> Outcome:
    return run_chunk(chunk, reached, Target("counted", _count, _try))


@pytest.mark.long
def test_the_death_of_a_process_is_the_failure_of_an_input_and_the_rest_is_tried() -> None:
    found = list(outcomes([Chunk("counted", 9, 8)], 1, _run))

    assert [(each.chunk.seed, each.inputs) for each in found] == [(9, 4), (9, 4)]
    died, broken = (each.failures[0] for each in found)
    assert (died.place, died.reason) == (3, "the process died, with the exit code -11")
    assert (broken.place, broken.reason) == (5, "five")


def test_the_input_of_a_death_is_made_again() -> None:
    random = Random(9)
    made = [TARGETS["dotenv"].make(random) for _ in range(3)]

    assert [crew._given(Chunk("dotenv", 9, 8), place) for place in range(3)] == made


def test_a_target_meets_the_same_inputs_whichever_others_are_chosen() -> None:
    alone = list(campaign._chunks(["csv"], 5_000, 1))
    together = list(campaign._chunks(["schema", "csv"], 5_000, 1))

    assert [each.inputs for each in alone] == [2_000, 2_000, 1_000]
    assert [each for each in together if each.target == "csv"] == alone


@pytest.mark.long
def test_the_campaign_counts_the_inputs_of_each_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert campaign.main(["--inputs", "10", "--targets", "dotenv", "heads"]) == 0
    assert (
        capsys.readouterr().out.splitlines()[-1].startswith("10 inputs for each of dotenv, heads; ")
    )
