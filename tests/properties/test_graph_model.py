"""Whatever is done to a graph, it stays equal to a model made of dicts."""

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.properties.machine import GraphMachine

EXAMPLES = int(os.environ.get("OMNIGRAPH_MODEL_EXAMPLES", "28"))


def test_a_graph_equals_its_model_after_every_change() -> None:
    run_state_machine_as_test(
        GraphMachine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=25,
            suppress_health_check=list(HealthCheck),
        ),
    )
