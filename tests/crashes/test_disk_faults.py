"""A disk that fails or is full costs the operation at hand, and nothing else."""

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.crashes.faults import STANDING, WRITTEN, Fault, attempted, require_strace, small_disk
from tests.crashes.model import Kind, Model, Operation, applied
from tests.crashes.nursery import Nursery
from tests.crashes.scenarios import INIT, WRITES, prepared, replayed
from tests.crashes.sequences import judged
from tests.crashes.workload import acknowledged

NO_SPACE, BROKEN, KILLED = "error=ENOSPC", "error=EIO", "signal=KILL"
FAULTS = (
    *(Fault("openat", when, NO_SPACE) for when in ("2", "5", "9", "14+")),
    *(Fault("openat", when, BROKEN) for when in ("1", "3", "7", "11")),
    *(Fault("openat", when, KILLED) for when in ("4", "10")),
    *(Fault("link,linkat", when, NO_SPACE) for when in ("1", "2+")),
    *(Fault("link,linkat", when, BROKEN) for when in ("2", "3")),
    Fault("link,linkat", "2", KILLED),
    *(Fault("rename,renameat,renameat2", when, NO_SPACE) for when in ("1", "4+")),
    *(Fault("rename,renameat,renameat2", when, BROKEN) for when in ("2", "5")),
    Fault("rename,renameat,renameat2", "3", KILLED),
    Fault("mkdir", "2", NO_SPACE),
    Fault("unlink", "1", BROKEN),
    *(Fault("fsync", when, BROKEN) for when in ("1", "3+")),
    *(Fault("write", "1", effect, WRITTEN) for effect in (NO_SPACE, BROKEN, KILLED)),
)
# One of each call, and of each effect; the others are of the long lane.
FEW = (
    Fault("openat", "5", NO_SPACE),
    Fault("link,linkat", "2", BROKEN),
    Fault("rename,renameat,renameat2", "3", KILLED),
    Fault("fsync", "1", BROKEN),
    Fault("write", "1", NO_SPACE, WRITTEN),
)
CASES = [
    pytest.param(fault, id=str(fault), marks=() if fault in FEW else pytest.mark.long)
    for fault in FAULTS
]
PAGES = (0, 9, 36)
WRITE, NEXT = Operation(Kind.WRITE, 3), Operation(Kind.WRITE, 4)
OURS = re.compile(r"done|(Storage|OutcomeUnknown|Store)Error: ")
PAGE = 4096
DEPTH = 20


@pytest.fixture(scope="module")
def template(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph with two writes."""
    root = tmp_path_factory.mktemp("faults") / "graph"
    prepared(nursery, root, WRITES)
    return root


@pytest.mark.parametrize("fault", CASES)
def test_a_system_call_that_fails_costs_the_whole_operation_or_nothing(
    fault: Fault, nursery: Nursery, template: Path, place: Path
) -> None:
    require_strace()
    root = place / "graph"
    shutil.copytree(template, root)

    ended, met = attempted(nursery, str(root), WRITE, fault)

    if fault.effect != KILLED or not met:
        assert _is_ours(ended.answer), ended.answer
    _check(nursery, root, _candidates(None if ended.was_killed else ended.answer["value"]))


@pytest.mark.parametrize(
    "operation",
    [WRITE, Operation(Kind.CREATE_BRANCH, 3, other="draft")],
    ids=lambda each: each.kind,
)
def test_a_flush_that_fails_is_not_told_as_nothing_done_when_it_was_done(
    operation: Operation, nursery: Nursery, template: Path, place: Path
) -> None:
    require_strace()
    root = place / "graph"
    shutil.copytree(template, root)
    append_and_flip = 2 if operation is WRITE else 1
    newest = len(list((root / "__manifest" / "_versions").glob("*.manifest")))
    flip = STANDING.format(2**64 - 1 - newest - append_and_flip)

    ended, met = attempted(nursery, str(root), operation, Fault("fsync", "1", BROKEN, flip))

    assert met
    assert _is_ours(ended.answer), ended.answer
    _check(nursery, root, _candidates(ended.answer["value"], operation))


@pytest.mark.long
def test_the_faults_are_really_met(nursery: Nursery, template: Path, place: Path) -> None:
    require_strace()
    kinds = {fault.calls: fault for fault in reversed(FAULTS) if fault.effect != KILLED}
    met = {}
    for number, fault in enumerate(kinds.values()):
        root = place / f"graph{number}"
        shutil.copytree(template, root)
        met[fault.calls] = attempted(nursery, str(root), WRITE, fault)[1]

    assert met == dict.fromkeys(kinds, True)


@pytest.mark.parametrize(
    "pages",
    [
        pytest.param(pages, marks=() if pages in PAGES else pytest.mark.long)
        for pages in (0, 1, 2, 5, 9, 14, 20, 26, 31, 36, 41, 46, 51, 60)
    ],
)
def test_a_write_that_lacks_a_few_pages_of_disk_leaves_all_or_nothing(
    pages: int, nursery: Nursery, template: Path, place: Path
) -> None:
    with small_disk(place / "disk", "4m") as disk:
        shutil.copytree(template, disk / "graph")
        _fill_up(disk / "ballast", leave=pages)

        ended = nursery.do("attempt", **_attempt(disk / "graph", place / "gate"))

        assert _is_ours(ended.answer), ended.answer
        (disk / "ballast").unlink()
        _check(nursery, disk / "graph", _candidates(ended.answer["value"]))


def test_a_full_disk_loses_nothing_and_writing_goes_on_when_there_is_space(
    nursery: Nursery, place: Path
) -> None:
    with small_disk(place / "disk", "6m") as disk:
        root, acks = disk / "graph", str(place / "acks")
        prepared(nursery, root, [INIT])
        (disk / "ballast").write_bytes(b"b" * (5 << 20))
        failure = nursery.answer("fill", root=str(root), first=1, acks=acks)
        answered = acknowledged(acks)

        assert failure.startswith("StorageError: ")
        # Lance says why it cannot write rows, but not why it cannot write an index.
        assert "No space left on device" in failure or ": cannot index " in failure
        assert "\n" not in failure
        (disk / "ballast").unlink()
        model = replayed([INIT, *(Operation(Kind.WRITE, number) for number in answered)])
        following = Operation(Kind.WRITE, len(answered) + 2)
        assert len(answered) > 2
        _check(nursery, root, [model], following)


def _is_ours(answer: dict[str, str] | None) -> bool:
    return answer is not None and OURS.match(answer.get("value", "")) is not None


def _candidates(outcome: str | None, operation: Operation = WRITE) -> list[Model]:
    """Return what the graph may be, from what the process was told; None when it was killed."""
    before = replayed(WRITES)
    after = applied(before, operation)
    if outcome is not None and outcome == "done":
        return [after]
    if outcome is not None and outcome.startswith("StorageError"):
        return [before]
    return [before, after]


def _check(
    nursery: Nursery, root: Path, candidates: list[Model], following: Operation = NEXT
) -> None:
    checked = nursery.do(
        "check",
        root=str(root),
        candidates=candidates,
        following=[following.to_json()] * len(candidates),
        depth=DEPTH,
    )
    assert judged(checked)[0] == []


def _attempt(root: Path, gate: Path) -> dict[str, object]:
    Path(f"{gate}.go").touch()
    return {"root": str(root), "operation": WRITE.to_json(), "gate": str(gate)}


def _fill_up(ballast: Path, *, leave: int) -> None:
    """Fill a file system up to a number of pages."""
    free = os.statvfs(ballast.parent)
    ballast.write_bytes(b"b" * (free.f_bavail * free.f_frsize - leave * PAGE))
