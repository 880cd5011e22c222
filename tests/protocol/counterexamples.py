"""Counterexamples: for each rule the programs that go wrong when it is left out."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.protocol.explore import Explored, Program, explore
from tests.protocol.model import World
from tests.protocol.programs import cleaned_ahead, interrupted, spilled, start
from tests.protocol.rules import Rules


@dataclass(frozen=True, slots=True)
class Case:
    """Who has to meet, and what then is wrong."""

    programs: tuple[Program, ...]
    wrong: str
    world: Callable[[], World] = start

    def explored(self, rules: Rules) -> Explored:
        """Explore what the programs can bring about under some rules."""
        return explore(self.programs, rules, world=self.world())


CASES: dict[str, Case] = {
    "look_at_mark": Case((("create old",), ("cleanup",)), "is not kept"),
    "follow_parents": Case((("create old", "optimize n"), ("cleanup",)), "is not kept"),
    "follow_files": Case((("revert",), ("cleanup",)), "is not kept"),
    "follow_retired": Case((("create old", "delete n"), ("cleanup",)), "is not kept"),
    "ask_base": Case((("ingest old",), ("cleanup",)), "is not kept"),
    "guard_new_names": Case((("create old",), ("cleanup",)), "is not kept"),
    "revoke_untouched": Case((("cleanup",),), "is not told as cleaned up", interrupted),
    "keep_schemas": Case((("apply schema",), ("cleanup",)), "cannot be read"),
    "pin_once": Case((("branch as guest",), ("untag g", "tag g secret")), "which it may not read"),
    "hold_run": Case((("publish run", "abort run"), ("publish run",)), "a definite error"),
    "unknown_when_moved": Case((("rename d",), ("untag g", "write n")), "a definite error"),
    "read_again": Case((("write t",), ("write t", "prune late")), "is gone"),
    "note_begin": Case((("cleanup",), ("cleanup keeping",)), "never marked"),
    "tell_apart": Case((("cleanup",), ("cleanup keeping",)), "never marked", cleaned_ahead),
    "compare_request": Case((("write as k",), ("write as k too",)), "was answered"),
    "guard_operation": Case((("write as k",), ("write b as k",)), "made the commits"),
    "guard_twin": Case((("delete d",), ("untag g",)), "is gone"),
    "look_after_copy": Case((("back up",), ("cleanup",)), "a backup lacks"),
    "guard_spill": Case((("spill",), ("write b",)), "a spill changed"),
    "mark_gone": Case((("delete d",),), "is still there", spilled),
    "spill_gone": Case((("delete d", "spill"),), "a spill changed", spilled),
    "fence": Case((("write t",),), "then it did"),
}
