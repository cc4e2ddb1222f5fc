"""The figure of regret beside c log n, and the games in which strategies get stuck."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks import log_constant, stuck

import projbandits as pb
from tests.worlds import world_of


def test_regret_is_drawn_beside_the_constant_of_log_n(tmp_path: Path) -> None:
    found = log_constant.curves(horizon=300, trials=3)
    world = world_of(pb.problems.random_arms(), 1)
    c = pb.theory.asymptotic_constant(world).value
    np.testing.assert_allclose(found.asymptotic[1], c * np.log(found.steps))
    assert found.settling[1, -1] == pytest.approx(300 * pb.theory.constants(world).gap)
    log_constant.draw(found, tmp_path / "limits.png")
    assert (tmp_path / "limits.png").stat().st_size > 10_000
    assert [line.split("`")[1] for line in log_constant.ratios(found).splitlines()[2:]] == [
        *found.regret
    ]


def test_who_stays_with_a_wrong_arm_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without exploring, a wrong first impression lasts.
    monkeypatch.setattr(stuck, "STRATEGIES", (pb.GENTRY(alpha=1e-9), pb.GENTRY(alpha=3.0)))
    monkeypatch.setattr(stuck, "GAMES", {"two": stuck.GAMES["two arms, gap 0.2"]})
    rows = [line.split(" | ") for line in stuck.table(trials=30, horizon=500).splitlines()[2:]]
    shares = [float(row[2].rstrip("%")) for row in rows]
    assert shares[0] > 10 > shares[1]
    assert float(rows[0][4].rstrip(" |")) > 0.5
