"""The paper's figures as data."""

import projbandits as pb
from projbandits.paper import FIGURES
from projbandits.paper import experiments as e


def test_the_papers_figures_have_the_papers_worlds_and_alphas() -> None:
    papers = [name for name, figure in FIGURES.items() if figure.source]
    assert papers == [
        "fig-alpha-a",
        "fig-alpha-c",
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
