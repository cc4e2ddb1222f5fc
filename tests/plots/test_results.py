"""Plots: they draw what the result computed, labelled and legible."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

import projbandits as pb
from projbandits import plots
from tests.worlds import run


@pytest.fixture(scope="module")
def played() -> pb.Result:
    strategies = [*(pb.GENTRY(alpha=a) for a in (0.1, 1.0, 10.0)), pb.UE()]
    return run(pb.problems.random_arms(d=3, arms=5, u=1), strategies, trials=5, horizon=50)


def test_regret_curves_are_the_means_with_bands(played: pb.Result) -> None:
    ax = played.plot()
    assert [line.get_label() for line in ax.lines] == [
        "GENTRY(alpha=0.1)",
        "GENTRY",
        "GENTRY(alpha=10.0)",
        "UE",
    ]
    for line, label in zip(ax.lines, played.strategies, strict=True):
        np.testing.assert_allclose(line.get_ydata(), played.curve(label).mean)
        np.testing.assert_allclose(line.get_xdata(), played.steps)
    assert len(ax.collections) == 4
    assert ax.get_xlabel() == "step (5 trials; bands: 95% intervals)"
    assert ax.get_ylabel() == "mean projection regret"
    assert ax.get_legend() is not None


def test_return_regret_and_logarithmic_axes(played: pb.Result) -> None:
    _, ax = plt.subplots()
    assert plots.regret(played, ax, metric="return_regret", log=True) is ax
    assert ax.get_ylabel() == "mean return regret"
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.get_xlim() == (1, 50)


def test_found_best_is_a_share_of_trials(played: pb.Result) -> None:
    ax = plots.found_best(played)
    assert ax.get_ylim() == (0, 1)
    drawn = np.asarray(ax.lines[0].get_ydata(), dtype=np.float64)
    assert drawn.tolist() == [played.curve(played.strategies[0], "found_best").mean[-1]]


def test_found_best_begins_where_the_window_is_full() -> None:
    result = run(pb.problems.random_arms(), pb.GENTRY(), trials=3, horizon=1000)
    x = np.asarray(plots.found_best(result).lines[0].get_xdata(), dtype=np.float64)
    assert x[0] == result.steps[result.steps >= 200][0]


def test_regret_against_alpha_has_a_line_for_each_family(played: pb.Result) -> None:
    ax = plots.against(played, "alpha")
    _, labels = ax.get_legend_handles_labels()
    assert labels == ["GENTRY", "UE"]
    assert ax.get_xscale() == "log"
    assert ax.get_ylabel() == "mean projection regret at step 50"


def test_text_is_legible_at_one_column_width(played: pb.Result, tmp_path: Path) -> None:
    ax = plots.regret(played)
    figure = plt.gcf()
    assert figure.get_size_inches()[0] == plots.COLUMN_WIDTH
    legend = ax.get_legend()
    assert legend is not None
    texts = [ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels(), *legend.get_texts()]
    assert min(float(text.get_fontsize()) for text in texts) >= 6.5
    figure.savefig(tmp_path / "one.png")
    assert (tmp_path / "one.png").stat().st_size > 10_000


def test_a_pair_of_panels_for_finite_arms_and_one_for_others(played: pb.Result) -> None:
    assert len(plots.figure_pair(played, title="both").axes) == 2
    infinite = run(pb.problems.entropy_ball(d=2, u=1), pb.GENTRY(), horizon=5)
    assert len(plots.figure_pair(infinite).axes) == 1
