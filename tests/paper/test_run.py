"""`reproduce`: what it leaves behind, and how it goes on."""

import dataclasses
import importlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from projbandits.paper import FIGURES, Outcome, panels, reproduce
from projbandits.paper import experiments as e
from projbandits.paper.settings import WINES, A
from tests.commands import call
from tests.reproductions import SMALL, Tired

module = importlib.import_module("projbandits.problems.wine")  # `wine` is the function too


def test_it_writes_figures_data_tables_and_a_report(tmp_path: Path) -> None:
    done = reproduce(["fig-a", "fig-c"], out=tmp_path / "new" / "out", **SMALL)
    names = {path.name for path in done.out.iterdir()} - {"unfinished"}
    assert names == {
        *(f"fig-{x}.{kind}" for x in ("a", "c", "return") for kind in ("png", "pdf")),
        "data",
        "report.html",
        "reproduction.json",
    }
    assert "compiled (search)" in done.report.read_text(encoding="utf-8")
    parts = [pb.Result.load(done.out / "data" / f"setting-a{n}.parquet") for n in ("", "-2", "-4")]
    assert [(part.trials, part.horizon, part.seed) for part in parts] == [
        (2, 60, 0),
        (2, 60, 1),
        (2, 60, 3),
    ]
    pooled = done.results["setting-a"]
    assert pooled.trials == 8
    np.testing.assert_array_equal(pooled.regret[:, 2:4], parts[1].regret)
    assert pooled.found_best is not None
    np.testing.assert_array_equal(pooled.found_best[:, 6:], parts[2].found_best)
    assert {claim.name for claim in done.verdicts} >= {"found-a", "sublinear-c", "theorem-2"}
    assert {verdict.outcome for verdict in done.verdicts.values()} == {Outcome.UNDECIDED}


def test_an_interrupted_run_continues_and_ends_the_same(tmp_path: Path) -> None:
    whole = reproduce(["fig-a", "fig-b"], out=tmp_path / "whole", **SMALL)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["fig-a", "fig-b"], out=tmp_path / "out", executor=Tired(3), **SMALL)
    found = sorted(x.stem for x in (tmp_path / "out" / "data").glob("*.parquet"))
    assert found == ["setting-a", "setting-a-2", "setting-a-3"]
    again = reproduce(["fig-a", "fig-b"], out=tmp_path / "out", **SMALL)
    for name, result in whole.results.items():
        np.testing.assert_array_equal(again.results[name].regret, result.regret)
    assert not list((tmp_path / "out" / "unfinished").iterdir())


def test_a_finished_run_is_not_run_again(finished: Path) -> None:
    reproduce(["fig-a"], out=finished, executor=Tired(0), **SMALL)


def test_figures_add_up_in_one_folder(finished: Path) -> None:
    done = reproduce(["fig-b"], out=finished, **SMALL)
    assert set(done.results) == {"setting-a", "setting-b"}


def test_a_tuned_experiment_continues_with_what_the_sweep_chose(tmp_path: Path) -> None:
    done = reproduce(["fig-alpha-a"], out=tmp_path, **SMALL)
    sweep, tuned = done.results["close-a"], done.results["tuned-a"]
    assert sweep.seed == done.results["alpha-a"].seed == 100
    assert tuned.strategies == tuple(map(repr, A.tuned.chosen(done.results)))
    assert len(tuned.strategies) == len(e.FINITE)
    assert tuned.seed == 0
    again = reproduce(["fig-alpha-a"], out=tmp_path, executor=Tired(0), **SMALL)
    np.testing.assert_array_equal(again.results["tuned-a"].regret, tuned.regret)


class Counting(Tired):
    """Counts how often each strategy plays each trial."""

    def __init__(self) -> None:
        super().__init__(-1)
        self.played: Counter[tuple[str, int, str, int]] = Counter()

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        spec, trials = args[:2]
        for label in spec.labels:
            self.played.update((repr(spec.problem), spec.seed, label, i) for i in trials)
        return super().submit(fn, *args, **kwargs)


def test_no_trial_is_played_twice(tmp_path: Path) -> None:
    counting, size = Counting(), {**SMALL, "trials": 150}
    results = reproduce(["fig-a", "fig-alpha-a"], out=tmp_path, executor=counting, **size).results
    assert set(counting.played.values()) == {1}
    first, close, tuned = results["alpha-a"], results["close-a"], results["tuned-a"]
    assert (first.trials, close.trials) == (3, 30)
    np.testing.assert_array_equal(close.regret[:, :3], first.only(*close.strategies).regret)
    both = [label for label in tuned.strategies if label in results["setting-a"].strategies]
    given = results["setting-a"].only(*both)
    np.testing.assert_array_equal(tuned.only(*both).regret, given.regret)
    ends = results["ends-a"]
    alike = [label for label in ends.strategies if label in tuned.strategies]
    rows = [np.arange(2) + 75 * seed for seed in range(4)]  # of 2 and of 75 trials per seed
    among = tuned.only(*alike).regret[:, np.concatenate(rows)]
    np.testing.assert_array_equal(ends.only(*alike).regret, among)


def test_an_unknown_figure_suggests_a_known_one(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="got 'fig-wines': did you mean 'fig-wine'"):
        reproduce(["fig-wines"], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_file_of_another_experiment_size_or_seed_is_noticed(finished: Path) -> None:
    file = finished / "data" / "setting-a.parquet"
    whole = pb.Result.load(file)
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
            reproduce(["fig-a"], out=finished, **SMALL)
    whole.save(file)
    reproduce(["fig-a"], out=finished, executor=Tired(0), **SMALL)


def test_a_run_killed_between_its_files_is_made_whole(finished: Path) -> None:
    table = (finished / "data" / "setting-a.csv").read_bytes()
    (finished / "data" / "setting-a.parquet").unlink()  # the table is written before it
    (finished / "data" / "setting-a.csv").write_text("half")
    reproduce(["fig-a"], out=finished, **SMALL)
    assert (finished / "data" / "setting-a.csv").read_bytes() == table
    assert (finished / "data" / "setting-a.parquet").is_file()


def _no_wines() -> Path:
    raise ModuleNotFoundError("the wine data is not installed")


def test_a_named_figure_must_have_its_data_and_that_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_packaged", _no_wines)
    with pytest.raises(ModuleNotFoundError, match="wine data"):
        reproduce(["fig-a", "fig-wine"], out=tmp_path / "out", executor=Tired(0), **SMALL)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def _figures() -> Iterator[None]:
    """Put all figures back in their order."""
    kept = dict(FIGURES)
    yield
    FIGURES.clear()
    FIGURES.update(kept)


@pytest.mark.usefixtures("_figures")
def test_without_the_wines_all_the_rest_is_run_and_with_them_they_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    overview = dataclasses.replace(
        FIGURES["fig-verdicts"],
        experiments=(*A.experiments, *WINES.experiments),
        draw=panels.compared({"Setting a": A, "White wines": WINES}),
    )
    for name in {*FIGURES} - {"fig-a", "fig-alpha-a", "fig-wine", "fig-alpha-wine"}:
        del FIGURES[name]
    FIGURES["fig-verdicts"] = overview
    size: list[str | Path] = ["--trials", "4", "--horizon", "60", "--out", tmp_path]
    with monkeypatch.context() as without:
        without.setattr(module, "_packaged", _no_wines)
        done = call("reproduce", *size)
    verdicts = dict(line.split("\t")[:2] for line in done.stdout.splitlines()[1:])
    needs = "not run: needs pip install 'projbandits[wine]'"
    assert done.exit_code == 0
    assert {claim for claim, verdict in verdicts.items() if verdict == needs} >= {"best-wine"}
    assert verdicts["best-a"] == Outcome.UNDECIDED
    assert escape(needs) in (tmp_path / "report.html").read_text(encoding="utf-8")
    drawn = {"fig-a.png", "fig-alpha-a.png", "fig-verdicts.png"}
    assert {path.name for path in tmp_path.glob("*.png")} == drawn
    again = call("reproduce", *size)
    assert again.exit_code == 0
    assert "not run" not in again.stdout
    assert {path.name for path in tmp_path.glob("*.png")} > drawn


def test_what_compiles_ahead_ends_with_who_asked_for_it() -> None:
    # `projbandits.paper.run` is the function too.
    command = sys.modules["projbandits.paper.run"].COMPILE
    with subprocess.Popen([sys.executable, "-c", command], stdin=subprocess.PIPE) as other:
        assert other.stdin is not None
        other.stdin.close()
    assert other.returncode == 1
