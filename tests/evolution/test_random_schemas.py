"""Whatever is done to a schema: applying it keeps what the plan promises, or does nothing."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evolution.trial import run_history

EXAMPLES = 20


@settings(max_examples=EXAMPLES)
@given(st.integers(0, 2**32))
def test_applying_a_random_schema_keeps_what_it_promises(seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run_history(seed, Path(folder, "graph"))
