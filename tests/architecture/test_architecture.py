"""The codebase is what ARCHITECTURE.md says it is."""

import ast
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import omnigraph
from omnigraph import errors
from omnigraph.errors import OmniGraphError, Problem
from omnigraph.span import Source, Span

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "omnigraph"
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
ROOMS = sorted(path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE)
MOST_MODULES = 20
PUBLIC_NAMES = Path(__file__).with_name("public_names.txt")
HEAVY = ("cedarpy", "lance", "pyarrow", "pyspark", "rich", "lark")


def test_the_public_names_are_exactly_these() -> None:
    assert sorted(omnigraph.__all__) == PUBLIC_NAMES.read_text().split()


@pytest.mark.parametrize("name", omnigraph.__all__)
def test_every_public_name_can_be_reached(name: str) -> None:
    assert getattr(omnigraph, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = omnigraph.nothing


@pytest.mark.parametrize("folder", ROOMS, ids=lambda folder: str(folder.relative_to(PACKAGE)))
def test_a_package_lists_its_modules_in_its_docstring(folder: Path) -> None:
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    rooms = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert sorted(_listed_modules(folder)) == sorted(modules | rooms)


def test_every_module_says_what_it_is_in_its_first_line() -> None:
    docstrings = {path: ast.get_docstring(ast.parse(path.read_text())) or "" for path in MODULES}
    firsts = {path: text.partition("\n")[0] for path, text in docstrings.items()}
    assert {path for path, first in firsts.items() if not first.endswith(".")} == set()
    assert {path for path, first in firsts.items() if first.startswith("Give")} == set()


def test_no_room_hides_another_one() -> None:
    modules = {str(room.relative_to(PACKAGE)): len(list(room.glob("[!_]*.py"))) for room in ROOMS}
    assert {room: many for room, many in modules.items() if many > MOST_MODULES} == {}


def test_the_architecture_is_read_in_one_sitting() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_bytes()) <= 12 * 1024


def test_the_docstring_of_errors_draws_the_whole_tree() -> None:
    drawn = re.findall(r"^\s*[│├└─ ]*(\w+Error)\b", errors.__doc__ or "", re.MULTILINE)
    defined = [name for name in _error_classes() if not name.startswith("_")]
    assert sorted(drawn) == sorted(defined)


def test_codes_of_error_classes_are_unique() -> None:
    codes = [kind.code for name, kind in _error_classes().items() if not name.startswith("_")]
    own = [code for code in codes if code not in ("bad_input", "error")]
    assert len(own) == len(set(own))


@pytest.mark.parametrize(
    "error",
    [
        OmniGraphError("it failed", hint="try again"),
        errors.QueryNotFoundError("no query 'x'"),
        errors.QueryError(
            [Problem(errors.Code.UNKNOWN_EDGE, "unknown edge", Span(0, 1), "look")],
            source=Source("q.gq", "x"),
            total=7,
        ),
        errors.ParamsError([Problem(errors.Code.MISSING_PARAM, "'$x' is missing")]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_pickling(error: OmniGraphError) -> None:
    revived = pickle.loads(pickle.dumps(error))
    assert type(revived) is type(error)
    assert revived.to_json() == error.to_json()
    assert revived.render() == error.render()


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["version"], ["completion", "bash"], ["query", "lint", "--help"]],
    ids=" ".join,
)
def test_quick_commands_import_nothing_heavy(arguments: list[str]) -> None:
    assert _imported(arguments) == set()


def test_lint_against_a_schema_file_imports_nothing_heavy(tmp_path: Path) -> None:
    schema, query = tmp_path / "s.pg", tmp_path / "q.gq"
    schema.write_text('node A { name: String @check(name, "^a") }')
    query.write_text("query q() { match { $a: A } return { $a } }")
    command = ["query", "lint", "--schema", str(schema), "--query", str(query)]
    assert _imported(command) == set()


def test_the_layers_hold() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-logo"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def _imported(arguments: list[str]) -> set[str]:
    """Return the heavy libraries that a command imports."""
    code = (
        "import sys; from omnigraph.cli.main import omnigraph\n"
        "try: omnigraph(sys.argv[1:])\n"
        f"finally: print('heavy:', *(n for n in {HEAVY!r} if n in sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stderr.partition("heavy:")[2].split())


def _listed_modules(folder: Path) -> list[str]:
    """Return the names that the docstring of a package lists, one to a line."""
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    return re.findall(r"^(\w+)  +\S", docstring, re.MULTILINE)


def _error_classes() -> dict[str, type[OmniGraphError]]:
    return {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, OmniGraphError)
    }
