"""The league: its tables, the page they are put into, and the figure of the hard instance."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from benchmarks import hard_instance, league

import projbandits as pb
from tests.everyone import everyone


def row(*regret: float, found: float | None = 0.5) -> league.Row:
    return league.Row(np.array(regret), np.array(regret) / 4, found, 1.25)


def test_its_tables_have_what_was_played() -> None:
    few, gentry = (repr(strategy) for strategy in (league.STRATEGIES[0], league.BASELINE))
    more = "GENTRY(alpha=2.0)"
    results = {
        "wine": {few: row(10.0, 30.0), gentry: row(40.0, 80.0), more: row(1.0, 3.0)},
        "ball": {gentry: row(5.0, 7.0, found=None)},
    }
    played = league.table(results["wine"]).splitlines()
    # Two trials: Student's 97.5 % quantile with one degree of freedom is 12.706.
    assert played[2] == f"| `{few}` | 20 +- 127 | 20 | 28 | 75% | 50% | -87 to 167 | 1.2 |"
    assert "|  | 1.2 |" in played[3]  # the baseline differs from itself by nothing
    first, _, *lines = league.overview(results).splitlines()
    assert first == "| | wine | ball |"
    assert f"| `{few}` | **20** |  |" in lines  # what came last does not count
    assert f"| `{gentry}` | 60 | **6** |" in lines
    assert len(lines) == len(league.STRATEGIES)


def test_every_strategy_plays_and_once_with_all_its_defaults() -> None:
    given = {"horizon": league.HORIZON}
    for strategy in everyone():
        changed = {name: value for name, value in given.items() if hasattr(strategy, name)}
        assert dataclasses.replace(strategy, **changed) in league.STRATEGIES
    labels = [repr(strategy) for strategy in league.STRATEGIES]
    assert len(set(labels)) == len(labels)


def test_only_finitely_many_arms_have_effects() -> None:
    ball, wine = league.WORLDS["ball"][0], pb.problems.wine(arms=20)
    with_effects = pb.GENTRY(arm_effects="auto")
    assert [league.fits(with_effects, problem) for problem in (ball, wine)] == [False, True]
    assert league.fits(pb.GENTRY(), ball)


def test_a_table_is_put_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- league -->\nold\n<!-- end of league -->\nb\n")
    league.put(page, "league", "new")
    assert page.read_text() == "a\n<!-- league -->\nnew\n<!-- end of league -->\nb\n"
    pages = (Path(league.__file__).parents[1] / "docs" / "strategies.md").read_text()
    for name in ("league", "hard instance"):
        assert pages.count(f"<!-- {name} -->") == pages.count(f"<!-- end of {name} -->") == 1


def test_the_hard_instance_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hard_instance, "STRATEGIES", (pb.GENTRY(), pb.CURSE()))
    monkeypatch.setattr(hard_instance, "STEPS", np.array([10, 100, 1000, 1100, 1200]))
    monkeypatch.setattr(hard_instance, "KNOWN", (1000, 1200))
    lines = hard_instance.draw(tmp_path, share=0.1).splitlines()
    assert [line.split("`")[1] for line in lines[2:]] == [
        "GENTRY()",
        "EIRatio(horizon=n)",
        "CURSE()",
    ]
    assert (tmp_path / "hard-instance.png").stat().st_size > 10_000


def test_an_exponent_is_that_of_the_worst_mean() -> None:
    steps = np.array([10, 1000, 2000, 4000])
    regret = np.stack([np.sqrt(steps), np.full(4, 0.1)])[None] * np.ones((5, 1, 1))
    found = hard_instance.curve("mine", steps, regret)
    np.testing.assert_allclose(found.regret, np.sqrt(steps))
    np.testing.assert_allclose(found.exponent, 0.5, atol=1e-12)
