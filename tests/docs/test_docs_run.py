"""Every fenced block of README.md and docs/*.md does what the page says."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import omnigraph
from omnigraph import Catalog, OmniGraphError, Source, compile_schema, lint_queries
from omnigraph.query.compile import compile_queries
from tests.docs.blocks import EXAMPLE, NOT_RUN, PAGES, ROOT, Block, all_blocks, blocks_of
from tests.docs.warm import warmed

# Those of TypeScript are run by tests/clients.
RUN = ("pg", "gq", "python", "console", "typescript")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")


@dataclass(frozen=True, slots=True)
class Command:
    """A line after `$ ` and the output that the page shows for it."""

    line: str
    expected: tuple[str, ...]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_is_in_a_language_that_is_run_or_listed_as_not_run(page: Path) -> None:
    others = [str(b) for b in blocks_of(page) if b.language not in (*RUN, *NOT_RUN)]
    assert others == []


def test_pip_installs_the_wheel_and_gets_extras_in_quotes() -> None:
    sources = sorted((ROOT / "omnigraph").rglob("*.py"))
    wrong = re.compile(r"pip install [^`\n]*(?<![\w'./-])omnigraph(?![\w.-])")
    assert [str(path) for path in (*PAGES, *sources) if wrong.search(path.read_text())] == []


@pytest.mark.parametrize("block", all_blocks("pg"), ids=str)
def test_a_schema_compiles_or_gives_its_code(block: Block) -> None:
    code = block.promised("error")
    if code is None:
        compile_schema(_source(block))
        return
    with pytest.raises(OmniGraphError) as raised:
        compile_schema(_source(block))
    assert raised.value.code == code, raised.value.render()


@pytest.mark.parametrize("block", all_blocks("gq"), ids=str)
def test_a_query_compiles_or_gives_its_code(block: Block) -> None:
    catalog = _catalog(block)
    code, warning = block.promised("error"), block.promised("warning")
    if code is not None:
        with pytest.raises(OmniGraphError) as raised:
            compile_queries(_source(block), catalog)
        assert raised.value.code == code, raised.value.render()
        return
    compile_queries(_source(block), catalog)
    if warning is not None:
        report = lint_queries(_source(block), catalog)
        assert warning in [finding.code for finding in report.findings]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_of_a_page_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.language == "python":
            _run_python(block, namespace)


# The quick start is one session; `test_reference` runs it from its first line to its last.
ALONE = [block for block in all_blocks("console") if block.page.name != "quickstart.md"]


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with warmed(tmp_path_factory.mktemp("warm")) as folder:
        yield folder


@pytest.mark.parametrize("block", ALONE, ids=str)
def test_a_command_prints_what_the_page_shows(block: Block, tmp_path: Path, warm: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    commands = commands_of(block.text)
    assert commands, "a console block has lines that start with '$ '"
    for command in commands:
        printed = run_command(command.line, tmp_path, warm)
        assert matches(command.expected, printed), f"$ {command.line}\n" + "\n".join(printed)


def test_every_public_name_has_an_example() -> None:
    text = "".join(b.text for b in blocks_of(ROOT / "docs" / "python.md") if b.language == "python")
    assert [name for name in omnigraph.__all__ if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for path, anchor in LINK.findall(_without_blocks(page)):
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(f"{path}#{anchor}")
    assert broken == []


def test_dots_match_any_lines_and_nothing_else_does() -> None:
    assert matches(("a", "...", "d"), ("a", "b", "c", "d"))
    assert matches(("a", "..."), ("a",))
    assert not matches(("a", "...", "d"), ("a", "b", "c"))
    assert not matches(("a",), ("a", "b"))


def commands_of(text: str) -> list[Command]:
    """Return the commands of a console block, each with the lines up to the next one."""
    commands: list[Command] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append(Command(line[2:], ()))
        else:
            assert commands, "a console block starts with '$ '"
            last = commands.pop()
            commands.append(Command(last.line, (*last.expected, line)))
    return commands


def run_command(line: str, folder: Path, *programs: Path) -> tuple[str, ...]:
    """Return the lines that a command prints, on either stream; it finds programs there first."""
    path = os.pathsep.join(map(str, [*programs, Path(sys.executable).parent, os.environ["PATH"]]))
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    return tuple(done.stdout.splitlines())


def matches(expected: Sequence[str], printed: Sequence[str]) -> bool:
    """Tell whether lines are as expected; an expected `...` stands for any lines, or none."""
    first, *rest = _parts(expected)
    if tuple(printed[: len(first)]) != first:
        return False
    if not rest:
        return len(printed) == len(first)
    *middle, last = rest
    at = len(first)
    for part in middle:
        found = _find(part, printed, at)
        if found is None:
            return False
        at = found + len(part)
    return len(printed) - len(last) >= at and tuple(printed[len(printed) - len(last) :]) == last


def _parts(expected: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the runs of lines between the dots; one more than there are dots."""
    parts: list[list[str]] = [[]]
    for line in expected:
        if line == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    return [tuple(part) for part in parts]


def _find(part: tuple[str, ...], lines: Sequence[str], start: int) -> int | None:
    places = range(start, len(lines) - len(part) + 1)
    return next((at for at in places if tuple(lines[at : at + len(part)]) == part), None)


def _run_python(block: Block, namespace: dict[str, object]) -> None:
    """Run a block with the line numbers of its page, so that a failure points there."""
    code = compile("\n" * block.line + block.text, str(block.page), "exec")
    promised = block.promised("error")
    if promised is None:
        exec(code, namespace)
        return
    with pytest.raises(OmniGraphError) as raised:
        exec(code, namespace)
    assert raised.value.code == promised, raised.value.render()


def _catalog(block: Block) -> Catalog:
    assert block.schema is not None, "no `pg schema` block stands before this query"
    return compile_schema(block.schema)


def _source(block: Block) -> Source:
    return Source(str(block), block.text)


def _without_blocks(page: Path) -> str:
    text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text())
    return re.sub(r"`[^`\n]*`", "", text)


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?ms)^```.*?^```$", "", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", each).strip().lower().replace(" ", "-") for each in headings}
