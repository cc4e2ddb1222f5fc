"""The paper as data: its figures, its claims as checks, and what `reproduce` leaves behind."""

import dataclasses
import json
import shutil
from concurrent.futures import Executor, Future
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits import statistics, theory
from projbandits._locks import locked
from projbandits.paper import CLAIMS, FIGURES, Claim, Condition, reproduce
from projbandits.paper import experiments as e
from projbandits.paper.experiments import Experiment
from projbandits.paper.verdicts import (
    FAILS,
    HOLDS,
    UNDECIDED,
    beats,
    exceeds_threshold,
    finds_best,
    grows,
    linear,
    moderate_alpha,
    thresholds,
)
from projbandits.results import Result
from projbandits.statistics import Estimate


def made_up(strategies: tuple[Any, ...], regret: Any, found: Any = None) -> Result:
    """Return a result with the given regret (strategy x trial x checkpoint)."""
    regret = np.asarray(regret, dtype=np.float64)
    shaped = np.empty((len(strategies), regret.shape[1], regret.shape[2]))
    shaped[:] = regret
    real = pb.simulate(pb.problems.random_arms(), strategies, trials=1, horizon=1, progress=False)
    return dataclasses.replace(
        real,
        steps=np.unique(np.geomspace(1, 10_000, regret.shape[2]).astype(np.int64)),
        regret=shaped,
        return_regret=shaped,
        found_best=None if found is None else np.asarray(found, dtype=np.bool_),
        horizon=10_000,
    )


A = Experiment(name="x", problem=pb.problems.random_arms, strategies=(pb.GENTRY(), pb.UE()))


def test_the_papers_figures_have_the_papers_worlds_and_alphas() -> None:
    papers = [name for name, figure in FIGURES.items() if figure.source]
    assert papers == [
        "fig-alpha-finite",
        "fig-alpha-infinite",
        "fig-a",
        "fig-b",
        "fig-c",
        "fig-wine",
    ]
    assert (e.TRIALS, e.HORIZON) == (2000, 10_000)
    assert repr(e.SETTING_A.problem()) == repr(pb.problems.random_arms(d=10, arms=45, u=5))
    alphas = {repr(s).split("(")[0]: s.alpha for s in e.INFINITE if hasattr(s, "alpha")}
    assert alphas == {
        "GENTRY": 0.01,
        "CURSE": 0.01,
        "REGRET": 0.1,
        "UE": 0.01,
    }


@pytest.mark.parametrize(
    ("interval", "outcome"),
    [((1.0, 2.0), HOLDS), ((0.0, 3.0), HOLDS), ((-1.0, 1.0), UNDECIDED), ((2.0, 4.0), UNDECIDED),
     ((-2.0, -1.0), FAILS), ((3.5, 4.0), FAILS), ((float("nan"), float("nan")), UNDECIDED)],
)  # fmt: skip
def test_an_interval_decides_or_does_not(interval: tuple[float, float], outcome: str) -> None:
    condition = Condition("number", Estimate(sum(interval) / 2, *interval), least=0.0, most=3.0)
    assert condition.outcome == outcome


def test_a_claim_holds_only_if_all_of_it_does() -> None:
    good = Condition("good", Estimate(1, 1, 1), least=0.0)
    wide = Condition("wide", Estimate(1, -1, 2), least=0.0)
    bad = Condition("bad", Estimate(-1, -1, -1), least=0.0)
    results = {"x": made_up((pb.GENTRY(), pb.UE()), np.ones((2, 3, 2)))}

    def outcome(*conditions: Condition) -> str:
        claim = Claim(
            name="n", text="t", source="s", experiments=(A,), conditions=lambda _: conditions
        )
        return claim.check(results).outcome

    assert outcome(good, good) == HOLDS
    assert outcome(good, wide) == UNDECIDED
    assert outcome(good, wide, bad) == FAILS
    results["x"] = dataclasses.replace(results["x"], horizon=9999)
    assert outcome(good) == UNDECIDED  # the claim is about a longer horizon


def test_beating_is_measured_in_the_same_worlds() -> None:
    # Worlds differ by thousands, the strategies by about 1 in each of them.
    rng = np.random.default_rng(0)
    worlds = rng.uniform(0, 5000, size=100)
    regret = np.stack([worlds, worlds + 1 + rng.normal(size=100)])[:, :, None]
    [condition] = beats(A, pb.GENTRY(), pb.UE())({"x": made_up(A.strategies, regret)})
    assert condition.outcome == HOLDS
    assert condition.estimate == statistics.mean(regret[0, :, 0] - regret[1, :, 0])
    [other] = beats(A, pb.UE(), pb.GENTRY())({"x": made_up(A.strategies, regret)})
    assert other.outcome == FAILS


@pytest.mark.parametrize(("ends", "outcome"), [((9.0, 8.0), HOLDS), ((9.0, 1.0), FAILS)])
def test_a_moderate_alpha_beats_both_ends(ends: tuple[float, float], outcome: str) -> None:
    sweep = tuple(pb.GENTRY(alpha=alpha) for alpha in (0.1, 1.0, 2.0, 10.0))
    means = np.array([ends[0], 5.0, 4.0, ends[1]])
    noise = np.random.default_rng(0).normal(size=(4, 30)) / 10
    conditions = moderate_alpha(A)({"x": made_up(sweep, (means[:, None] + noise)[:, :, None])})
    assert [c.what.split(": ")[1] for c in conditions] == [
        "regret at alpha 0.1 minus that at 2",
        "regret at alpha 10 minus that at 2",
    ]
    assert [c.outcome for c in conditions] == [HOLDS, outcome]


def test_growth_is_the_exponent_over_the_last_decade() -> None:
    steps = np.unique(np.geomspace(1, 10_000, 40).astype(np.int64))
    regret = np.stack([np.tile(steps**0.5, (20, 1)), np.tile(steps**1.0, (20, 1))])
    result = dataclasses.replace(made_up(A.strategies, regret), steps=steps)
    check = grows(A, *A.strategies, most=0.9)
    assert [c.outcome for c in check({"x": result})] == [HOLDS, FAILS]


def test_linear_growth_may_begin_with_a_cost() -> None:
    steps = np.unique(np.geomspace(1, 10_000, 200).astype(np.int64))
    regret = np.stack([np.tile(5000 + steps, (20, 1)), np.tile(steps**0.5, (20, 1))])
    result = dataclasses.replace(made_up(A.strategies, regret), steps=steps)
    conditions = linear(A, *A.strategies)({"x": result})
    assert [c.outcome for c in conditions] == [HOLDS, HOLDS, FAILS, HOLDS]
    assert [bool(c.demand) for c in conditions] == [True, False, True, False]


def test_finding_the_best_arm_needs_most_trials_and_a_margin() -> None:
    found = np.array([[True] * 90 + [False] * 10, [True] * 30 + [False] * 70])
    result = made_up(A.strategies, np.ones((2, 100, 1)), found)
    assert [c.outcome for c in finds_best(A, *A.strategies)({"x": result})] == [HOLDS, HOLDS]
    twins = made_up(A.strategies, np.ones((2, 100, 1)), found[[0, 0]])
    assert [c.outcome for c in finds_best(A, *A.strategies)({"x": twins})] == [HOLDS, FAILS]


def test_thresholds_are_those_of_the_worlds_that_were_met() -> None:
    problem = pb.problems.random_arms(d=3, arms=6, u=2)
    small = dataclasses.replace(A, problem=lambda: problem)
    result = pb.simulate(problem, pb.GENTRY(), trials=4, horizon=5, seed=7, progress=False)
    worlds = [problem.world(_stream(7, i)) for i in range(4)]
    expected = [theory.constants(world).alpha_threshold for world in worlds]
    np.testing.assert_array_equal(thresholds(small, result), expected)
    [condition] = exceeds_threshold(small, 1e9)({"x": result})
    assert condition.estimate.value == 1.0


def _stream(seed: int, trial: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(trial, 0)))


SMALL: dict[str, Any] = {"trials": 4, "horizon": 60, "progress": False}


def test_it_writes_figures_data_tables_and_a_report(tmp_path: Path) -> None:
    done = reproduce(["fig-a", "fig-c"], out=tmp_path / "new" / "out", **SMALL)
    names = {path.name for path in done.out.iterdir()} - {"unfinished"}
    assert names == {
        *(f"fig-{x}.{kind}" for x in ("a", "c", "return") for kind in ("png", "pdf")),
        "data",
        "report.html",
        "reproduction.json",
    }
    result = Result.load(done.out / "data" / "setting-a.parquet")
    assert (result.trials, result.horizon) == (4, 60)
    assert {claim.name for claim in done.verdicts} >= {"best-a", "sublinear-c", "theorem-2"}
    assert {verdict.outcome for verdict in done.verdicts.values()} == {UNDECIDED}


def test_every_claim_is_checked_when_everything_is_run(tmp_path: Path) -> None:
    done = reproduce(out=tmp_path, **SMALL)
    assert [claim.name for claim in done.verdicts] == [claim.name for claim in CLAIMS]
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    parsed = _Page()
    parsed.feed(page)
    assert parsed.open == []
    assert [name for name in parsed.ids if name in FIGURES] == list(FIGURES)
    assert {name.removeprefix("claim-") for name in parsed.ids} >= {c.name for c in CLAIMS}
    assert all(source.startswith("data:image/png;base64,") for source in parsed.sources)
    assert parsed.targets <= set(parsed.ids)
    assert "http://" not in page
    assert "https://" not in page


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.sources: list[str] = []
        self.targets: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if "id" in values:
            self.ids.append(str(values["id"]))
        if "src" in values:
            self.sources.append(str(values["src"]))
        if tag == "a":
            self.targets.add(str(values["href"]).removeprefix("#"))
        if tag not in ("meta", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


class Tired(Executor):
    """Runs what it is given, and is interrupted after some chunks."""

    def __init__(self, chunks: int) -> None:
        self.left = chunks

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_an_interrupted_run_continues_and_ends_the_same(tmp_path: Path) -> None:
    whole = reproduce(["fig-a", "fig-b"], out=tmp_path / "whole", **SMALL)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["fig-a", "fig-b"], out=tmp_path / "out", executor=Tired(1), **SMALL)
    assert [x.name for x in (tmp_path / "out" / "data").glob("*.parquet")] == ["setting-a.parquet"]
    again = reproduce(["fig-a", "fig-b"], out=tmp_path / "out", **SMALL)
    for name, result in whole.results.items():
        np.testing.assert_array_equal(again.results[name].regret, result.regret)
    assert not list((tmp_path / "out" / "unfinished").iterdir())


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    reproduce(["fig-a"], out=tmp_path, **SMALL)
    reproduce(["fig-a"], out=tmp_path, executor=Tired(0), **SMALL)


def test_figures_add_up_in_one_folder(tmp_path: Path) -> None:
    reproduce(["fig-a"], out=tmp_path, **SMALL)
    done = reproduce(["fig-b"], out=tmp_path, **SMALL)
    assert set(done.results) == {"setting-a", "setting-b"}


def test_another_run_in_the_folder_is_left_alone(tmp_path: Path) -> None:
    reproduce(["fig-a"], out=tmp_path, **SMALL)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match="holds another run: its seed is 0, not 1; nothing was"):
        reproduce(["fig-a"], out=tmp_path, seed=1, **SMALL)
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(ValueError, match="holds other files; nothing was changed"):
        reproduce(["fig-a"], out=tmp_path, **SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_too_little_disk_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    with pytest.raises(OSError, match="are needed and 0 MB are free; nothing was simulated"):
        reproduce(["fig-a"], out=tmp_path / "out", **SMALL)


def test_an_unknown_figure_suggests_a_known_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="got 'fig-wines': did you mean 'fig-wine'"):
        reproduce(["fig-wines"], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_time_of_each_experiment_is_kept(tmp_path: Path) -> None:
    reproduce(["fig-a"], out=tmp_path, **SMALL)
    manifest = json.loads((tmp_path / "reproduction.json").read_text())
    assert manifest["seconds"]["setting-a"] > 0
    for name in ("Python", "numpy", "numba", "projbandits"):
        assert f"{name} " in manifest["made_with"]["setting-a"]


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    reproduce(["fig-a"], out=tmp_path / "whole", **SMALL)
    written = (tmp_path / "whole" / "reproduction.json").read_text()
    (tmp_path / "out").mkdir()
    manifest = tmp_path / "out" / "reproduction.json"
    for content in ("", "[]", "{}", written.replace("numpy", "numpi")):
        manifest.write_text(content)
        with pytest.raises(ValueError, match=r"be read: .*reproduction\.json' .*; delete it and"):
            reproduce(["fig-a"], out=manifest.parent, **SMALL)


def test_a_run_killed_at_its_beginning_leaves_a_folder_that_can_be_used(tmp_path: Path) -> None:
    (tmp_path / ".unfinished-reproduction.json-123").write_text("{")
    assert reproduce(["fig-a"], out=tmp_path, **SMALL).report.is_file()
    (tmp_path / "data" / ".unfinished-setting-b.parquet-123").write_text("")
    reproduce(["fig-a"], out=tmp_path, **SMALL)
    assert not list(tmp_path.rglob(".unfinished-*"))


def test_a_folder_that_another_run_writes_to_is_refused(tmp_path: Path) -> None:
    with (
        locked(tmp_path, "out"),
        pytest.raises(ValueError, match=r"out '.*' is in use by another run"),
    ):
        reproduce(["fig-a"], out=tmp_path, **SMALL)
    assert not list(tmp_path.iterdir())


def test_a_file_of_another_experiment_size_or_seed_is_noticed(tmp_path: Path) -> None:
    reproduce(["fig-a"], out=tmp_path, **SMALL)
    file = tmp_path / "data" / "setting-a.parquet"
    whole = Result.load(file)
    steps = e.SETTING_A.checkpoints(60)
    for experiment, changes in (
        (e.SETTING_A, {"seed": 1}),
        (e.SETTING_A, {"trials": 5}),
        (e.SETTING_A, {"checkpoints": steps[1:]}),
        (e.SETTING_B, {}),  # the same strategies in other worlds
    ):
        options = {**SMALL, "checkpoints": steps, **changes}
        pb.simulate(experiment.problem(), experiment.strategies, **options).save(file)
        with pytest.raises(ValueError, match=r"setting-a\.parquet' is not setting-a of these"):
            reproduce(["fig-a"], out=tmp_path, **SMALL)
    whole.save(file)
    reproduce(["fig-a"], out=tmp_path, executor=Tired(0), **SMALL)


def test_a_run_killed_between_its_files_is_made_whole(tmp_path: Path) -> None:
    reproduce(["fig-a"], out=tmp_path, **SMALL)
    table = (tmp_path / "data" / "setting-a.csv").read_bytes()
    (tmp_path / "data" / "setting-a.parquet").unlink()  # the table is written before it
    (tmp_path / "data" / "setting-a.csv").write_text("half")
    reproduce(["fig-a"], out=tmp_path, **SMALL)
    assert (tmp_path / "data" / "setting-a.csv").read_bytes() == table
    assert (tmp_path / "data" / "setting-a.parquet").is_file()


def test_what_is_not_installed_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Any:
        raise ModuleNotFoundError("the wine data is not installed")

    broken = dataclasses.replace(e.WINE, problem=missing)
    monkeypatch.setitem(
        FIGURES, "fig-wine", dataclasses.replace(FIGURES["fig-wine"], experiments=(broken,))
    )
    with pytest.raises(ModuleNotFoundError, match="wine data"):
        reproduce(["fig-a", "fig-wine"], out=tmp_path, executor=Tired(0), **SMALL)
