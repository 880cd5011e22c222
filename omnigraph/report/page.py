"""Page: a report on a graph, as one HTML document that needs nothing from outside."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import cache
from html import escape
from itertools import islice
from pathlib import Path
from typing import Protocol

from omnigraph.data.result import Result, result_html
from omnigraph.errors import BranchNotFoundError
from omnigraph.frozen import dataclass
from omnigraph.look.colours import colour_types
from omnigraph.look.style import SCOPE, page_style, sheet
from omnigraph.look.words import counted
from omnigraph.merge.compare.differences import render_counts, render_differences, render_type
from omnigraph.merge.compare.row_change import Change, Op
from omnigraph.report.authors import Authors, BlamedGraph, find_authors
from omnigraph.report.commits import render_commits, render_id
from omnigraph.report.diagram import draw_schema
from omnigraph.schema.catalog import EdgeType, NodeType, Property, StoredType
from omnigraph.schema.steps import MigrationStep
from omnigraph.versioning.commit import Commit, author_html
from omnigraph.versioning.snapshot import Snapshot

_MOST_CHANGES = 50
# With more types than these, the tables of types are closed at first.
_MOST_OPEN = 24
_STYLE = Path(__file__).with_name("page.css")
_ICON = (
    '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" '
    'fill="#0f766e"/><path d="M9 22 16 9l7 13z" stroke="#fff" stroke-width="2" fill="none"/>'
    '<g fill="#fff"><circle cx="16" cy="9" r="4"/><circle cx="9" cy="22" r="4"/>'
    '<circle cx="23" cy="22" r="4"/></g></svg>'
)


class ShownChanges(Protocol):
    """Changes of rows and of the schema, local or sent by a server."""

    @property
    def old_commit(self) -> str: ...
    @property
    def new_commit(self) -> str: ...
    @property
    def schema_steps(self) -> Sequence[MigrationStep]: ...
    @property
    def stats(self) -> Mapping[str, Mapping[Op, int]]: ...
    def __iter__(self) -> Iterator[Change]: ...


class ShownView(Protocol):
    """A commit of a graph that can be shown."""

    @property
    def snapshot(self) -> Snapshot: ...
    @property
    def schema(self) -> str: ...


class ShownBranch(Protocol):
    """A branch of a graph that can be shown."""

    @property
    def commit(self) -> Commit: ...
    def log(self, *, limit: int) -> Iterator[Commit]: ...


class ShownGraph(BlamedGraph, Protocol):
    """A graph that can be shown, local or behind a server."""

    @property
    def uri(self) -> str: ...
    def branches(self) -> list[str]: ...
    def branch(self, name: str) -> ShownBranch: ...
    def at(self, target: str) -> ShownView: ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """Changes under a title: the first of them, with who made them, and how many there are."""

    title: str
    shown: Sequence[Change]
    authors: Authors
    stats: Mapping[str, Mapping[Op, int]]
    schema_steps: Sequence[MigrationStep]

    @property
    def more(self) -> int:
        """How many changes are not shown."""
        return sum(sum(counts.values()) for counts in self.stats.values()) - len(self.shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a report shows: a graph at one commit, its newest commits, changes and query results.

    `heads` maps branches to their newest commits; `answered` are shown under their keys as titles.
    """

    uri: str
    snapshot: Snapshot
    schema_source: str
    commits: Sequence[Commit]
    heads: Mapping[str, str]
    compared: Sequence[Comparison] = ()
    answered: Mapping[str, Result] = field(default_factory=dict)

    def to_html(self) -> str:
        """Return the whole document."""
        title = escape(graph_name(self.uri))
        parts = [*self._head(title), *self._schema(), *self._history()]
        parts += [*self._changes(), *self._answers()]
        commit = self.snapshot.commit
        where = escape(f"{self.uri} at commit {commit.id} of {commit.branch}")
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{title} · OmniGraph</title><style>{_style()}</style></head>"
            f'<body class="{SCOPE}">'
            f"{''.join(parts)}</main><footer>Made by OmniGraph from {where}</footer>"
            "</body></html>\n"
        )

    def _head(self, title: str) -> Iterable[str]:
        commit, catalog = self.snapshot.commit, self.snapshot.catalog
        rows = [
            sum(self._count(each) for each in types.values())
            for types in (catalog.nodes, catalog.edges)
        ]
        facts = (
            f"{counted(len(catalog.nodes), 'node type')} and "
            f"{counted(len(catalog.edges), 'edge type')}",
            f"{counted(rows[0], 'node')} and {counted(rows[1], 'edge')}",
            counted(len(self.heads), "branch"),
        )
        said = f": {escape(commit.message)}" if commit.message else ""
        yield f'<header><div class="brand">{_ICON}<b>OmniGraph</b> report</div>'
        yield f'<h1>{title}</h1><p class="summary">{" · ".join(facts)}</p>'
        yield f'<p class="summary soft small"><span class="badge">{escape(commit.branch)}</span>'
        yield f"{render_id(commit.id)} {author_html(commit)}{said}</p></header><main>"

    def _schema(self) -> Iterable[str]:
        catalog = self.snapshot.catalog
        counts = {key: state.row_count for key, state in self.snapshot.commit.tables.items()}
        yield "<h2>Schema</h2>"
        yield _scroll_sideways(draw_schema(catalog, counts), "The types and their edges", "picture")
        is_open = len(catalog.nodes) + len(catalog.edges) <= _MOST_OPEN
        for kind, types in (("node", catalog.nodes), ("edge", catalog.edges)):
            if types:
                yield self._render_types(kind, list(types.values()), is_open=is_open)
        source = f"<pre>{escape(self.schema_source)}</pre>"
        yield f"<details><summary>The text of the schema</summary>{source}</details>"

    def _render_types(
        self, kind: str, types: Sequence[NodeType | EdgeType], *, is_open: bool
    ) -> str:
        joins = ("joins",) if kind == "edge" else ()
        head = "".join(
            f'<th scope="col"{" class=number" if name == "rows" else ""}>{name}</th>'
            for name in ("type", *joins, "rows", "properties")
        )
        rows = "".join(map(self._render_type, types))
        return (
            f"<details{' open' if is_open else ''}><summary>"
            f"{counted(len(types), f'{kind} type')}</summary>"
            f'<div class="wide"><table class="types"><thead><tr>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div></details>"
        )

    def _render_type(self, stored: StoredType) -> str:
        joins = ""
        if isinstance(stored, EdgeType):
            joins = f'<td class="soft">{escape(f"{stored.source} → {stored.target}")}</td>'
        listed = "".join(map(_render_property, stored.properties.values()))
        count = counted(len(stored.properties), "property")
        properties = (
            f'<details><summary>{count}</summary><ul class="properties">{listed}</ul></details>'
            if listed
            else '<span class="soft">none</span>'
        )
        return (
            f"<tr><td>{render_type(stored.name, self._colours())}</td>{joins}"
            f'<td class="number">{self._count(stored):,}</td><td>{properties}</td></tr>'
        )

    def _history(self) -> Iterable[str]:
        yield "<h2>History</h2>"
        yield render_commits(self.commits, self.heads)

    def _changes(self) -> Iterable[str]:
        if self.compared:
            yield "<h2>Changes</h2>"
        for each in self.compared:
            yield f"<h3>{escape(each.title)}</h3>"
            yield from (f"<p>schema: {escape(str(step))}</p>" for step in each.schema_steps)
            if not each.shown:
                yield '<p class="soft">no row differs</p>'
                continue
            yield render_counts(each.stats, self._colours())
            yield render_differences(each.shown, self._colours(), each.authors.of)
            if each.more > 0:
                yield f'<p class="soft">… and {each.more:,} more</p>'

    def _answers(self) -> Iterable[str]:
        if self.answered:
            yield "<h2>Answers</h2>"
        for title, found in self.answered.items():
            rows = f'<span class="soft small">{counted(len(found), "row")}</span>'
            yield f"<h3>{escape(title)} {rows}</h3>"
            yield _scroll_sideways(result_html(found), f"Rows of {title}")

    def _count(self, stored: StoredType) -> int:
        state = self.snapshot.commit.tables.get(stored.identity)
        return 0 if state is None else state.row_count

    def _colours(self) -> Mapping[str, int]:
        return colour_types(self.snapshot.catalog.nodes, self.snapshot.catalog.edges)


def build_page(
    graph: ShownGraph,
    place: str,
    commits: int,
    compared: Mapping[str, ShownChanges] | None,
    answered: Mapping[str, Result] | None,
) -> Page:
    """Return the page of a branch or commit, with its `commits` newest commits."""
    view = graph.at(place)
    heads: dict[str, str] = {}
    found: dict[str, Commit] = {}
    for name in graph.branches():
        branch = graph.branch(name)
        with suppress(BranchNotFoundError):  # it was deleted since it was listed
            newest = list(branch.log(limit=commits))
            heads[name] = branch.commit.id
            found |= {commit.id: commit for commit in newest}
    return Page(
        uri=graph.uri,
        snapshot=view.snapshot,
        schema_source=view.schema,
        commits=sorted(found.values(), key=lambda each: -each.version)[:commits],
        heads=heads,
        compared=[_compare(graph, title, each) for title, each in (compared or {}).items()],
        answered=answered or {},
    )


def graph_name(uri: str) -> str:
    """Return what a graph is called: the last part of where it is."""
    name = uri.rstrip("/").rpartition("/")[2] or uri
    return name.removesuffix(".omni") or name


def _compare(graph: ShownGraph, title: str, found: ShownChanges) -> Comparison:
    shown = list(islice(found, _MOST_CHANGES))
    authors = find_authors(graph, (found.old_commit, found.new_commit), shown)
    return Comparison(title, shown, authors, found.stats, found.schema_steps)


@cache
def _style() -> str:
    sheets = map(sheet, ("table", "diff", "diagram"))
    return "\n".join([page_style(), *sheets, _STYLE.read_text(encoding="utf-8")])


def _render_property(item: Property) -> str:
    kind = f"{item.type}{'?' if item.nullable else ''}"
    return f'<li>{escape(item.name)}: <span class="soft">{escape(kind)}</span></li>'


def _scroll_sideways(part: str, label: str, more: str = "") -> str:
    """Return a part that scrolls sideways where the window is narrower, by keys as well."""
    name = f"wide {more}".strip()
    return (
        f'<div class="{name}" role="region" tabindex="0" aria-label="{escape(label)}">{part}</div>'
    )
