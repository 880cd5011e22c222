"""Page: what is to be shown of a graph, as one HTML document that needs nothing from outside."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import islice

from omnigraph.engine.changes import ChangeSet
from omnigraph.html import html_table
from omnigraph.report.commits import commit_graph
from omnigraph.report.diagram import schema_diagram
from omnigraph.result import Result
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.snapshot import Snapshot

_MOST_CHANGES = 50
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2937; max-width: 1000px;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.6rem; margin-bottom: 0 }
h2 { font-size: 1.2rem; margin-top: 2rem }
p.where { color: #6b7280; margin-top: .2rem }
table { border-collapse: collapse; margin: .5rem 0 }
th, td { border: 1px solid #e5e7eb; padding: .25rem .6rem; text-align: left }
th { background: #f3f4f6 }
pre { background: #f8fafc; border: 1px solid #e5e7eb; padding: .8rem; overflow-x: auto }
svg { max-width: 100%; height: auto }
svg text { font: 12px system-ui, sans-serif; fill: #1f2937 }
.type rect { fill: #fff; stroke: #94a3b8 }
.type .name { font-weight: 600 }
.type .count { text-anchor: end; fill: #6b7280 }
.type .property { fill: #475569; font-size: 11px }
path.edge, path.parent { fill: none; stroke-width: 1.4 }
path.edge { stroke: #94a3b8 }
marker path { fill: #94a3b8 }
text.edge { fill: #0f766e; text-anchor: middle; paint-order: stroke; stroke: #fff;
  stroke-width: 4px }
.commits .id { font-family: monospace; fill: #6b7280 }
.commits .head { font-weight: 600 }
.commits .when { fill: #9ca3af }
ul.changes { font-family: monospace; padding-left: 1rem; list-style: none }
li.insert { color: #047857 }
li.delete { color: #b91c1c }
li.update { color: #1d4ed8 }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a report shows: a graph at one commit, its newest commits, and what was asked of it.

    `heads` are the branches with the commits at which they stand, `compared` are changes, each
    under the title of what was compared, and `answered` are results of queries.
    """

    uri: str
    snapshot: Snapshot
    schema_source: str
    commits: Sequence[Commit]
    heads: Mapping[str, str]
    compared: Mapping[str, ChangeSet] = field(default_factory=dict)
    answered: Mapping[str, Result] = field(default_factory=dict)

    def html(self) -> str:
        """Give the whole document."""
        parts = [
            *self._schema(),
            *self._history(),
            *(part for title, found in self.compared.items() for part in _changes(title, found)),
            *(part for title, found in self.answered.items() for part in _answer(title, found)),
        ]
        title = escape(self.uri.rstrip("/").rpartition("/")[2] or self.uri)
        commit = self.snapshot.commit
        where = escape(f"{self.uri} at commit {commit.id} of {commit.branch}")
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f"<title>{title}</title><style>{_STYLE}</style></head><body>"
            f'<h1>{title}</h1><p class="where">{where}</p>{"".join(parts)}</body></html>\n'
        )

    def _schema(self) -> Iterable[str]:
        counts = {key: state.row_count for key, state in self.snapshot.commit.tables.items()}
        yield "<h2>Schema</h2>"
        yield schema_diagram(self.snapshot.catalog, counts)
        rows = [
            (edge.name, f"{edge.source} → {edge.target}", f"{counts.get(edge.identity, 0):,}")
            for edge in self.snapshot.catalog.edges.values()
        ]
        if rows:
            yield html_table(("edge", "joins", "rows"), rows)
        yield f"<details><summary>source</summary><pre>{escape(self.schema_source)}</pre></details>"

    def _history(self) -> Iterable[str]:
        yield "<h2>History</h2>"
        yield commit_graph(self.commits, self.heads)


def _changes(title: str, found: ChangeSet) -> Iterable[str]:
    yield f"<h2>{escape(title)}</h2>"
    for step in found.schema_steps:
        yield f"<p>schema: {escape(str(step))}</p>"
    shown = list(islice(found, _MOST_CHANGES))
    lines = "".join(f'<li class="{each.op}">{escape(str(each))}</li>' for each in shown)
    yield f'<ul class="changes">{lines}</ul>' if shown else "<p>no row differs</p>"
    more = sum(sum(counts.values()) for counts in found.stats.values()) - len(shown)
    if more > 0:
        yield f"<p>… and {more:,} more</p>"


def _answer(title: str, found: Result) -> Iterable[str]:
    yield f"<h2>{escape(title)}</h2>"
    yield found._repr_html_()
