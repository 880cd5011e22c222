"""Fold: picks small and half-deleted fragments to rewrite, so that a growing table stays quick."""

import lance
from lance.fragment import LanceFragment

from omnigraph.frozen import dataclass
from omnigraph.storage.fragments import fragment_bytes


@dataclass(frozen=True, slots=True)
class Level:
    """A size class of fragments: those below `rows` and `size`, at most `most` of them."""

    rows: int
    size: int
    most: int


_MIB = 1 << 20
TABLE_LEVELS = (
    Level(64, _MIB, 4),
    Level(1_024, 8 * _MIB, 2),
    Level(16_384, 32 * _MIB, 2),
    Level(131_072, 64 * _MIB, 64),
)
MANIFEST_LEVELS = (Level(1_024, 8 * _MIB, 16), Level(65_536, 64 * _MIB, 16))
# For `optimize`, which leaves the manifest in as few fragments as possible.
WHOLE_LEVELS = (Level(1 << 20, 1 << 30, 1),)
MOST_DELETED = 0.2
# Rows larger than this on average are blobs and long texts: to write them again costs more than
# their fragments do, until there are many. Joined, they are above the last level and stay.
_HEAVY, _MOST_HEAVY = 64 << 10, 64


def fragments_to_fold(
    dataset: lance.LanceDataset, levels: tuple[Level, ...], arriving: int | None = None
) -> list[LanceFragment]:
    """Return the fragments to rewrite as one; none while every level is within its bound.

    With `arriving`, a small fragment of so many rows is about to be there as well.
    Above the lowest level, a fragment with many deleted rows is rewritten as well. Fragments
    larger than the last level are left to `optimize`. Those of heavy rows are joined only with each
    other, and once.
    """
    by_level: list[list[LanceFragment]] = [[] for _ in levels]
    heavy: list[LanceFragment] = []
    chosen: dict[int, LanceFragment] = {}
    for fragment in dataset.get_fragments():
        # Lance makes them anew at every call, and most writes come by here.
        rows, size = fragment.physical_rows, fragment_bytes(fragment)
        at = _level(rows, size, levels)
        if at is None:
            continue
        if at > 0 and size > _HEAVY * rows:
            heavy.append(fragment)
            continue
        by_level[at].append(fragment)
        if at > 0 and fragment.num_deletions > MOST_DELETED * rows:
            chosen[fragment.fragment_id] = fragment
    above = None if arriving is None else _level(arriving, 0, levels)
    for at, (level, fragments) in enumerate(zip(levels, by_level, strict=True)):
        if len(fragments) + (at == above) > level.most:
            chosen |= {each.fragment_id: each for each in fragments}
    return list(chosen.values()) or (heavy if len(heavy) > _MOST_HEAVY else [])


def _level(rows: int, size: int, levels: tuple[Level, ...]) -> int | None:
    fitting = (at for at, level in enumerate(levels) if rows < level.rows and size < level.size)
    return next(fitting, None)
