"""Layers: heads as rows of the manifest, layer by layer, and what the next layer has.

A layer is written whole before a key of the manifest names it, and never changes. What a layer says
of a name holds unless a key, or a newer layer, says something else.
"""

import json
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.errors import StorageError
from omnigraph.frozen import dataclass
from omnigraph.storage.table import Table
from omnigraph.versioning.commit import commit_row_id
from omnigraph.versioning.heads.head import BRANCH_KEY, GONE, Head, decode_head
from omnigraph.versioning.names import MAIN
from omnigraph.versioning.record_decoder import RecordDecoder

LAYERS = "layers"
# A key that looks like a head. Release 0.1 fails at it when it reads all heads, as its cleanup
# does: a process that has had the graph open since before the first spill, or since before the
# first commit that is a key, would miss some.
FOR_OLD_RELEASES = f"{BRANCH_KEY}__layers__"
HEAD_ROW = "head"
_MOST_KEPT = 16
# So often a process looks names up by index; then it reads the layers, which takes 40 ms for ten
# thousand heads.
_MOST_SOUGHT = 8
_NAME, _TEXT, _LAYER = "object_id", "metadata", "location"

_Stored: TypeAlias = tuple[tuple[str, int], ...]
_decoder = RecordDecoder[_Stored](_Stored, "the list of layers of heads")

# What a layer says of folded names; None for a branch that is gone.
Told: TypeAlias = Mapping[str, Head | None]


@dataclass(frozen=True, slots=True)
class Layer:
    """The id of a layer, and how many rows it has."""

    id: str
    rows: int


@dataclass(frozen=True, slots=True)
class Spill:
    """The rows of a new layer, and the keys that are set and removed when it is there."""

    rows: pa.Table
    keys: Mapping[str, str | None]


def layers_of(at: Table) -> tuple[Layer, ...]:
    """Return the layers of a version of the manifest, the newest first."""
    stored = at.metadata.get(LAYERS)
    return () if stored is None else tuple(Layer(*each) for each in _decoder.read(stored))


def hot_heads(at: Table) -> Iterator[tuple[str, str]]:
    """Yield the folded names that have a key, and what it holds."""
    cut = len(BRANCH_KEY)
    for key, text in at.metadata.items():
        if key.startswith(BRANCH_KEY) and key != FOR_OLD_RELEASES:
            yield key[cut:], text


class ColdHeads:
    """The heads in the layers of one graph; layers that were read are kept."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Told] = OrderedDict()
        self._joined: tuple[tuple[Layer, ...], Told] = ((), {})
        self._found: tuple[tuple[Layer, ...], dict[str, Head | None]] = ((), {})
        self._sought = 0

    def all(self, at: Table) -> Told:
        """Return what the layers of a version say."""
        layers = layers_of(at)
        known, joined = self._joined
        if known != layers:
            joined = self._join(layers, at)
            self._joined = layers, joined
        return joined

    def find(self, name: str, at: Table) -> Head | None:
        """Return the head of a folded name, if the layers have one, without reading all of them."""
        layers = layers_of(at)
        if not layers:
            return None
        if self._is_read(layers):
            return self.all(at).get(name)
        found = self._found  # another thread may replace it by those of other layers
        if found[0] != layers:
            found = self._found = layers, {}
        known = found[1]
        if name not in known:
            known[name] = self._look_up(name, layers, at)
        return known[name]

    def _look_up(self, name: str, layers: tuple[Layer, ...], at: Table) -> Head | None:
        self._sought += 1
        ids = [_row_id(each, name) for each in layers]
        rows = at.scan([_NAME, _TEXT], pc.field(_NAME).isin(pa.array(ids, pa.utf8())))
        texts = dict(zip(rows[_NAME].to_pylist(), rows[_TEXT].to_pylist(), strict=True))
        newest = next((texts[each] for each in ids if each in texts), GONE)
        return decode_head(newest)

    def standing_at(self, commit_id: str, at: Table) -> Iterator[Head]:
        """Yield the heads at a commit that the layers have and no key overrules."""
        for name, head in self._candidates(commit_id, at).items():
            is_hot = BRANCH_KEY + name in at.metadata
            if head is not None and head.commit == commit_id and not is_hot:
                yield head

    def _candidates(self, commit_id: str, at: Table) -> Told:
        """Return what the layers say of names, among them all that they have at a commit."""
        if not self._is_read(layers_of(at)):
            self._sought += 1
            where = pc.field("table_key") == commit_row_id(commit_id)
            rows = at.scan([_NAME, "object_type"], where & (pc.field("object_type") == HEAD_ROW))
            names = {_name(each) for each in rows[_NAME].to_pylist()}
            if len(names) + self._sought <= _MOST_SOUGHT:
                return {name: self.find(name, at) for name in names}
        return self.all(at)

    def _is_read(self, layers: tuple[Layer, ...]) -> bool:
        """Whether layers are in memory, or shall be, because much is asked of them."""
        return self._joined[0] == layers or self._sought >= _MOST_SOUGHT

    def spill(self, at: Table) -> Spill:
        """Return the layer that takes over all heads of a version but that of main.

        It takes in the layers that are not much larger, so that there are few of them, and none is
        written again too often. A branch that is gone is left out when no layer is below.
        """
        hot = {name: decode_head(text) for name, text in hot_heads(at) if name != MAIN}
        layers, size, joined = list(layers_of(at)), len(hot), []
        while layers and layers[0].rows <= 2 * size:
            joined.append(layers.pop(0))
            size += joined[-1].rows
        told = {**self._join(joined, at), **hot}
        if not layers:
            told = {name: head for name, head in told.items() if head is not None}
        layer = Layer(uuid4().hex, len(told))
        named = [[each.id, each.rows] for each in (layer, *layers)]
        keys: dict[str, str | None] = dict.fromkeys(BRANCH_KEY + name for name in hot)
        keys |= {LAYERS: json.dumps(named), FOR_OLD_RELEASES: GONE}
        return Spill(_rows(layer, told, at.schema), keys)

    def _join(self, layers: Iterable[Layer], at: Table) -> Told:
        joined: dict[str, Head | None] = {}
        for each in reversed(tuple(layers)):
            joined |= self._read(each, at)
        return joined

    def _read(self, layer: Layer, at: Table) -> Told:
        found = self._kept.get(layer.id)
        if found is None:
            found = read_layer(layer, at)
            self._kept[layer.id] = found
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return found


def read_layer(layer: Layer, at: Table) -> Told:
    """Return what a layer says; raises StorageError when it lacks rows."""
    found = {name: decode_head(text) for name, text in stored_heads(layer, at).items()}
    if len(found) != layer.rows:
        raise StorageError(
            f"expected {layer.rows} heads in layer {layer.id} of the manifest, found {len(found)}"
        )
    return found


def stored_heads(layer: Layer, at: Table) -> dict[str, str]:
    """Return the text that a layer has for each of its names."""
    rows = at.scan([_NAME, _TEXT], pc.field(_LAYER) == _place(layer))
    names = map(_name, rows[_NAME].to_pylist())
    return dict(zip(names, rows[_TEXT].to_pylist(), strict=True))


def _rows(layer: Layer, told: Told, schema: pa.Schema) -> pa.Table:
    rows = [
        {
            _NAME: _row_id(layer, name),
            "object_type": HEAD_ROW,
            _LAYER: _place(layer),
            _TEXT: GONE if head is None else head.encoded(),
            # As children do, it says that a branch stood at the commit.
            "table_key": None if head is None else commit_row_id(head.commit),
            "table_branch": name if head is None else head.name,
        }
        for name, head in told.items()
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def _row_id(layer: Layer, name: str) -> str:
    return f"{HEAD_ROW}:{layer.id}:{name}"


def _name(row_id: str) -> str:
    return row_id.split(":", 2)[2]


def _place(layer: Layer) -> str:
    return f"layer/{layer.id}"
