"""The figures: which experiments each needs, what it shows, and in which words."""

from __future__ import annotations

from dataclasses import dataclass

from projbandits.paper import experiments as e
from projbandits.paper import panels
from projbandits.paper.experiments import Experiment
from projbandits.paper.panels import Drawing
from projbandits.paper.settings import (
    C_STILL,
    READINGS_OF_WINE,
    STILL_CLOSE,
    STILL_SWEEP,
    WINES,
    A,
    B,
    C,
)


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


SHOWN_SETTINGS = {
    "Setting a: 45 arms, U at random": A,
    "Setting b: 45 arms, U along the axes": B,
    "Setting c: the entropy ball": C,
    "White wines": WINES,
}

FIGURES = {
    "fig-verdicts": Figure(
        title="Who has less regret, with the alphas given and with each at its best",
        caption="Mean projection regret at the last step. The alphas given are the paper's; it "
        "prints none for the wines, where those of settings a and b are used. The best alpha of "
        "each strategy was chosen on another seed. The word at the right says whether GENTRY has "
        "less regret than CURSE, REGRET and UE; mixed: with the alphas given but not with the "
        "best, or the reverse. ProjectedUE is UE as its rule is printed; the paper gives no alpha "
        "for it in setting c.",
        experiments=tuple(x for setting in SHOWN_SETTINGS.values() for x in setting.experiments),
        draw=panels.compared(SHOWN_SETTINGS),
    ),
    "fig-alpha-a": Figure(
        title="Setting a: regret against alpha, and each strategy at its best",
        caption="Left: mean projection regret at the last step for each strategy and alpha, in the "
        "same worlds. GENTRY is shown with D_k by pivoted QR and with the first k arms; UE aims at "
        "the return, ProjectedUE is the rule as printed. Alphas that the first trials "
        "show not to be the best have no more than these, and wider bars; the ends of the range "
        "and the best between them have what the claim needs, in the worlds of another seed. "
        "Right: the best of each, in these other worlds too.",
        source="Fig. 1a",
        experiments=(A.sweep, A.close, *A.decided, A.tuned),
        draw=panels.alphas(A),
    ),
    "fig-alpha-c": Figure(
        title="Setting c: regret against alpha, and each strategy at its best",
        caption="The same on the entropy ball, over fewer trials: a choice of UE on a convex set "
        "is a search, and costs as much as tens of choices among finitely many arms. ProjectedUE, "
        "for which the paper gives no alpha here, is shown on the left only.",
        source="Fig. 1b",
        experiments=(*C.experiments, *C.decided),
        draw=panels.alphas(C),
    ),
    "fig-a": Figure(
        title="Setting a: 45 random arms in 10 dimensions, U of dimension 5",
        caption="Left: mean projection regret. Right: the share of trials in which a best arm was "
        "played in more than 90 % of the last 200 steps.",
        source="Fig. 2",
        experiments=(e.SETTING_A,),
        draw=panels.pair(e.SETTING_A),
    ),
    "fig-b": Figure(
        title="Setting b: as a, with U the first 5 coordinates",
        caption="As in setting a, but the protected features are the last five coordinates.",
        source="Fig. 3",
        experiments=(e.SETTING_B,),
        draw=panels.pair(e.SETTING_B),
    ),
    "fig-c": Figure(
        title="Setting c: the entropy ball in 4 dimensions, U of dimension 2",
        caption="Mean projection regret on {x >= 0 : sum x log x <= 5}, with the alphas of the "
        "paper.",
        source="Fig. 4",
        experiments=(e.SETTING_C,),
        draw=panels.pair(e.SETTING_C),
    ),
    "fig-wine": Figure(
        title="White wines: 200 per trial, one protected feature",
        caption="Mean projection regret, and the share of trials that found a wine of the highest "
        "rating. Ratings are not linear in the features, so every linear strategy keeps a linear "
        "part. Features are standardised and noise of 0.5 is added; the claims include the other "
        "readings.",
        source="Fig. 5",
        experiments=(e.WINE,),
        draw=panels.pair(e.WINE),
    ),
    "fig-alpha-b": Figure(
        title="Setting b: regret against alpha, and each strategy at its best",
        caption="As in setting a, without further trials of the ends; the paper uses the alphas "
        "of setting a here.",
        experiments=(B.sweep, B.close, B.tuned),
        draw=panels.alphas(B),
    ),
    "fig-alpha-wine": Figure(
        title="White wines: regret against alpha, and each strategy at its best",
        caption="As in setting a, without further trials of the ends; the paper prints no alphas "
        "for the wines.",
        experiments=(WINES.sweep, WINES.close, WINES.tuned),
        draw=panels.alphas(WINES),
    ),
    "fig-wine-readings": Figure(
        title="White wines: the other readings",
        caption="Mean projection regret at the last step without noise, and with features in their "
        "own units. The word at the right says whether GENTRY has less regret than CURSE, REGRET "
        "and UE.",
        experiments=tuple(x for setting in READINGS_OF_WINE for x in setting.experiments),
        draw=panels.compared(
            {
                "Standardised features, no noise": READINGS_OF_WINE[0],
                "Raw features, noise of 0.5": READINGS_OF_WINE[1],
            }
        ),
    ),
    "fig-tie": Figure(
        title="Setting c: what is played while the estimate is 0",
        caption="At first theta-hat is 0 and every arm is a maximiser. By default the first arm of "
        "D_k is played then. If 0 is played, which teaches nothing, GENTRY idles until it "
        "explores, for long if alpha is small.",
        experiments=(*C.experiments, STILL_SWEEP, STILL_CLOSE, C_STILL.given, C_STILL.tuned),
        draw=panels.tie,
    ),
    "fig-long": Figure(
        title="Setting a, a hundred thousand times longer",
        caption="Left: mean projection regret, with both axes logarithmic. With GENTRY a share of "
        "trials settles on a wrong arm and explores too rarely to leave it: the mean goes on "
        "growing, and so does that of ProjectedUE. UE aims at the return and pays for it in most "
        "worlds. Middle: the median trial of the others has long found the best arm. Right: the "
        "share of these worlds whose threshold in Theorem 1 lies below an alpha of GENTRY.",
        experiments=(e.LONG, e.LONG_UE),
        draw=panels.long,
    ),
    "fig-limits": Figure(
        title="Setting a: how far the best possible is",
        caption="Medians over worlds, with the middle half of the worlds. No strategy that is "
        "consistent in all worlds has less regret than c log n in the long run, where c depends on "
        "the world; settling on the second best arm at once costs gap n. Until these two cross, "
        "log n is not what matters. See docs/limits.md.",
        experiments=(e.LIMITS,),
        draw=panels.limits,
    ),
    "fig-basis": Figure(
        title="The choice of D_k, setting a",
        caption="Left: GENTRY's mean regret against alpha for two choices of the k independent "
        "arms. Right: at alpha 1, the share of trials with more regret than a value. Means are "
        "driven by a tail, and the tail is what the choice of D_k shortens.",
        experiments=(A.sweep, A.close, A.given),
        draw=panels.basis,
    ),
    "fig-order": Figure(
        title="Setting c: where GENTRY hardly explores, and where exploration dominates",
        caption="Mean regret with both axes logarithmic, and the exponent of growth over the last "
        "decade. Left: the paper's alpha of 0.01, with 28 explorations in 10,000 steps. Right: an "
        "alpha of 1, with 13,000 in 100,000. The order of Theorem 2, n^(2/3) sqrt(log n), has an "
        "exponent of 0.73 over the decade on the left and of 0.71 over that on the right.",
        experiments=(e.SETTING_C, e.ORDER),
        draw=panels.order,
    ),
    "fig-smooth": Figure(
        title="Smooth sets: the schedule epsilon^s, and epsilon^i beside it",
        caption="Mean regret on the unit ball (left) and on an ellipsoid with half-axes 1 to 2 "
        "(right), both axes logarithmic, with the exponent of growth over the last decade.",
        experiments=e.SMOOTH,
        draw=panels.smooth,
    ),
    "fig-return": Figure(
        title="What chasing the return costs, and what ignoring it costs",
        caption="The same trials of setting a by projection regret (left) and by return regret "
        "(right). Chasing the return costs projection reward; aiming at the projection gives up "
        "return, which is the price of leaving the corruption out.",
        experiments=(e.SETTING_A,),
        draw=panels.returns,
    ),
}
"""Every figure by name, in the order of the report."""
