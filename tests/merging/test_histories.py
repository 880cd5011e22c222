"""Whatever is branched, changed and merged, a graph stays equal to a model made of dicts."""

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.merging.machine import MergeMachine

HISTORIES = int(os.environ.get("OMNIGRAPH_MERGE_HISTORIES", "60"))


def test_a_graph_equals_its_model_after_every_merge() -> None:
    run_state_machine_as_test(
        MergeMachine,
        settings=settings(
            max_examples=HISTORIES,
            stateful_step_count=12,
            suppress_health_check=list(HealthCheck),
        ),
    )
