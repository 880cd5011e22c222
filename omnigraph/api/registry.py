"""Registry: the files of stored queries, read and checked together."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from omnigraph.errors import (
    Code,
    ConfigError,
    FileProblem,
    Problem,
    QueryError,
    SourceError,
    UnreadableError,
)
from omnigraph.files.bytes import file_bytes, is_there
from omnigraph.files.yaml import Section
from omnigraph.frozen import dataclass
from omnigraph.query.stored import StoredQueries, StoredQuery, parse_stored
from omnigraph.span import Source
from omnigraph.syntax.problems import Problems, suggest
from omnigraph.syntax.source import decode

SUFFIX = ".gq"
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryChoice:
    """One query of a file by its name, and who may see and run it."""

    file: Path
    is_exposed: bool = True
    roles: tuple[str, ...] = ()


# A folder or file of queries, several of them, or queries by name.
QueryFiles: TypeAlias = Path | Sequence[Path] | Mapping[str, QueryChoice]


def parse_query_files(
    section: Section, key: str, resolve: Callable[[Section, str, str], Path]
) -> QueryFiles:
    """Return what a field of a configuration says of the files of stored queries.

    `resolve` makes a path of a text of a field, and notes what is wrong with it.
    """
    if section.is_text(key):
        return resolve(section, key, section.text(key) or "")
    if section.is_list(key):
        return [resolve(section, key, each) for each in section.texts(key)]
    found = {}
    for name, each in section.sections(key, ("file", "expose", "roles")).items():
        path = resolve(each, "file", each.required("file"))
        is_exposed = each.flag("expose") is not False
        found[name] = QueryChoice(file=path, is_exposed=is_exposed, roles=each.texts("roles"))
    return found


def places_of(given: QueryFiles) -> tuple[Path, ...]:
    """Return the folders and files in which stored queries are."""
    if isinstance(given, Mapping):
        return tuple(each.file for each in given.values())
    return (given,) if isinstance(given, Path) else tuple(given)


def open_queries(given: QueryFiles) -> StoredQueries:
    """Return the stored queries of a folder, of files, or of names; raise ConfigError.

    Of folders and files every query is stored; of names only these.
    """
    found, problems = read_queries_of(given)
    if problems:
        raise ConfigError(problems_text(problems))
    return found


def read_queries_of(
    given: QueryFiles, root: Path | None = None
) -> tuple[StoredQueries, list[FileProblem]]:
    """Return stored queries as far as they can be read, and everything that is wrong with them.

    Files below `root` are named by their paths from there.
    """
    if isinstance(given, Mapping):
        return _chosen(given, root)
    problems: list[FileProblem] = []
    files = [file for place in places_of(given) for file in _files(place, root, problems)]
    every = [query for file in files for query in _read(file, root, problems)]
    return StoredQueries(_unique(every, problems)), problems


def problems_text(problems: Iterable[FileProblem]) -> str:
    """Return problems as lines, bounded in number, by file and line."""
    ordered = sorted(set(problems))
    lines = [str(each) for each in ordered[:_MOST_SHOWN]]
    if len(ordered) > _MOST_SHOWN:
        lines.append(f"… and {len(ordered) - _MOST_SHOWN} more")
    return "\n".join(lines)


def source_problems(wrong: SourceError) -> list[FileProblem]:
    """Return the problems of a text, each with its line."""
    source = wrong.source or Source("<text>", "")
    return [_placed(source, each) for each in wrong.problems]


def _placed(source: Source, problem: Problem) -> FileProblem:
    line = 1 if problem.span is None else source.locate(problem.span.start).line
    hint = "" if problem.hint is None else f"; {problem.hint}"
    return FileProblem(source.name, line, f"{problem.code}: {problem.message}{hint}")


def _files(place: Path, root: Path | None, problems: list[FileProblem]) -> list[Path]:
    """Return the files of queries at a path: itself, or those of a folder."""
    if not is_there(place) or not place.is_dir():
        return [place]
    found = sorted(each for each in place.iterdir() if each.suffix == SUFFIX)
    if not found:
        message = f"the folder has no {SUFFIX} file"
        problems.append(FileProblem(_name(place, root), 1, message))
    return found


def _name(path: Path, root: Path | None) -> str:
    return str(path if root is None else path.relative_to(root))


def _read(path: Path, root: Path | None, problems: list[FileProblem]) -> list[StoredQuery]:
    name = _name(path, root)
    try:
        source = decode(name, file_bytes(path), QueryError, Code.QUERY_SYNTAX)
    except UnreadableError as wrong:
        problems.append(FileProblem(name, 1, wrong.message))
        return []
    except QueryError as wrong:
        problems += source_problems(wrong)
        return []
    noted = Problems()
    found = parse_stored(source, noted)
    problems += [_placed(source, each) for each in noted.in_order()]
    return found


def _unique(queries: list[StoredQuery], problems: list[FileProblem]) -> list[StoredQuery]:
    """Return queries without those whose name another one has, which are problems."""
    first: dict[str, StoredQuery] = {}
    for query in queries:
        twin = first.setdefault(query.name, query)
        if twin is not query:
            where = f"{twin.source.name}:{twin.line}"
            message = f"query '{query.name}' is also in {where}; names are unique"
            problems.append(FileProblem(query.source.name, query.line, message))
    return list(first.values())


def _chosen(
    choices: Mapping[str, QueryChoice], root: Path | None
) -> tuple[StoredQueries, list[FileProblem]]:
    problems: list[FileProblem] = []
    files = {path: _read(path, root, problems) for path in {each.file for each in choices.values()}}
    found = []
    for name, choice in choices.items():
        known = {each.name: each for each in files[choice.file]}
        if name in known:
            chosen = replace(known[name], is_exposed=choice.is_exposed, roles=choice.roles)
            found.append(chosen)
        elif known:
            hint = suggest(name, known) or f"it has {', '.join(known)}"
            message = f"the file has no query '{name}'; {hint}"
            problems.append(FileProblem(_name(choice.file, root), 1, message))
    return StoredQueries(found), problems
