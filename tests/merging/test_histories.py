"""Whatever is branched, changed and merged, a graph stays equal to a model made of dicts."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.merging.machine import MergeMachine


@pytest.mark.parametrize(("histories", "steps"), [(960, 2), (40, 12)])
def test_a_graph_equals_its_model_after_every_merge(histories: int, steps: int) -> None:
    run_state_machine_as_test(
        MergeMachine,
        settings=settings(
            max_examples=histories,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
        ),
    )
