"""Resolve: makes two nodes of one type one, with the edges of both."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.data.values.columns import to_array
from omnigraph.data.values.comparison import to_comparable
from omnigraph.data.values.equality import equal_values
from omnigraph.data.values.ids import assign_ids
from omnigraph.errors import InputError, RowNotFoundError
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Catalog, EdgeType, NodeType, StoredType, find_type
from omnigraph.schema.types import ListType, Scalar
from omnigraph.syntax.problems import shorten, suggest
from omnigraph.versioning.commit import Commit
from omnigraph.versioning.publish import head_moved
from omnigraph.versioning.repository import Repository
from omnigraph.versioning.snapshot import Snapshot
from omnigraph.versioning.transact import Intent, Proposal, transact
from omnigraph.versioning.writes import WriteSet
from omnigraph.write.checked import check_draft, fill_vectors
from omnigraph.write.counts import RowCounts
from omnigraph.write.draft import Draft, incident
from omnigraph.write.filling import VectorFiller
from omnigraph.write.noted import note, noted
from omnigraph.write.resolved import Choice, Resolved
from omnigraph.write.upsert import with_column

# The places of rows that become one; of those that have a value, the first one's is kept.
Order = Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Which two nodes become one, and whose values it has.

    `take` is for all properties except those that `properties` names. The property `aliases`
    gets the ids of both.
    """

    type: str
    into: str
    duplicate: str
    take: Choice = Choice.INTO
    properties: Mapping[str, Choice] = field(default_factory=dict)
    aliases: str | None = None

    def takes(self, name: str) -> Choice:
        """Return whose value of a property is kept where both nodes have one."""
        return self.properties.get(name, self.take)

    @property
    def message(self) -> str:
        """What its commit says unless it is told otherwise."""
        return f"resolve {self.type} '{shorten(self.duplicate)}' into '{shorten(self.into)}'"


@dataclass(frozen=True, slots=True)
class _Outcome:
    properties: tuple[str, ...]
    repointed: int
    folded: int
    counts: RowCounts


def publish_resolution(repository: Repository, asked: Resolution, intent: Intent) -> Resolved:
    """Make two nodes one, as one commit of a branch.

    Raises ViolationsError with every rule that the result breaks, and then nothing is visible.
    """
    if intent.operation_id is not None:
        intent = replace(intent, request=_digest(asked, intent))

    def propose(snapshot: Snapshot) -> Proposal[_Outcome]:
        write_set, outcome = _plan(snapshot, asked, VectorFiller.on(snapshot))
        request = note(intent.request, asdict(outcome))
        return Proposal(replace(write_set, message=asked.message, request=request), outcome)

    done = transact(repository, intent, propose)
    outcome = done.finding or _noted_outcome(intent, done.commit)
    return _resolved(asked, intent, outcome, done.commit)


def preview_resolution(repository: Repository, asked: Resolution, intent: Intent) -> Resolved:
    """Return what making two nodes one would do; nothing is written, and no vector is made."""
    snapshot = repository.snapshot(intent.branch)
    if intent.expect is not None and snapshot.commit.id != intent.expect:
        raise head_moved(intent.branch, intent.expect, snapshot.commit.id)
    _, outcome = _plan(snapshot, asked, replace(VectorFiller.on(snapshot), blank=True))
    return _resolved(asked, intent, outcome, None)


def _plan(
    snapshot: Snapshot, asked: Resolution, vectors: VectorFiller
) -> tuple[WriteSet, _Outcome]:
    """Return what is written to make two nodes one on a snapshot."""
    draft = Draft(snapshot)
    properties, repointed, folded = join_in(draft, asked)
    fill_vectors(draft, vectors)
    write_set, counts = check_draft(draft)
    assert write_set is not None, "a node is gone"
    return write_set, _Outcome(properties, repointed, folded, counts)


def join_in(draft: Draft, asked: Resolution) -> tuple[tuple[str, ...], int, int]:
    """Make two nodes of a draft one.

    Returns the properties that change, and how many edges were moved and joined.
    """
    stored = _node_type(draft.snapshot.catalog, asked)
    properties = _join_nodes(draft, stored, asked)
    edges = {edge.name: edge for edge, _ in incident(draft.snapshot, stored.name)}
    repointed = folded = 0
    for edge in edges.values():
        moved, joined = _Repointing(draft, edge, asked).run()
        repointed, folded = repointed + moved, folded + joined
    return properties, repointed, folded


def _node_type(catalog: Catalog, asked: Resolution) -> NodeType:
    """Return the type of the nodes; raise InputError for what cannot be asked of it."""
    stored = find_type(asked.type, catalog)
    if not isinstance(stored, NodeType):
        raise InputError(f"'{stored.name}' is a type of edges", hint="name a type of nodes")
    if asked.into == asked.duplicate:
        raise InputError(f"both ids name the same {stored.name} '{shorten(asked.into)}'")
    named = [*asked.properties, *([] if asked.aliases is None else [asked.aliases])]
    for name in named:
        if name not in stored.properties:
            hint = suggest(name, stored.properties)
            raise InputError(f"{stored.name} has no property '{name}'", hint=hint)
    for name, choice in asked.properties.items():
        _check_choice(stored, name, choice)
    if asked.aliases is not None:
        _check_aliases(stored, asked.aliases, asked.properties)
    return stored


def _check_choice(stored: NodeType, name: str, choice: Choice) -> None:
    embed = stored.properties[name].embed
    if name in stored.key and choice is Choice.FROM:
        hint = "resolve into the other node to keep its key"
        raise InputError(f"'{name}' is of the key of {stored.name}, which stays", hint=hint)
    if embed is not None:
        hint = f"choose '{embed.source}'"
        raise InputError(f"'{name}' goes with the text it is made from", hint=hint)


def _check_aliases(stored: NodeType, name: str, chosen: Mapping[str, Choice]) -> None:
    kind = stored.properties[name].type
    if kind != ListType(Scalar.STRING):
        raise InputError(f"'{name}' of {stored.name} is {kind}, and aliases are [String]")
    if name in chosen:
        raise InputError(f"'{name}' gets the aliases of both nodes; none is taken")


def _join_nodes(draft: Draft, stored: NodeType, asked: Resolution) -> tuple[str, ...]:
    """Make one row of the rows of both nodes; return the properties that it changes."""
    ids = pa.array([asked.into, asked.duplicate], pa.utf8())
    found = draft.current(stored.name, ids)
    places = pc.index_in(ids, value_set=to_array(found["id"]))
    for row_id in ids.filter(places.is_null()).to_pylist():
        raise RowNotFoundError(f"no {stored.name} '{shorten(row_id)}'")
    rows = found.take(places)
    orders: dict[str, list[Order]] = {
        name: [(0, 1) if name in stored.key or asked.takes(name) is Choice.INTO else (1, 0)]
        for name in stored.properties
    }
    joined = _join(stored, rows, [(0, 1)], orders)
    if asked.aliases is not None:
        known = _aliases(rows, asked.aliases)
        kind = rows.schema.field(asked.aliases).type
        joined = with_column(joined, asked.aliases, pa.array([known], kind))
    draft.remove(stored.name, ids.slice(1))
    draft.put(stored.name, joined)
    before = rows.slice(0, 1)
    return tuple(
        name
        for name in stored.properties
        if not equal_values(to_array(joined[name]), to_array(before[name])).all()
    )


def _aliases(rows: pa.Table, name: str) -> list[str]:
    """Return the aliases of both nodes and their ids, each once."""
    pairs = zip(rows[name].to_pylist(), rows["id"].to_pylist(), strict=True)
    return list(dict.fromkeys(each for known, row_id in pairs for each in (*(known or ()), row_id)))


@dataclass(frozen=True, slots=True)
class _Repointing:
    """The edges of one type get another end."""

    draft: Draft
    edge: EdgeType
    asked: Resolution

    def run(self) -> tuple[int, int]:
        """Put the edges where they belong; return how many were moved, and how many joined."""
        moved = self._moved()
        if not moved.num_rows:
            return 0, 0
        standing = self._twins_of(moved)
        rows = pa.concat_tables([standing, moved])
        stood = standing.num_rows
        groups = [each for each in _groups(self.edge, rows) if each[-1] >= stood]
        self._refuse_bridges(rows, groups, stood)
        touched = pa.array([place for group in groups for place in group])
        joined = _join(self.edge, rows, groups, self._orders(groups, stood))
        batch = joined.combine_chunks().to_batches()[0]
        joined = with_column(joined, "id", assign_ids(self.edge, batch))
        self.draft.remove(self.edge.name, to_array(rows["id"].take(touched)))
        self.draft.put(self.edge.name, joined)
        folded = len(touched) - len(groups)
        return moved.num_rows - folded, folded

    def _refuse_bridges(self, rows: pa.Table, groups: list[Order], stood: int) -> None:
        """Raise InputError where edges that stand beside each other would become one."""
        for group in groups:
            stand = [place for place in group if place < stood]
            if len(stand) > 1:
                src, dst = (shorten(rows[end][stand[0]].as_py()) for end in ("src", "dst"))
                several = f"{len(stand)} edges {self.edge.name} from '{src}' to '{dst}'"
                raise InputError(
                    f"an edge of '{shorten(self.asked.duplicate)}' breaks rules with {several}",
                    hint="change or delete that edge first",
                )

    def _moved(self) -> pa.Table:
        """Return the edges of the duplicate, with ends at the other node, by their ids."""
        gone = pa.array([self.asked.duplicate], pa.utf8())
        found = self._near(gone, ["id"])
        rows = self.draft.current(self.edge.name, to_array(found["id"])).sort_by("id")
        for column in self._ends:
            ends = to_array(rows[column])
            at = pc.equal(ends, gone[0])
            rows = with_column(rows, column, pc.if_else(at, self.asked.into, ends))
        return rows

    def _twins_of(self, moved: pa.Table) -> pa.Table:
        """Return the edges that have the same ends already, if some rule is about that."""
        ids = pa.array([], pa.utf8())
        if _rules(self.edge):
            found = self._near(pa.array([self.asked.into], pa.utf8()), ["id", "src", "dst"])
            ends = set(_ends(moved))
            same = pa.array([each in ends for each in _ends(found)], pa.bool_())
            ids = to_array(found["id"].filter(same))
            ids = ids.filter(pc.invert(pc.is_in(ids, value_set=to_array(moved["id"]))))
        return self.draft.current(self.edge.name, ids)

    def _near(self, nodes: pa.Array, columns: list[str]) -> pa.Table:
        """Return columns of the edges that touch nodes; a loop may be there twice."""
        name = self.edge.name
        found = [self.draft.holding(name, column, nodes, columns) for column in self._ends]
        return pa.concat_tables(found)

    @property
    def _ends(self) -> list[str]:
        """The columns that hold ids of the type of the nodes."""
        ends = (("src", self.edge.source), ("dst", self.edge.target))
        return [column for column, node in ends if node == self.asked.type]

    def _orders(self, groups: list[Order], stood: int) -> dict[str, list[Order]]:
        """Return whose values each group keeps: those of the node that stays, or of the other."""
        if self.asked.take is Choice.FROM:
            groups = [sorted(group, key=lambda place: place < stood) for group in groups]
        return dict.fromkeys(self.edge.properties, groups)


def _rules(edge: EdgeType) -> list[tuple[str, ...]]:
    """Return the columns whose values only one edge may have, for each rule that says so."""
    single = [("src",)] if edge.cardinality.maximum == 1 else []
    return [*([edge.key] if edge.key else []), *edge.unique, *single]


def _ends(rows: pa.Table) -> Iterator[tuple[str, str]]:
    return zip(rows["src"].to_pylist(), rows["dst"].to_pylist(), strict=True)


def _groups(edge: EdgeType, rows: pa.Table) -> list[Order]:
    """Return the places of the edges that become one: of the same ends, which a rule forbids."""
    groups = {place: [place] for place in range(rows.num_rows)}
    leader = list(groups)
    for columns in _rules(edge):
        names = dict.fromkeys(["src", "dst", *columns])
        values = [to_comparable(to_array(rows[name])).to_pylist() for name in names]
        seen: dict[tuple[object, ...], int] = {}
        for place, key in enumerate(zip(*values, strict=True)):
            first = leader[place if None in key else seen.setdefault(key, place)]
            if first != leader[place]:
                first, second = sorted((first, leader[place]))
                groups[first] = sorted([*groups[first], *groups.pop(second)])
                for each in groups[first]:
                    leader[each] = first
    return list(groups.values())


def _join(
    stored: StoredType, rows: pa.Table, groups: Sequence[Order], orders: Mapping[str, list[Order]]
) -> pa.Table:
    """Return a row for each group: the first one, with the values that the orders choose.

    A vector goes with the text that it is made from.
    """
    places = {name: _first_known(rows, name, each) for name, each in orders.items()}
    for name, item in stored.properties.items():
        if item.embed is not None:
            at = places[item.embed.source]
            has_text = to_array(rows[item.embed.source]).take(pa.array(at)).is_valid()
            places[name] = np.where(np.asarray(has_text, bool), at, places[name])
    first = np.array([group[0] for group in groups], np.int64)
    columns = [
        to_array(rows[name]).take(pa.array(places.get(name, first))) for name in rows.column_names
    ]
    return pa.table(columns, schema=rows.schema)


def _first_known(rows: pa.Table, name: str, orders: Sequence[Order]) -> np.ndarray:
    """Return the first place of each order that has a value of a column, or its first place."""
    known = np.asarray(to_array(rows[name]).is_valid(), bool)
    found = [next((at for at in order if known[at]), order[0]) for order in orders]
    return np.array(found, np.int64)


def _digest(asked: Resolution, intent: Intent) -> str:
    """Return the digest of a request: its branch and everything that is asked."""
    told = json.dumps([intent.branch, asdict(asked)], sort_keys=True)
    return sha256(told.encode()).hexdigest()


def _noted_outcome(intent: Intent, commit: Commit | None) -> _Outcome:
    """Return the outcome that a commit stores."""
    found = noted(intent, commit)
    assert found is not None
    counts = RowCounts.from_json(found["counts"])
    return _Outcome(tuple(found["properties"]), found["repointed"], found["folded"], counts)


def _resolved(
    asked: Resolution, intent: Intent, outcome: _Outcome, commit: Commit | None
) -> Resolved:
    return Resolved(
        branch=intent.branch if commit is None else commit.branch,
        type=asked.type,
        into=asked.into,
        duplicate=asked.duplicate,
        properties=outcome.properties,
        repointed=outcome.repointed,
        folded=outcome.folded,
        counts=outcome.counts,
        commit=commit,
        actor=intent.actor if commit is None else commit.actor,
    )
