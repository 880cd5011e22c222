"""What is released holds what a user needs, and nothing of the workshop."""

import re
import shutil
import subprocess
import sys
import tarfile
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

import omnigraph
from tests.archives import unpack

ROOT = Path(__file__).parents[2]
MOST_BYTES = 2_000_000
VERSION = omnigraph.__version__


def build(root: Path, folder: Path, *kinds: str) -> None:
    """Build releases of a source tree as `make dist` does: without a network."""
    hatchling = str(Path(sys.executable).with_name("hatchling"))
    targets = [word for kind in kinds for word in ("-t", kind)]
    subprocess.run(
        [hatchling, "build", "-d", str(folder), *targets], cwd=root, check=True, capture_output=True
    )


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder, "sdist", "wheel")
    return folder


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    return dist / f"omnigraph-{VERSION}-py3-none-any.whl"


def test_the_version_is_one_of_a_release_and_the_changelog_begins_with_it() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)
    headings = re.findall(r"(?m)^## (.+)$", (ROOT / "CHANGELOG.md").read_text())
    released = [each for each in headings if not each.endswith("(unreleased)")]
    assert released == headings or released == headings[1:]
    assert re.fullmatch(rf"{re.escape(VERSION)} \(\d{{4}}-\d\d-\d\d\)", released[0])


def test_a_wheel_holds_the_packages_what_they_read_and_the_licence(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    about = f"omnigraph-{VERSION}.dist-info"
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "omnigraph").rglob("*.py")}
    examples = {
        f"omnigraph/cli/{path.relative_to(ROOT)}"
        for path in (ROOT / "examples").glob("*/*.*")
        if path.suffix in (".gq", ".jsonl", ".pg", ".py", ".sh", ".yaml") and path.is_file()
    }

    assert modules <= names
    assert examples <= names
    assert {"omnigraph/py.typed", "omnigraph/cli/errors.md", "pyspark_omnigraph.py"} <= names
    assert f"{about}/licenses/LICENSE" in names
    assert {name.partition("/")[0] for name in names} == {
        "omnigraph",
        "pyspark_omnigraph.py",
        about,
    }


def test_a_wheel_carries_the_page_of_the_studio_where_it_is_built(wheel: Path) -> None:
    page = (ROOT / "omnigraph/studio").rglob("*.*")
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {str(path.relative_to(ROOT)) for path in page if path.is_file()} <= names


def test_a_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size <= MOST_BYTES


def test_a_wheel_tells_what_it_is_and_which_commands_it_has(wheel: Path) -> None:
    about = f"omnigraph-{VERSION}.dist-info"
    with ZipFile(wheel) as archive:
        metadata = Parser().parsestr(archive.read(f"{about}/METADATA").decode())
        commands = archive.read(f"{about}/entry_points.txt").decode()

    assert (metadata["Name"], metadata["Version"]) == ("omnigraph", VERSION)
    assert metadata["License-Expression"] == "MIT"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload() == (ROOT / "README.md").read_text()
    assert "omnigraph = omnigraph.cli.start:main" in commands
    assert "omnigraph-server = omnigraph.server.main:main" in commands


def test_what_the_container_copies_is_enough_for_the_wheel(wheel: Path, tmp_path: Path) -> None:
    text = (ROOT / "deploy" / "Containerfile").read_text()
    for copied in re.findall(r"(?m)^COPY (?!--from)(.+) \S+$", text):
        for source in copied.split():
            place = tmp_path / source
            place.parent.mkdir(exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, symlinks=True)
            else:
                shutil.copyfile(ROOT / source, place)

    build(tmp_path, tmp_path / "again", "wheel")

    with ZipFile(wheel) as ours, ZipFile(tmp_path / "again" / wheel.name) as theirs:
        assert theirs.namelist() == ours.namelist()


@pytest.mark.long
def test_an_unpacked_sdist_builds_the_same_wheel(dist: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(dist / f"omnigraph-{VERSION}.tar.gz") as archive:
        unpack(archive, tmp_path)

    build(tmp_path / f"omnigraph-{VERSION}", tmp_path / "again", "wheel")

    assert (tmp_path / "again" / wheel.name).read_bytes() == wheel.read_bytes()
