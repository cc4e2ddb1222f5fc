"""The figures: which experiments each needs, what it shows, and in which words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from projbandits import plots
from projbandits.paper import experiments as e
from projbandits.paper.experiments import Experiment
from projbandits.paper.verdicts import Results, thresholds

Drawing = Callable[[Results, str], Any]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure as data; `draw` returns a matplotlib figure.

    Parameters
    ----------
    title, caption : str
        What is shown, and how to read it.
    source : str
        The paper's number of the figure, or empty for one that the paper does not have.
    experiments : tuple of Experiment
        What it is drawn from.
    draw : callable
        Takes the results of the experiments, by name, and the title; returns the figure.
    """

    title: str
    caption: str
    source: str = ""
    experiments: tuple[Experiment, ...]
    draw: Drawing


def _pair(experiment: Experiment) -> Drawing:
    return lambda results, title: plots.figure_pair(results[experiment.name], title=title)


def _alphas(experiment: Experiment) -> Drawing:
    return lambda results, title: plots.panels(
        [lambda ax: plots.against(results[experiment.name], "alpha", ax)], title=title
    )


def _long(results: Results, title: str) -> Any:
    result = results[e.LONG.name]
    alphas = [float(fields["alpha"]) for fields in result.parameters]
    needed = thresholds(e.LONG, result)
    return plots.panels(
        [
            lambda ax: plots.regret(result, ax, log=True),
            lambda ax: plots.regret(result, ax, log=True, quantile=0.5),
            lambda ax: plots.thresholds(needed, alphas, ax),
        ],
        title=title,
    )


def _basis(results: Results, title: str) -> Any:
    sweep, curves = results[e.ALPHA_FINITE.name], results[e.SETTING_A.name]
    own = [
        result.only(*(s for s in result.strategies if s.startswith("GENTRY")))
        for result in (sweep, curves)
    ]
    return plots.panels(
        [lambda ax: plots.against(own[0], "alpha", ax), lambda ax: plots.survival(own[1], ax)],
        title=title,
    )


def _smooth(results: Results, title: str) -> Any:
    ball, ellipsoid = (results[experiment.name] for experiment in e.SMOOTH)
    return plots.panels(
        [
            lambda ax: plots.regret(ball, ax, log=True, exponents=True),
            lambda ax: plots.regret(ellipsoid, ax, log=True, exponents=True),
        ],
        title=title,
        shared_legend=False,
    )


def _returns(results: Results, title: str) -> Any:
    result = results[e.SETTING_A.name]
    return plots.panels(
        [
            lambda ax: plots.regret(result, ax),
            lambda ax: plots.regret(result, ax, metric="return_regret"),
        ],
        title=title,
    )


FIGURES = {
    "fig-alpha-finite": Figure(
        title="Setting a: regret against alpha",
        caption="Mean projection regret at the last step for each strategy and alpha, in the same "
        "worlds. GENTRY is shown with D_k by pivoted QR and with the first k arms; UE aims at the "
        "return, ProjectedUE is the rule as printed.",
        source="Fig. 1a",
        experiments=(e.ALPHA_FINITE,),
        draw=_alphas(e.ALPHA_FINITE),
    ),
    "fig-alpha-infinite": Figure(
        title="Setting c: regret against alpha",
        caption="The same on the entropy ball, over a twentieth of the trials: a choice of UE on a "
        "convex set is a search, and costs as much as tens of choices among finitely many arms.",
        source="Fig. 1b",
        experiments=(e.ALPHA_INFINITE,),
        draw=_alphas(e.ALPHA_INFINITE),
    ),
    "fig-a": Figure(
        title="Setting a: 45 random arms in 10 dimensions, U of dimension 5",
        caption="Left: mean projection regret. Right: the share of trials in which a best arm was "
        "played in more than 90 % of the last 200 steps.",
        source="Fig. 2",
        experiments=(e.SETTING_A,),
        draw=_pair(e.SETTING_A),
    ),
    "fig-b": Figure(
        title="Setting b: as a, with U the first 5 coordinates",
        caption="As in setting a, but the protected features are the last five coordinates.",
        source="Fig. 3",
        experiments=(e.SETTING_B,),
        draw=_pair(e.SETTING_B),
    ),
    "fig-c": Figure(
        title="Setting c: the entropy ball in 4 dimensions, U of dimension 2",
        caption="Mean projection regret on {x >= 0 : sum x log x <= 5}, with the alphas of the "
        "paper.",
        source="Fig. 4",
        experiments=(e.SETTING_C,),
        draw=_pair(e.SETTING_C),
    ),
    "fig-wine": Figure(
        title="White wines: 200 per trial, one protected feature",
        caption="Mean projection regret, and the share of trials that found a wine of the highest "
        "rating. Ratings are not linear in the features, so every linear strategy keeps a linear "
        "part. Features are standardised and noise of 0.5 is added; the table of claims has the "
        "other readings.",
        source="Fig. 5",
        experiments=(e.WINE, *e.WINE_READINGS),
        draw=_pair(e.WINE),
    ),
    "fig-long": Figure(
        title="GENTRY in setting a, a hundred thousand times longer",
        caption="Left: mean projection regret, with both axes logarithmic. A share of trials "
        "settles on a wrong arm, and if alpha is small they explore too rarely to leave it: "
        "the mean goes on growing. Middle: the median trial has long found the best arm. Right: "
        "the share of these worlds whose threshold in Theorem 1 lies below an alpha.",
        experiments=(e.LONG,),
        draw=_long,
    ),
    "fig-basis": Figure(
        title="The choice of D_k, setting a",
        caption="Left: GENTRY's mean regret against alpha for two choices of the k independent "
        "arms. Right: at alpha 1, the share of trials with more regret than a value. Means are "
        "driven by a tail, and the tail is what the choice of D_k shortens.",
        experiments=(e.ALPHA_FINITE, e.SETTING_A),
        draw=_basis,
    ),
    "fig-smooth": Figure(
        title="Smooth sets: the schedule epsilon^s, and epsilon^i beside it",
        caption="Mean regret on the unit ball (left) and on an ellipsoid with half-axes 1 to 2 "
        "(right), both axes logarithmic, with the exponent of growth over the last decade.",
        experiments=e.SMOOTH,
        draw=_smooth,
    ),
    "fig-return": Figure(
        title="What chasing the return costs, and what ignoring it costs",
        caption="The same trials of setting a by projection regret (left) and by return regret "
        "(right). Chasing the return costs projection reward; aiming at the projection gives up "
        "return, which is the price of leaving the corruption out.",
        experiments=(e.SETTING_A,),
        draw=_returns,
    ),
}
"""Every figure by name, in the order of the report."""
