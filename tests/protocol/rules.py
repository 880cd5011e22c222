"""Rules: what the commit protocol takes care of; each can be left out to see what goes wrong."""

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The protocol as it is. A rule that is False is left out, as if nobody had thought of it."""

    look_at_mark: bool = True
    """Right before its mark a cleanup looks whether a head has something that it is to remove."""

    follow_parents: bool = True
    """It then follows parents from every head, through commits that its plan does not know, and
    starts again when one of them has something that it is about to remove."""

    follow_files: bool = True
    """It starts again as well when a version of such a commit is made of files that it removes."""

    follow_retired: bool = True
    """It does the same from the commits of branches that were deleted since its plan."""

    ask_base: bool = True
    """A publish that needs old versions asks whether what it was staged on was cleaned up."""

    guard_new_names: bool = True
    """A new name for a commit at which no head stands is rejected when a cleanup came between."""

    revoke_untouched: bool = True
    """An interrupted cleanup is taken back only if it removed nothing."""

    keep_schemas: bool = True
    """No cleanup removes the file of a schema."""

    pin_once: bool = True
    """What policy allowed is what is used: a name is resolved once."""

    hold_run: bool = True
    """The flip that publishes a run is guarded by the branch of the run, which an abort removes
    first; the claim on a run only spares vain work."""

    unknown_when_moved: bool = True
    """A flip without a reply, whose keys somebody changed since, ends with an unknown outcome."""

    read_again: bool = True
    """No flip is guarded by a manifest that was read more than half the prune age ago."""

    note_begin: bool = True
    """A cleanup notes that it begins, so that the next one that is marked revokes it; without a
    mark its notes never count."""

    tell_apart: bool = True
    """The id of a cleanup sorts behind those of all that began, so no two have the same."""

    compare_request: bool = True
    """An operation id leads to an earlier commit only if that answers the same request."""

    guard_operation: bool = True
    """The flip of a change with an operation id is rejected when one of the same id came first."""

    guard_twin: bool = True
    """To delete one of several names of a commit is rejected when another was deleted meanwhile."""

    fence: bool = True
    """Who got no reply takes the place in the manifest that the lost request could still take."""

    guard_spill: bool = True
    """A spill removes keys only if none of them changed since its rows were read."""

    mark_gone: bool = True
    """The key of a deleted branch says so as long as a layer has its name."""

    spill_gone: bool = True
    """A layer says of such a branch that it is gone, unless it is the only one."""

    look_after_copy: bool = True
    """A backup that has copied everything looks whether a cleanup was marked meanwhile, and then
    begins again with the newer version."""

    def without(self, *names: str) -> "Rules":
        """Return the rules with some left out."""
        return replace(self, **dict.fromkeys(names, False))


SWITCHES = tuple(each.name for each in fields(Rules))
