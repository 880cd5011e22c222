"""A server that is attacked from all sides loses nothing that it acknowledged."""

from pathlib import Path

from tests.attack.campaign import Attack


def test_nothing_acknowledged_is_lost_under_kills_faults_floods_and_hostile_uploads(
    tmp_path: Path,
) -> None:
    attack = Attack.on(tmp_path, seed=7)

    attack.run(3, life=2)

    assert attack.target.violations == []
    assert attack.target.counts["lives"] >= 2
