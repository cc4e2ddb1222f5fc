"""`Result`: summaries, frames and files."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import projbandits as pb
from tests import naive


@pytest.fixture(scope="module")
def played() -> pb.Result:
    return pb.simulate(
        pb.problems.random_arms(d=3, arms=5, u=1),
        [pb.GENTRY(alpha=a) for a in (0.1, 1.0)] + [pb.UE(alpha=0.5), pb.GENTRY(basis="first")],
        trials=7,
        horizon=300,
        checkpoints=[10, 250, 300],
        progress=False,
    )


def test_a_curve_is_the_mean_with_its_interval(played: pb.Result) -> None:
    curve = played.curve("UE(alpha=0.5)", level=0.9)
    values = played.regret[2]
    np.testing.assert_allclose(curve.mean, values.mean(axis=0))
    half = stats.t.ppf(0.95, df=6) * stats.sem(values, axis=0)
    np.testing.assert_allclose(curve.high - curve.mean, half)
    np.testing.assert_allclose(curve.mean - curve.low, half)


def test_nine_tenths_of_the_window_are_not_more_than_nine_tenths(played: pb.Result) -> None:
    assert played.best_share is not None
    level = replace(played, best_share=np.full_like(played.best_share, 0.9))
    assert (level.curve("GENTRY()", "found_best").mean == 0.0).all()


def test_found_best_over_time_has_wilson_intervals(played: pb.Result) -> None:
    assert played.best_share is not None
    curve = played.curve("GENTRY()", "found_best")
    hits = (played.best_share[1] > 0.9).sum(axis=0)
    for i, k in enumerate(hits):
        expected = stats.binomtest(int(k), 7).proportion_ci(0.95, method="wilson")
        assert curve.mean[i] == pytest.approx(k / 7)
        assert (curve.low[i], curve.high[i]) == pytest.approx((expected.low, expected.high))


def test_the_summary_is_of_the_last_checkpoint(played: pb.Result) -> None:
    frame = played.summary()
    row: Any = frame.loc["GENTRY()"]
    last = played.regret[1, :, -1]
    assert list(frame.index) == list(played.strategies)
    assert row["mean"] == pytest.approx(last.mean())
    assert row["median"] == np.median(last)
    assert row["p90"] == pytest.approx(np.quantile(last, 0.9))
    assert row["return_regret"] == pytest.approx(played.return_regret[1, :, -1].mean())
    assert played.found_best is not None
    assert row["found_best"] == pytest.approx(played.found_best[1].mean())
    assert row["engine"] == "events"


@pytest.mark.parametrize("baseline", [None, "UE(alpha=0.5)"])
def test_differences_are_taken_trial_by_trial(played: pb.Result, baseline: str | None) -> None:
    frame = played.paired(baseline, level=0.9)
    base = played.strategies.index(baseline or played.strategies[0])
    others = [i for i in range(4) if i != base]
    assert frame.index.tolist() == [played.strategies[i] for i in others]
    for i, row in zip(others, frame.to_numpy(), strict=True):
        one, other = played.regret[i, :, -1], played.regret[base, :, -1]
        assert row.tolist() == pytest.approx(naive.paired(one, other, stats.t.ppf(0.95, df=6)))


def test_a_strategy_alone_differs_from_nothing_and_one_trial_has_no_interval() -> None:
    problem = pb.problems.random_arms(d=3, arms=5, u=1)
    alone = pb.simulate(problem, pb.UE(), trials=2, horizon=5, progress=False)
    assert alone.paired().shape == (0, 4)
    once = pb.simulate(problem, [pb.UE(), pb.GENTRY()], trials=1, horizon=5, progress=False)
    row: Any = once.paired().loc["GENTRY()"]
    assert np.isnan([row["low"], row["high"]]).all()
    with pytest.raises(ValueError, match="strategy must be one of"):
        once.paired("CURSE()")


def test_the_frame_is_tidy(played: pb.Result) -> None:
    frame = played.to_frame()
    assert len(frame) == played.regret.size
    for strategy, trial, checkpoint in [(0, 0, 0), (2, 6, 1), (3, 3, 2)]:
        row: Any = frame[
            (frame["strategy"] == played.strategies[strategy])
            & (frame["trial"] == trial)
            & (frame["step"] == played.steps[checkpoint])
        ].iloc[0]
        assert row["regret"] == played.regret[strategy, trial, checkpoint]
        assert row["return_regret"] == played.return_regret[strategy, trial, checkpoint]


def test_regret_against_a_parameter_groups_by_family(played: pb.Result) -> None:
    frame = played.against("alpha")
    assert frame["family"].tolist() == ["GENTRY", "GENTRY", "UE", "GENTRY(basis='first')"]
    assert frame["alpha"].tolist() == [0.1, 1.0, 0.5, 1.0]
    assert frame["mean"].iloc[2] == pytest.approx(played.regret[2, :, -1].mean())


def test_what_is_saved_is_what_is_loaded(played: pb.Result, tmp_path: Path) -> None:
    path = tmp_path / "result.parquet"
    played.save(path)
    loaded = pb.Result.load(path)
    for name in ("steps", "regret", "return_regret", "best_share", "found_best", "pulls"):
        one, other = getattr(played, name), getattr(loaded, name)
        assert one.dtype == other.dtype
        assert (one == other).all()
    for name in ("strategies", "engines", "problem", "horizon", "seed", "parameters"):
        assert getattr(played, name) == getattr(loaded, name)
    assert [p.name for p in tmp_path.iterdir()] == ["result.parquet"]
    assert loaded.against("alpha").equals(played.against("alpha"))


def test_results_of_infinite_sets_are_saved_too(tmp_path: Path) -> None:
    result = pb.simulate(
        pb.problems.entropy_ball(d=2, u=1), pb.GENTRY(), trials=2, horizon=5, progress=False
    )
    result.save(tmp_path / "c")
    loaded = pb.Result.load(tmp_path / "c")
    assert loaded.best_share is None
    assert result.pulls is loaded.pulls is None
    assert "found_best" not in result.summary().columns
    with pytest.raises(ValueError, match="'found_best' needs finitely many arms"):
        result.curve("GENTRY()", "found_best")


def test_parameters_that_are_no_plain_values_are_saved_as_text(tmp_path: Path) -> None:
    def slow(t: int) -> float:
        return 0.1

    strategies = [pb.GENTRY(schedule=slow), pb.GENTRY(alpha=cast(float, np.int64(2)))]
    result = pb.simulate(pb.problems.random_arms(), strategies, trials=2, horizon=5)
    result.save(tmp_path / "r")
    assert pb.Result.load(tmp_path / "r").parameters[0]["schedule"].endswith("slow")
    assert result.against("alpha")["alpha"].tolist() == [1.0, 2.0]


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a result")
    with pytest.raises(ValueError, match="must be a saved result"):
        pb.Result.load(tmp_path / "text")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "other")
    with pytest.raises(ValueError, match=r"other' has format None, not 3: use a copy"):
        pb.Result.load(tmp_path / "other")
    with pytest.raises(ValueError, match="is a folder"):
        pb.Result.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        pb.Result.load(tmp_path / "nowhere")


def test_a_result_says_of_what_it_is(played: pb.Result, tmp_path: Path) -> None:
    problem = pb.problems.random_arms(d=3, arms=5, u=1)
    assert played.identities[0] != played.identities[1]
    part = played.only("UE(alpha=0.5)", "GENTRY()")
    again = pb.simulate(problem, [pb.UE(alpha=0.5), pb.GENTRY()], trials=1, horizon=5)
    assert part.identities == again.identities
    part.save(tmp_path / "part")
    assert pb.Result.load(tmp_path / "part").identities == part.identities


def test_bad_questions_are_named(played: pb.Result) -> None:
    with pytest.raises(ValueError, match=r"strategy must be one of .*did you mean 'GENTRY\(\)'"):
        played.curve("GENTRY")
    with pytest.raises(ValueError, match="metric must be one of"):
        played.curve("GENTRY()", "reward")
    with pytest.raises(ValueError, match=r"got 'beta': they have \['alpha', 'arm_effects'"):
        played.against("beta")
