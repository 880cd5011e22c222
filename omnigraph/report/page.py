"""Page: a report on a graph, as one HTML document that needs nothing from outside."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import islice
from typing import Protocol

from omnigraph.data.result import Result
from omnigraph.html import html_table
from omnigraph.merge.row_change import Change, Op
from omnigraph.report.commits import draw_commits
from omnigraph.report.diagram import draw_schema
from omnigraph.schema.steps import MigrationStep
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.snapshot import Snapshot

_MOST_CHANGES = 50
_STYLE = """
:root { color-scheme: light dark; --text: #1f2937; --soft: #6b7280; --line: #e5e7eb;
  --page: #fff; --shade: #f3f4f6; --edge: #94a3b8; --name: #0f766e;
  --insert: #047857; --delete: #b91c1c; --update: #1d4ed8 }
@media (prefers-color-scheme: dark) {
  :root { --text: #e5e7eb; --soft: #9ca3af; --line: #374151; --page: #111827; --shade: #1f2937;
    --edge: #64748b; --name: #5eead4; --insert: #34d399; --delete: #f87171; --update: #93c5fd }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page);
  max-width: 1000px; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin-bottom: 0 }
h2 { font-size: 1.2rem; margin-top: 2rem }
h1, h2, p.where, li { overflow-wrap: anywhere }
p.where { color: var(--soft); margin-top: .2rem }
div.wide { overflow-x: auto }
table { border-collapse: collapse; margin: .5rem 0 }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; text-align: left }
th { background: var(--shade) }
pre { background: var(--shade); border: 1px solid var(--line); padding: .8rem; overflow-x: auto }
svg text { font: 12px system-ui, sans-serif; fill: var(--text) }
.type rect { fill: var(--page); stroke: var(--edge) }
.type .name { font-weight: 600 }
.type .count { text-anchor: end; fill: var(--soft) }
.type .property { fill: var(--soft); font-size: 11px }
path.edge, path.parent { fill: none; stroke-width: 1.4 }
path.edge { stroke: var(--edge) }
marker path { fill: var(--edge) }
text.edge { fill: var(--name); text-anchor: middle; paint-order: stroke; stroke: var(--page);
  stroke-width: 4px }
.commits .id { font-family: monospace; fill: var(--soft) }
.commits .head { font-weight: 600 }
.commits .when { fill: var(--soft) }
ul.changes { font-family: monospace; padding-left: 0; list-style: none }
li.insert { color: var(--insert) }
li.delete { color: var(--delete) }
li.update { color: var(--update) }
"""


class ShownChanges(Protocol):
    """Changes of rows and of the schema, local or sent by a server."""

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


class ShownGraph(Protocol):
    """A graph that can be shown, local or behind a server."""

    @property
    def uri(self) -> str: ...
    def branches(self) -> list[str]: ...
    def branch(self, name: str) -> ShownBranch: ...
    def at(self, target: str) -> ShownView: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a report shows: a graph at one commit, its newest commits, changes and query results.

    `heads` maps branches to their newest commits; `compared` and `answered` are shown under their
    keys as titles.
    """

    uri: str
    snapshot: Snapshot
    schema_source: str
    commits: Sequence[Commit]
    heads: Mapping[str, str]
    compared: Mapping[str, ShownChanges] = field(default_factory=dict)
    answered: Mapping[str, Result] = field(default_factory=dict)

    def to_html(self) -> str:
        """Return the whole document."""
        parts = [
            *self._schema(),
            *self._history(),
            *(
                part
                for title, found in self.compared.items()
                for part in _render_changes(title, found)
            ),
            *(
                part
                for title, found in self.answered.items()
                for part in _render_answer(title, found)
            ),
        ]
        title = escape(self.uri.rstrip("/").rpartition("/")[2] or self.uri)
        commit = self.snapshot.commit
        where = escape(f"{self.uri} at commit {commit.id} of {commit.branch}")
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{title}</title><style>{_STYLE}</style></head><body>"
            f'<h1>{title}</h1><p class="where">{where}</p>{"".join(parts)}</body></html>\n'
        )

    def _schema(self) -> Iterable[str]:
        counts = {key: state.row_count for key, state in self.snapshot.commit.tables.items()}
        yield "<h2>Schema</h2>"
        yield _scroll_sideways(draw_schema(self.snapshot.catalog, counts))
        rows = [
            (edge.name, f"{edge.source} → {edge.target}", f"{counts.get(edge.identity, 0):,}")
            for edge in self.snapshot.catalog.edges.values()
        ]
        if rows:
            yield html_table(("edge", "joins", "rows"), rows)
        yield f"<details><summary>source</summary><pre>{escape(self.schema_source)}</pre></details>"

    def _history(self) -> Iterable[str]:
        yield "<h2>History</h2>"
        yield _scroll_sideways(draw_commits(self.commits, self.heads))


def build_page(
    graph: ShownGraph,
    place: str,
    commits: int,
    compared: Mapping[str, ShownChanges] | None,
    answered: Mapping[str, Result] | None,
) -> Page:
    """Return the page of a branch or commit, with its `commits` newest commits."""
    view = graph.at(place)
    branches = {name: graph.branch(name) for name in graph.branches()}
    found = {
        commit.id: commit for branch in branches.values() for commit in branch.log(limit=commits)
    }
    return Page(
        uri=graph.uri,
        snapshot=view.snapshot,
        schema_source=view.schema,
        commits=sorted(found.values(), key=lambda each: -each.version)[:commits],
        heads={name: branch.commit.id for name, branch in branches.items()},
        compared=compared or {},
        answered=answered or {},
    )


def _render_changes(title: str, found: ShownChanges) -> Iterable[str]:
    yield f"<h2>{escape(title)}</h2>"
    for step in found.schema_steps:
        yield f"<p>schema: {escape(str(step))}</p>"
    shown = list(islice(found, _MOST_CHANGES))
    lines = "".join(f'<li class="{each.op}">{escape(str(each))}</li>' for each in shown)
    yield f'<ul class="changes">{lines}</ul>' if shown else "<p>no row differs</p>"
    more = sum(sum(counts.values()) for counts in found.stats.values()) - len(shown)
    if more > 0:
        yield f"<p>… and {more:,} more</p>"


def _render_answer(title: str, found: Result) -> Iterable[str]:
    yield f"<h2>{escape(title)}</h2>"
    yield _scroll_sideways(found._repr_html_())


def _scroll_sideways(part: str) -> str:
    """Return a part that scrolls sideways where the window is narrower."""
    return f'<div class="wide">{part}</div>'
