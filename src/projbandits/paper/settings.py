"""Where strategies are compared: with the alphas that were given, and with each one's best."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

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
    """The experiments on one problem, and who is compared with whom in them.

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
    decided : tuple of Experiment
        Both ends of each range of alphas beside the best between them, on the seeds of `given`; and
        more trials of those that the first do not tell apart. Empty where no claim is about them.
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
    decided: tuple[Experiment, ...] = ()
    alphas: str = PAPERS_ALPHAS
    own: Strategy = GENTRY_1
    benchmarks: tuple[Strategy, ...] = FINITE_BENCHMARKS

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """What is needed to compare in both readings."""
        return self.given, self.sweep, self.close, self.tuned


Size = tuple[float, float]
"""The trials of an experiment and its cost."""


def _setting(
    key: str,
    given: Experiment,
    sweep: Size,
    close: Size,
    tuned: float,
    *,
    decided: tuple[Size, Size] | None = None,
    **more: Any,
) -> Setting:
    """Return a setting whose alphas are chosen on a seed of its own, by experiments of these sizes.

    The sweep tries every alpha for each family. The alphas that it chooses have as many trials as
    the given ones, at an additional cost of `tuned`; in setting c, where the paper gives no alpha
    for UE as printed and its choices are searches, that family is in the sweep alone.
    """
    alphas: tuple[float, ...] = e.FINITE_ALPHAS
    families = e.FINITE_FAMILIES
    if given.convex:
        families, alphas = e.INFINITE_FAMILIES, e.INFINITE_ALPHAS
        more |= {"own": GENTRY_C, "benchmarks": INFINITE_BENCHMARKS}
    every = Experiment(
        name=f"alpha-{key}",
        problem=given.problem,
        strategies=tuple(family(alpha) for family in families for alpha in alphas),
        offset=e.TUNING,
        curve=False,
        convex=given.convex,
        trials=sweep[0],
        cost=sweep[1],
    )
    some = replace(
        every,
        name=f"close-{key}",
        closes_in_on=every,
        worlds_of=every.name,
        trials=close[0],
        cost=close[1],
    )
    compared = families[:-1] if given.convex else families
    best = replace(
        given,
        name=f"tuned-{key}",
        strategies=tuple(family(alpha) for family in compared for alpha in alphas),
        tuned_on=some,
        worlds_of=given.worlds_of or given.name,
        cost=tuned,
    )
    if decided is not None:
        first, second = decided
        ends = replace(
            given,
            name=f"ends-{key}",
            strategies=every.strategies,
            ends_of=some,
            worlds_of=given.worlds_of or given.name,
            trials=first[0],
            cost=first[1],
        )
        apart = replace(
            ends,
            name=f"apart-{key}",
            ends_of=None,
            closes_in_on=ends,
            trials=second[0],
            cost=second[1],
        )
        more["decided"] = (ends, apart)
    return Setting(**{"name": key} | more, given=given, sweep=every, close=some, tuned=best)


A = _setting(
    *("a", e.SETTING_A, (0.02, 1), (0.2, 2), 1),
    decided=((0.05, 1), (2, 2)),
    where="in setting a",
)
B = _setting("b", e.SETTING_B, (0.02, 1), (0.2, 2), 1, where="in setting b")
C = _setting(
    *("c", e.COMPARED_C, (0.01, 2), (0.04, 4), 6),
    decided=((0.02, 3), (0.15, 3)),
    where="in setting c",
)
STILL_SWEEP = Experiment(
    name="alpha-still",
    problem=e.STILL_C.problem,
    strategies=tuple(
        family(alpha) for family in e.INFINITE_FAMILIES[:3] for alpha in e.INFINITE_ALPHAS
    ),
    offset=e.TUNING,
    curve=False,
    convex=True,
    trials=0.01,
    cost=1,
)
STILL_CLOSE = replace(
    STILL_SWEEP,
    name="close-still",
    closes_in_on=STILL_SWEEP,
    worlds_of=STILL_SWEEP.name,
    trials=0.04,
    cost=1,
)
"""A sweep of the strategies that are not a search, for a figure."""
C_STILL = C._replace(
    name="c, 0 at first",
    given=e.STILL_C,
    tuned=replace(
        e.STILL_C,
        name="tuned-still",
        strategies=C.tuned.strategies,
        tuned_on=C.close,
        worlds_of=e.STILL_C.name,
    ),
    decided=(),
)
"""Setting c with 0 played at first, and with the alphas that are best in setting c."""
ON_WINES: dict[str, Any] = {"where": "on the wine data", "alphas": WINE_ALPHAS}
WINES = _setting("wine", e.WINE, (0.02, 2), (0.1, 2), 8, **ON_WINES)
READINGS_OF_WINE = tuple(
    _setting(given.name, given, (0.01, 1), (0.05, 1), 2, name=name, **ON_WINES)
    for name, given in zip(("without noise", "raw features"), e.WINE_READINGS, strict=True)
)
