"""Declaration: the file `cluster.yaml` and all that it names, read and checked together."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path, PurePosixPath

from omnigraph.api.budgets import parse_budgets
from omnigraph.api.registry import (
    SUFFIX,
    parse_query_files,
    places_of,
    read_queries_of,
    source_problems,
)
from omnigraph.deploy.definition import (
    CLUSTER,
    GRAPH_ID,
    PROVIDER_KINDS,
    Definition,
    GraphDefinition,
    PolicyDefinition,
    ProviderDefinition,
    is_reference,
)
from omnigraph.errors import (
    Code,
    ConfigError,
    DeclarationError,
    FileProblem,
    QueryError,
    SchemaError,
    UnreadableError,
)
from omnigraph.files.bytes import file_bytes, is_there
from omnigraph.files.yaml import Section, parse_yaml
from omnigraph.frozen import dataclass
from omnigraph.policy.actions import Action
from omnigraph.policy.rules import Rules, check_version, parse_rules
from omnigraph.query.compile import compile_query
from omnigraph.query.stored import NO_QUERIES, StoredQueries
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.compile import compile_schema
from omnigraph.span import Source
from omnigraph.syntax.problems import list_names, suggest
from omnigraph.syntax.source import decode

FILE_NAME = "cluster.yaml"

_TOP = ("version", "metadata", "state", "storage", "graphs", "policies", "providers", "limits")
_GRAPH = ("schema", "queries", "embedding_provider", "limits")
_PROVIDER = ("kind", "base_url", "model", "api_key")
_LINE = re.compile(r":(\d+): ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a folder declares: the definition, where it is to be, and what has no effect."""

    folder: Path
    storage: str
    definition: Definition
    notes: tuple[str, ...] = ()


def read_declaration(path: Path) -> Declaration:
    """Read `cluster.yaml` of a folder, or this file, and every file that it names.

    Raise DeclarationError with everything that is wrong in any of them.
    """
    file = path / FILE_NAME if path.is_dir() or path.suffix not in (".yaml", ".yml") else path
    return _Reading(file.absolute()).declaration()


def storage_of(file: Path) -> str:
    """Return the storage that a `cluster.yaml` names, and read nothing else of it."""
    top = parse_yaml(file.name, file_bytes(file), _TOP)
    storage = _storage(top, file.absolute().parent)
    top.check()
    return storage


def declared_schemas(file: Path) -> list[tuple[Path, tuple[Path, ...]]]:
    """Return the schema of each graph of a `cluster.yaml`, and where its stored queries are.

    No other file is read. Raise ConfigError for a text that is no right one.
    """
    top = parse_yaml(file.name, file_bytes(file), _TOP)
    folder = file.absolute().parent.resolve()
    found = []
    for section in top.sections("graphs", _GRAPH).values():
        files = parse_query_files(section, "queries", lambda _, __, path: folder / path)
        found.append((folder / section.required("schema"), places_of(files)))
    top.check()
    return found


@dataclass(slots=True)
class _Reading:
    """One pass over the files of a deployment, and what is wrong in them."""

    file: Path
    problems: list[FileProblem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        return self.file.parent

    def declaration(self) -> Declaration:
        try:
            top = parse_yaml(self.file.name, file_bytes(self.file), _TOP)
        except ConfigError as wrong:
            raise DeclarationError(_config_problems(self.file.name, wrong)) from None
        definition = self._definition(top)
        storage = _storage(top, self.folder)
        self.problems += [FileProblem(self.file.name, *each) for each in top.noted()]
        if self.problems:
            raise DeclarationError(self.problems)
        return Declaration(
            folder=self.folder, storage=storage, definition=definition, notes=tuple(self.notes)
        )

    def _definition(self, top: Section) -> Definition:
        check_version(top)
        name = top.section("metadata", ("name",)).required("name")
        if "state" in top:
            top.section("state", ("backend", "lock"))
            self.notes.append("'state' has no effect: revisions need no lock and no backend")
        providers = self._providers(top)
        policies, rules = self._policies(top)
        graphs = self._graphs(top, providers, rules)
        for key, policy in policies.items():
            for each in policy.applies_to:
                if each not in (CLUSTER, *graphs):
                    hint = suggest(each, [*graphs, CLUSTER]) or f"it has {_listed(graphs)}"
                    section = top.section("policies", None).section(key, None)
                    section.report("applies_to", f"names the unknown graph '{each}'; {hint}")
        return Definition(name=name, graphs=graphs, policies=policies, providers=providers)

    def _graphs(
        self,
        top: Section,
        providers: Mapping[str, ProviderDefinition],
        rules: Mapping[str, tuple[Rules, tuple[str, ...]]],
    ) -> dict[str, GraphDefinition]:
        found: dict[str, GraphDefinition] = {}
        if "graphs" not in top:
            top.note("'graphs' is missing; a deployment has at least one graph")
        common = parse_budgets(top, "limits")
        for name, section in top.sections("graphs", _GRAPH).items():
            if GRAPH_ID.fullmatch(name) is None or name == CLUSTER:
                section.note("cannot name a graph: use a-z, 0-9, - and _, and not 'cluster'")
            schema, catalog = self._schema(section)
            groups = [each.groups for each, to in rules.values() if name in to]
            queries = self._queries(section, catalog, {group for each in groups for group in each})
            provider = section.choice("embedding_provider", tuple(providers))
            found[name] = GraphDefinition(
                schema=schema,
                queries=queries,
                provider=provider,
                budgets=parse_budgets(section, "limits").under(common),
            )
        return found

    def _schema(self, section: Section) -> tuple[Source, Catalog | None]:
        path = self._path(section, "schema", section.required("schema"))
        if path is None:
            return Source("", ""), None
        source = self._source(path)
        if source is None:
            return Source("", ""), None
        try:
            return source, compile_schema(source)
        except SchemaError as wrong:
            self.problems += source_problems(wrong)
            return source, None

    def _queries(
        self, section: Section, catalog: Catalog | None, groups: set[str]
    ) -> StoredQueries:
        if "queries" not in section:
            return NO_QUERIES
        before = len(section.noted())
        files = parse_query_files(section, "queries", self._existing)
        if len(section.noted()) > before:
            return NO_QUERIES
        queries, problems = read_queries_of(files, self.folder)
        self.problems += problems
        for query in queries.values():
            self._check_query(query.source, query.name, catalog)
            for role in query.roles:
                if role not in groups:
                    hint = suggest(role, groups) or f"the policies have {_listed(groups)}"
                    section.report(
                        "queries", f"gives '{query.name}' the unknown role '{role}'; {hint}"
                    )
        return queries

    def _check_query(self, source: Source, name: str, catalog: Catalog | None) -> None:
        if catalog is None:
            return
        try:
            compile_query(source, catalog, name)
        except QueryError as wrong:
            self.problems += source_problems(wrong)

    def _policies(
        self, top: Section
    ) -> tuple[dict[str, PolicyDefinition], dict[str, tuple[Rules, tuple[str, ...]]]]:
        found: dict[str, PolicyDefinition] = {}
        rules: dict[str, tuple[Rules, tuple[str, ...]]] = {}
        for name, section in top.sections("policies", ("file", "applies_to")).items():
            applies_to = section.texts("applies_to")
            if not applies_to:
                section.note("needs 'applies_to', a list of graphs, or [cluster]")
            path = self._path(section, "file", section.required("file"))
            source = None if path is None else self._source(path)
            if source is None:
                continue
            found[name] = PolicyDefinition(source=source, applies_to=applies_to)
            try:
                parsed = parse_rules(source.name, source.text.encode())
            except ConfigError as wrong:
                self.problems += _config_problems(source.name, wrong)
            else:
                rules[name] = (parsed, applies_to)
                self._check_kind(section, parsed, applies_to)
        self._check_twins(top, found)
        return found, rules

    def _check_kind(self, section: Section, rules: Rules, applies_to: tuple[str, ...]) -> None:
        """Note rules that would never be asked, because they are about something else."""
        for_cluster = CLUSTER in applies_to
        if for_cluster and len(applies_to) > 1:
            section.report("applies_to", f"is '{CLUSTER}' or graphs, not both")
        for rule in rules.rules:
            others = [each for each in rule.actions if (each is Action.GRAPH_LIST) != for_cluster]
            if others:
                about = f"'{CLUSTER}'" if for_cluster else "graphs"
                message = (
                    f"applies to {about}, where nobody asks for '{others[0]}' (rule '{rule.id}')"
                )
                section.report("applies_to", message)

    def _check_twins(self, top: Section, policies: Mapping[str, PolicyDefinition]) -> None:
        """Note a graph with two policies: which of them decides would be a guess."""
        seen: dict[str, str] = {}
        for name, policy in policies.items():
            for each in policy.applies_to:
                if each in seen:
                    section = top.section("policies", None).section(name, None)
                    section.report("applies_to", f"names '{each}', which '{seen[each]}' is for")
                seen.setdefault(each, name)

    def _providers(self, top: Section) -> dict[str, ProviderDefinition]:
        found: dict[str, ProviderDefinition] = {}
        providers = top.section("providers", ("embedding",))
        for name, section in providers.sections("embedding", _PROVIDER).items():
            kind = section.choice("kind", PROVIDER_KINDS) or section.required("kind")
            settings = {
                key: value for key in _PROVIDER[1:] if (value := section.text(key)) is not None
            }
            key = settings.get("api_key")
            if key is not None and not is_reference(key):
                # The text may be a key, and is not shown.
                section.report("api_key", "holds a secret in clear; write a reference like ${KEY}")
            found[name] = ProviderDefinition(kind=kind, settings=settings)
        return found

    def _existing(self, section: Section, key: str, text: str) -> Path:
        """Return the path of a text; one that is not allowed is noted and stands for nothing."""
        return self._path(section, key, text) or self.folder / "nothing"

    def _path(self, section: Section, key: str, text: str) -> Path | None:
        """Return a path inside the folder; note one that leaves it, by `..` or by a link."""
        if not text:
            return None
        given = PurePosixPath(text)
        if given.is_absolute() or ".." in given.parts:
            section.report(key, f"is '{text}', which leaves the folder of the deployment")
            return None
        path = self.folder / given
        if not is_there(path):
            section.report(key, f"is '{text}', and there is no such file")
            return None
        places = [path, *(path.iterdir() if path.is_dir() else ())]
        for place in places:
            if not place.resolve().is_relative_to(self.folder.resolve()):
                name = place.relative_to(self.folder)
                section.report(key, f"leads out of the folder by the link '{name}'")
                return None
        if path.is_dir() and not any(each.suffix == SUFFIX for each in path.iterdir()):
            section.report(key, f"is '{text}', a folder without any {SUFFIX} file")
            return None
        return path

    def _source(self, path: Path) -> Source | None:
        name = str(path.relative_to(self.folder))
        try:
            return decode(name, file_bytes(path), SchemaError, Code.SCHEMA_SYNTAX)
        except UnreadableError as wrong:
            self.problems.append(FileProblem(name, 1, wrong.message))
        except SchemaError as wrong:
            self.problems += source_problems(wrong)
        return None


def _storage(top: Section, folder: Path) -> str:
    storage = top.text("storage") or str(folder)
    return storage if "://" in storage else str(folder / storage)


def _config_problems(name: str, wrong: ConfigError) -> list[FileProblem]:
    """Return the lines of an error about a file as problems."""
    found = []
    for line in wrong.message.splitlines():
        place = _LINE.search(line)
        if place is None:
            found.append(FileProblem(name, 1, line.removeprefix(f"{name}: ")))
        else:
            found.append(FileProblem(name, int(place[1]), line[place.end() :]))
    return found


def _listed(names: Iterable[str]) -> str:
    return list_names(sorted(names)) or "none"
