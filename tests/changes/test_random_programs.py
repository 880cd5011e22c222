"""Whatever mutations are run, a graph holds what its model holds and refuses what it refuses."""

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.changes.trial import Tally, run_program, template

PROGRAMS = int(os.environ.get("OMNIGRAPH_CHANGE_PROGRAMS", "110"))


@pytest.fixture(scope="module")
def start() -> Iterator[Path]:
    with template() as folder:
        yield folder


def test_a_graph_equals_its_model_after_every_mutation(start: Path) -> None:
    tally = Tally()

    @settings(max_examples=PROGRAMS, suppress_health_check=list(HealthCheck))
    @given(st.randoms(use_true_random=False))
    def run(random: Random) -> None:
        run_program(start, random, tally)

    run()
    counts = tally.counts
    assert all(counts[what] for what in ("done", "nothing to do", "refused", "wrong", "overtaken"))
