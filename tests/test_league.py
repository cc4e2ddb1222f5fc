"""The league: its tables, the page they are put into, and the figure of the hard instance."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from benchmarks import hard_instance, kept, league
from benchmarks.kept import Kept

import projbandits as pb
from tests.commands import contents
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


def test_only_finitely_many_arms_have_effects_or_are_eliminated() -> None:
    ball, wine = league.WORLDS["ball"][0], pb.problems.wine(arms=20)
    with_effects = pb.GENTRY(arm_effects="auto")
    assert [league.fits(with_effects, problem) for problem in (ball, wine)] == [False, True]
    assert not league.fits(pb.ProjectedElimination(horizon=9), ball)
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
    lines = hard_instance.draw(tmp_path, 0.1, Kept(None)).splitlines()
    assert [line.split("`")[1] for line in lines[2:]] == [
        "GENTRY()",
        "EIRatio(horizon=n)",
        "CURSE()",
    ]
    assert (tmp_path / "hard-instance.png").stat().st_size > 10_000


def test_it_continues_after_a_stop_and_writes_the_same_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, strategies = pb.problems.random_arms(d=3, arms=5, u=1), (pb.CURSE(), pb.GENTRY())
    monkeypatch.setattr(league, "WORLDS", {"one": (problem, 3), "other": (league.TwinArms(), 3)})
    monkeypatch.setattr(league, "STRATEGIES", strategies)
    monkeypatch.setattr(league, "HORIZON", 50)
    monkeypatch.setattr(hard_instance, "STRATEGIES", (pb.CURSE(),))
    monkeypatch.setattr(hard_instance, "STEPS", np.array([10, 1000, 1200]))
    monkeypatch.setattr(hard_instance, "KNOWN", (1000, 1200))
    simulated: list[str] = []
    original = pb.simulate

    def simulate(problem: Any, strategy: Any, **options: Any) -> pb.Result:
        simulated.append(repr(strategy))
        if len(simulated) == stop_after:
            raise KeyboardInterrupt
        return original(problem, strategy, **options)

    def run(name: str, *options: str) -> dict[str, bytes]:
        out = tmp_path / name
        out.mkdir(exist_ok=True)
        marks = (f"<!-- {mark} -->\n<!-- end of {mark} -->" for mark in ("league", "hard instance"))
        (out / "strategies.md").write_text("\n".join(marks))
        arguments = ["--out", str(out), "--kept", str(tmp_path / "kept"), *options]
        monkeypatch.setattr(sys, "argv", ["league", *arguments])
        simulated.clear()
        league.main()
        return contents(out)

    monkeypatch.setattr(pb, "simulate", simulate)
    for calls, finished in ((4, 1), (5, 3), (9, 10)):  # of four cells, and 24 of the figure
        stop_after = calls
        with pytest.raises(KeyboardInterrupt):
            run("stopped")
        assert len(list((tmp_path / "kept").iterdir())) == finished
    stop_after = 0
    with monkeypatch.context() as broken:
        broken.setattr(plt, "savefig", lambda *a: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run("broken")
    assert len(list((tmp_path / "kept").iterdir())) == 28
    once = run("once")
    assert not simulated
    assert run("again") == once


def test_what_is_kept_is_found_by_all_that_it_depends_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = []

    def get(problem: Any, strategy: Any, **size: Any) -> Any:
        def measure() -> dict[str, Any]:
            measured.append(1)
            return {"number": len(measured)}

        return Kept(tmp_path).get(problem, strategy, size, measure)["number"]

    problem = pb.problems.random_arms()
    questions: list[tuple[Any, Any, dict[str, Any]]] = [
        (problem, pb.UE(), {"trials": 1}),
        (problem, pb.UE(), {"trials": 2}),
        (problem, pb.UE(alpha=0.5), {"trials": 1}),
        (pb.problems.random_arms(d=9), pb.UE(), {"trials": 1}),
    ]
    for _ in range(2):
        assert [get(*two, **size) for *two, size in questions] == [1, 2, 3, 4]
    damaged = min(tmp_path.iterdir())
    damaged.write_bytes(damaged.read_bytes()[:-9])
    assert sum(get(*two, **size) == 5 for *two, size in questions) == 1
    monkeypatch.setattr(kept, "sources", lambda: "changed")
    assert get(problem, pb.UE(), trials=1) == 6
    Kept(tmp_path).forget()
    assert get(problem, pb.UE(), trials=1) == 7
    assert Kept(None).get(problem, pb.UE(), {}, lambda: {"new": True}) == {"new": True}


def test_an_exponent_is_that_of_the_worst_mean() -> None:
    steps = np.array([10, 1000, 2000, 4000])
    regret = np.stack([np.sqrt(steps), np.full(4, 0.1)])[None] * np.ones((5, 1, 1))
    found = hard_instance.curve("mine", steps, regret)
    np.testing.assert_allclose(found.regret, np.sqrt(steps))
    np.testing.assert_allclose(found.exponent, 0.5, atol=1e-12)
