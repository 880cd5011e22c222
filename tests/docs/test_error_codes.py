"""docs/errors.md has a section for every code, with an example that is tested."""

import ast
import inspect
import re

import pytest

from omnigraph import errors
from omnigraph.errors import Code, OmniGraphError
from tests.docs.blocks import ROOT, Block, blocks_of

PAGE = ROOT / "docs" / "errors.md"
SECTION = re.compile(r"^## (\w+)(?:: (.+))?$")


def test_every_code_of_a_problem_has_a_section_with_a_title() -> None:
    titled = [code for code, title in sections() if title]
    assert titled == [code.value for code in Code]


def test_every_code_of_an_error_class_has_a_section() -> None:
    untitled = [code for code, title in sections() if not title]
    assert sorted(untitled) == sorted(class_codes() | server_codes())


def test_the_page_of_the_server_names_every_code_of_servers() -> None:
    page = (ROOT / "docs" / "server.md").read_text()
    table = page.partition("\n## Errors\n")[2].partition("\n## ")[0]
    assert sorted(each for each in server_codes() if f"`{each}`" not in table) == []


def test_no_code_has_two_sections() -> None:
    codes = [code for code, _ in sections()]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("code", list(Code), ids=str)
def test_every_code_has_an_example_that_is_tested(code: Code) -> None:
    assert code in [promised(block) for block in blocks_of(PAGE) if under(code, block)]


def test_every_example_stands_under_its_own_code() -> None:
    astray = [str(b) for b in blocks_of(PAGE) if (code := promised(b)) and not under(code, b)]
    assert astray == []


def sections() -> list[tuple[str, str | None]]:
    """Return the code and the title of each section, in the order of the page."""
    found = map(SECTION.match, PAGE.read_text().splitlines())
    return [(match[1], match[2]) for match in found if match]


def class_codes() -> set[str]:
    """Return the codes that the classes of the error tree carry themselves."""
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    return {kind.code for kind in kinds if issubclass(kind, OmniGraphError)}


def server_codes() -> set[str]:
    """Return the codes with which a server refuses by itself, beside those of errors."""
    paths = (ROOT / "omnigraph" / "server").rglob("*.py")
    calls = [
        node
        for path in paths
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Refusal", "self._refuse")
    ]
    given = [ast.unparse(call.args[1]) for call in calls if len(call.args) > 1]
    return {ast.literal_eval(each) for each in given if each != "error.code"} - class_codes()


def promised(block: Block) -> str | None:
    """Return the code that an example has to produce."""
    return block.promised("error") or block.promised("warning")


def under(code: str, block: Block) -> bool:
    """Tell whether a block stands in the section of a code."""
    found = SECTION.match(block.heading)
    return found is not None and found[1] == code
