"""The checkpointer passes the conformance tests of LangGraph."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability

from omnigraph.adapters.langgraph import CHECKPOINT_SCHEMA, OmniGraphSaver
from omnigraph.api.graph import init


@pytest.mark.parametrize("capability", [each.value for each in Capability])
async def test_the_conformance_tests_pass(capability: str, tmp_path: Path) -> None:
    with init(tmp_path / "g", CHECKPOINT_SCHEMA, durable=False) as graph:

        async def made() -> AsyncGenerator[BaseCheckpointSaver[str], None]:
            yield OmniGraphSaver(graph)

        registered = checkpointer_test(name="OmniGraphSaver")(made)
        found = (await validate(registered, capabilities={capability})).results[capability]
    assert list(found.failures or ()) == []
    assert found.passed is True
    assert found.tests_passed > 0
