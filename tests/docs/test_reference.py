"""docs/commands.md shows the commands as they are, and the quick start works as it is written."""

from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks_of
from tests.docs.reference import PAGE, reference
from tests.docs.test_docs_run import commands_of, matches, run_command
from tests.docs.warm import warmed


def test_the_reference_of_the_commands_is_current() -> None:
    assert PAGE.read_text() == reference(), "run `make docs`"


@pytest.mark.long
def test_the_quick_start_works_in_an_empty_folder(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    page = ROOT / "docs" / "quickstart.md"
    with warmed(tmp_path_factory.mktemp("warm")) as programs:
        for command in (each for block in blocks_of(page) for each in commands_of(block.text)):
            printed = run_command(command.line, tmp_path, programs)
            assert matches(command.expected, printed), f"$ {command.line}\n" + "\n".join(printed)
