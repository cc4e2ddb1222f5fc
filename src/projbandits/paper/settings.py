"""Where strategies are compared: with the alphas that were given, and with each one's best."""

from __future__ import annotations

from typing import NamedTuple

from projbandits.paper import experiments as e
from projbandits.paper.experiments import Experiment
from projbandits.strategies import Strategy

GENTRY_1, GENTRY_FIRST, CURSE_1, REGRET_1, UE_01, PRINTED = e.FINITE
GENTRY_C, CURSE_C, REGRET_C, UE_C = e.INFINITE
FINITE_BENCHMARKS = (CURSE_1, REGRET_1, UE_01)
INFINITE_BENCHMARKS = (CURSE_C, REGRET_C, UE_C)

PAPERS_ALPHAS, WINE_ALPHAS = "paper's alphas", "alphas of a and b"
"""The paper tunes alpha for each strategy, and prints no alpha for the wines."""
TUNED = "each at its best alpha"
"""The reading in which each strategy has the alpha that was best on another seed."""


class Setting(NamedTuple):
    """Four experiments on one problem, and who is compared with whom in them.

    Parameters
    ----------
    name, where : str
        A short name, and the same in a sentence.
    given : Experiment
        The strategies with given alphas.
    sweep, close : Experiment
        Every alpha, on a seed of its own; more trials of those that may be best.
    tuned : Experiment
        The best of each family, on the seeds of `given`.
    alphas : str
        Which alphas were given.
    own, benchmarks : Strategy and tuple of Strategy
        GENTRY, and what it is compared with.
    """

    name: str
    where: str
    given: Experiment
    sweep: Experiment
    close: Experiment
    tuned: Experiment
    alphas: str = PAPERS_ALPHAS
    own: Strategy = GENTRY_1
    benchmarks: tuple[Strategy, ...] = FINITE_BENCHMARKS

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """What is needed to compare in both readings."""
        return self.given, self.sweep, self.close, self.tuned


A = Setting("a", "in setting a", e.SETTING_A, e.ALPHA_A, e.CLOSE_A, e.TUNED_A)
B = Setting("b", "in setting b", e.SETTING_B, e.ALPHA_B, e.CLOSE_B, e.TUNED_B)
C = Setting(
    *("c", "in setting c", e.SETTING_C, e.ALPHA_C, e.CLOSE_C, e.TUNED_C),
    own=GENTRY_C,
    benchmarks=INFINITE_BENCHMARKS,
)
C_STILL = Setting(
    *("c, 0 at first", "in setting c", e.STILL_C, e.ALPHA_STILL, e.CLOSE_STILL, e.TUNED_STILL),
    own=GENTRY_C,
    benchmarks=INFINITE_BENCHMARKS,
)
WINES = Setting(
    *("wine", "on the wine data", e.WINE, e.ALPHA_WINE, e.CLOSE_WINE, e.TUNED_WINE),
    alphas=WINE_ALPHAS,
)
READINGS_OF_WINE = tuple(
    Setting(name, "on the wine data", given, sweep, close, tuned, WINE_ALPHAS)
    for name, given, sweep, close, tuned in zip(
        ("without noise", "raw features"),
        e.WINE_READINGS,
        e.ALPHA_WINE_READINGS,
        e.CLOSE_WINE_READINGS,
        e.TUNED_WINE_READINGS,
        strict=True,
    )
)
