"""docs/commands.md shows the commands as they are, and the quick start works as it is written."""

from pathlib import Path

from tests.docs.blocks import ROOT, blocks_of
from tests.docs.reference import PAGE, reference
from tests.docs.test_docs_run import commands_of, matches, run_command


def test_the_reference_of_the_commands_is_current() -> None:
    assert PAGE.read_text() == reference(), "run `make docs`"


def test_the_quick_start_works_in_an_empty_folder(tmp_path: Path) -> None:
    page = ROOT / "docs" / "quickstart.md"
    for block in blocks_of(page):
        for command in commands_of(block.text):
            printed = run_command(command.line, tmp_path)
            assert matches(command.expected, printed), f"$ {command.line}\n" + "\n".join(printed)
