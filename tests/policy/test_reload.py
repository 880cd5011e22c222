"""A policy that is in use is replaced as a whole, or not at all."""

import threading
from pathlib import Path

import pytest

from omnigraph.errors import ConfigError, UnreadableError
from omnigraph.policy.actions import Request
from omnigraph.policy.reload import ReloadedPolicy
from tests.policy.world import POLICY, World

READ = Request("una", "read", "main")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(POLICY)
    return path


def test_a_reload_takes_what_the_file_says_now(path: Path) -> None:
    policy = ReloadedPolicy(path)
    assert not policy.decide(READ).allowed
    path.write_text(POLICY.replace("[main, vault]", "[vault]"))

    assert not policy.decide(READ).allowed, "nothing changes until it is reloaded"
    assert policy.reload()
    assert policy.decide(READ).allowed
    assert not policy.reload(), "the file says the same"


@pytest.mark.parametrize("text", ["", "version: 1\nrules: {}", "\x00", "[" * 1_000])
def test_a_wrong_file_leaves_the_old_policy_in_force(path: Path, text: str) -> None:
    policy = ReloadedPolicy(path)
    before = policy.current
    path.write_text(text)

    with pytest.raises(ConfigError):
        policy.reload()

    assert policy.current is before
    assert policy.decide(Request("ann", "read", "main")).allowed


def test_a_file_that_vanished_leaves_the_old_policy_in_force(path: Path) -> None:
    policy = ReloadedPolicy(path)
    path.unlink()
    with pytest.raises(UnreadableError):
        policy.reload()
    assert policy.decide(Request("ann", "read", "main")).allowed


def test_a_policy_that_never_was_right_is_not_held(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\nrules: 3")
    with pytest.raises(ConfigError):
        ReloadedPolicy(path)


def test_decisions_during_reloads_are_those_of_one_policy_or_the_other(path: Path) -> None:
    policy = ReloadedPolicy(path)
    found: set[tuple[bool, bool]] = set()
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            current = policy.current
            found.add(
                (
                    current.decide(READ).allowed,
                    current.decide(Request("pia", "read", "main")).allowed,
                )
            )

    asking = threading.Thread(target=ask)
    asking.start()
    for number in range(6):
        protected = "[vault]" if number % 2 else "[main, vault]"
        path.write_text(POLICY.replace("[main, vault]", protected) + f"# {number}\n")
        policy.reload()
    stop.set()
    asking.join()
    assert found <= {(False, True), (True, False)}


def test_an_open_handle_obeys_the_policy_that_was_reloaded(path: Path, world: World) -> None:
    policy = ReloadedPolicy(path)
    view = world.graph("una", policy).at("open")
    assert view.catalog.nodes
    path.write_text(POLICY.replace("outside: [una]", "outside: []"))
    policy.reload()
    with pytest.raises(Exception, match="does not allow 'una' to 'read'"):
        _ = view.catalog
