"""Sweep: the files that no version of a table needs, from a listing and the versions."""

from collections.abc import Callable, Iterable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor

from omnigraph.errors import StorageError
from omnigraph.frozen import dataclass
from omnigraph.storage import layout
from omnigraph.storage.forward import attached_versions
from omnigraph.storage.objects import Stored
from omnigraph.storage.tables import Tables

_INDEXES = "_indices"
_MANIFEST = ".manifest"
_OPENED_AT_A_TIME = 8


@dataclass(frozen=True, slots=True)
class UnneededFiles:
    """Files of one table that no needed version uses; manifests are removed first."""

    path: str
    manifests: tuple[Stored, ...]
    others: tuple[Stored, ...]

    @property
    def versions(self) -> set[int]:
        return {detached_version(each.path) or 0 for each in self.manifests}

    @property
    def index_folders(self) -> set[str]:
        """Folders of index segments that lose a file, and are then removed whole."""
        folders = (each.path.removeprefix(f"{self.path}/").split("/") for each in self.others)
        return {f"{self.path}/{'/'.join(each[:2])}" for each in folders if each[0] == _INDEXES}

    @property
    def parts(self) -> set[str]:
        """The removed files, under the names by which versions of the table refer to them."""
        return {_part(each.path.removeprefix(f"{self.path}/")) for each in self.others}

    @property
    def size(self) -> int:
        return sum(each.size for each in (*self.manifests, *self.others))


def by_table(listing: Iterable[Stored]) -> dict[str, list[Stored]]:
    """Return the files of each table by its folder; other files are left out."""
    found: dict[str, list[Stored]] = {}
    for each in listing:
        parts = each.path.split("/", 2)
        if len(parts) > 2 and parts[0] in layout.TABLES:
            found.setdefault(f"{parts[0]}/{parts[1]}", []).append(each)
    return found


def find_unneeded(
    tables: Tables,
    files: Mapping[str, Iterable[Stored]],
    needed: Mapping[str, Set[int]],
    before: int,
    check: Callable[[], None] = lambda: None,
) -> list[UnneededFiles]:
    """Return the files that no needed version uses and that were written before a time.

    `needed` has the versions that are needed of each table, by its folder. Versions of a moving
    table are always needed, and so are versions written after that time, which somebody may be
    about to publish. Raises StorageError when a needed version cannot be read; those of a table
    without older files are not read. `check` is called before each version is read.
    """
    old_files = {
        path: old
        for path, each in files.items()
        if (old := [file for file in each if file.modified < before])
    }
    wanted = {path: attached_versions(files[path]) | needed.get(path, set()) for path in old_files}
    young = {path: _young(files[path], before) - wanted[path] for path in old_files}
    named = _named(tables, wanted, young, check)
    found = []
    for path, old in old_files.items():
        gone = [file for file in old if _is_unneeded(path, file, wanted[path], named[path])]
        manifests = tuple(file for file in gone if detached_version(file.path) is not None)
        others = tuple(file for file in gone if detached_version(file.path) is None)
        if gone:
            found.append(UnneededFiles(path, manifests, others))
    return found


def needed(
    tables: Tables, files: Mapping[str, Iterable[Stored]], versions: Mapping[str, Set[int]]
) -> list[Stored]:
    """Return the files that some versions of tables are made of, by the folder of each table.

    The versions that move forward are among them. Raises StorageError when one cannot be read, or
    a file is not listed.
    """
    wanted = {
        path: attached_versions(files.get(path, ())) | each for path, each in versions.items()
    }
    named = _named(tables, wanted, {}, lambda: None)
    return [file for path in wanted for file in parts_of(path, files.get(path, ()), named[path])]


def parts_of(path: str, files: Iterable[Stored], named: Set[str]) -> list[Stored]:
    """Return those of the files of a table that belong to the named parts.

    Raises StorageError when there is a part of which no file is listed.
    """
    found = [(file, _part(file.path.removeprefix(f"{path}/"))) for file in files]
    missing = named - {part for _, part in found}
    if missing:
        hint = "fsck tells whether more is missing"
        raise StorageError(f"{path}/{min(missing)} is missing, which a commit needs", hint=hint)
    return [file for file, part in found if part in named]


def detached_version(path: str) -> int | None:
    """Return the version whose manifest a file is; None for the versions of a moving table."""
    name = path.rpartition("/")[2]
    if not (name.startswith("d") and name.endswith(_MANIFEST)):
        return None
    number = name[1 : -len(_MANIFEST)]
    return int(number) if number.isdigit() else None


def _young(files: Iterable[Stored], before: int) -> set[int]:
    """Return the versions that were written after a time."""
    young = (detached_version(each.path) for each in files if each.modified >= before)
    return {each for each in young if each is not None}


def _named(
    tables: Tables,
    wanted: Mapping[str, Set[int]],
    young: Mapping[str, Set[int]],
    check: Callable[[], None],
) -> dict[str, set[str]]:
    """Return all files that versions use, by the folder of their table.

    A young version that cannot be read is one that nobody can publish.
    """
    found: dict[str, set[str]] = {path: set() for path in wanted}
    every = [(path, each, True) for path, versions in wanted.items() for each in versions]
    every += [(path, each, False) for path, versions in young.items() for each in versions]

    def files(item: tuple[str, int, bool]) -> set[str]:
        path, version, must = item
        check()
        try:
            return tables.files_of(path, version)
        except StorageError:
            if must:
                raise
            return set()

    with ThreadPoolExecutor(_OPENED_AT_A_TIME) as pool:
        for (path, _, _), names in zip(every, pool.map(files, every), strict=True):
            found[path] |= names
    return found


def _is_unneeded(path: str, file: Stored, versions: Set[int], named: Set[str]) -> bool:
    """Whether no version needs a file; files of an unknown kind are needed."""
    name = file.path.removeprefix(f"{path}/")
    kind, _, rest = name.partition("/")
    match kind:
        case "_versions":
            version = detached_version(name)
            return version is not None and version not in versions
        case "data" | "_deletions":
            return _part(name) not in named
        case _ if kind == _INDEXES:
            return _part(name) not in named
        case "_transactions":
            # Only a moving table looks back at them.
            read, _, _ = rest.partition("-")
            return read.isdigit() and int(read) >= layout.DETACHED
        case _:
            return False


def _part(name: str) -> str:
    """Return the name by which versions refer to the part of a table that a file belongs to."""
    kind, _, rest = name.partition("/")
    stem, inside, _ = rest.partition("/")
    if kind == "data" and inside:
        return f"data/{stem}.lance"
    return f"{kind}/{stem}" if kind == _INDEXES else name
