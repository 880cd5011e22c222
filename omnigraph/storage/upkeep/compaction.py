"""Compaction: rewrites many fragments of a table as few large ones."""

from collections.abc import Iterator, Sequence

from lance import LanceOperation
from lance.fragment import LanceFragment

from omnigraph.frozen import dataclass
from omnigraph.storage.failures import report_as
from omnigraph.storage.fragments import data_path, fragment_bytes
from omnigraph.storage.staging import Piece, TablePlace, place_of
from omnigraph.storage.table import Table, batch_limits

# A fragment is rewritten when it has less than half of both, or too many deleted rows.
FRAGMENT_ROWS = 1 << 20
FRAGMENT_BYTES = 1 << 30
MOST_DELETED = 0.05
_BATCH_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbouring fragments of one version that are rewritten as one.

    `content` is the same for the same rows, whichever version holds them.
    """

    place: TablePlace
    fragments: tuple[int, ...]
    content: tuple[tuple[str, ...], ...]
    size: int


def find_groups(table: Table) -> list[Group]:
    """Return the fragments of a table that are worth rewriting, neighbours grouped together."""
    with report_as(f"cannot read {table.path}"):
        due = [each for each in table.dataset.get_fragments() if _is_due(each)]
        chosen = [part for part in _parts(due) if len(part) > 1 or _is_worn(part[0])]
        return [_group(table, part) for part in chosen]


def rewrite_group(group: Group) -> list[Piece]:
    """Write the rows of a group as new fragments, which belong to no version yet."""
    table = group.place.open()
    with report_as(f"cannot compact {table.path}"):
        every = {each.fragment_id: each for each in table.dataset.get_fragments()}
        chosen = [every[number] for number in group.fragments]
        if not any(each.count_rows() for each in chosen):
            return []
        scanner = table.dataset.scanner(
            fragments=chosen, scan_in_order=True, **batch_limits(table, chosen, _BATCH_BYTES)
        )
        return [Piece(each) for each in table.write(scanner.to_reader())]


def replace_groups(table: Table, done: Sequence[tuple[Group, Sequence[Piece]]]) -> Table:
    """Return the table with each group replaced by the pieces written from it."""
    if not done:
        return table
    old = [number for group, _ in done for number in group.fragments]
    new = [piece.metadata for _, pieces in done for piece in pieces]
    with report_as(f"cannot compact {table.path}"):
        return table._detached(LanceOperation.Update(removed_fragment_ids=old, new_fragments=new))


def _is_due(fragment: LanceFragment) -> bool:
    small = _rows(fragment) < FRAGMENT_ROWS // 2 and fragment_bytes(fragment) < FRAGMENT_BYTES // 2
    return small or _is_worn(fragment)


def _is_worn(fragment: LanceFragment) -> bool:
    return fragment.num_deletions > MOST_DELETED * fragment.physical_rows


def _parts(fragments: Sequence[LanceFragment]) -> Iterator[list[LanceFragment]]:
    """Split fragments into runs whose rows fit into one fragment of the target size."""
    taken: list[LanceFragment] = []
    rows = size = 0
    for each in fragments:
        full = rows + _rows(each) > FRAGMENT_ROWS or size + fragment_bytes(each) > FRAGMENT_BYTES
        if taken and full:
            yield taken
            taken, rows, size = [], 0, 0
        taken.append(each)
        rows, size = rows + _rows(each), size + fragment_bytes(each)
    if taken:
        yield taken


def _group(table: Table, fragments: Sequence[LanceFragment]) -> Group:
    content = tuple(
        (*map(data_path, each.metadata.files), each.deletion_file() or "") for each in fragments
    )
    numbers = tuple(each.fragment_id for each in fragments)
    return Group(place_of(table), numbers, content, sum(map(fragment_bytes, fragments)))


def _rows(fragment: LanceFragment) -> int:
    return int(fragment.physical_rows - fragment.num_deletions)
