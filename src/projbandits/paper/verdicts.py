"""What a claim is, and the checks that claims are made of: from results to numbers and verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from projbandits import statistics, theory
from projbandits._checks import Array
from projbandits.paper import experiments as e
from projbandits.paper.experiments import Experiment
from projbandits.results import Result
from projbandits.simulation.streams import stream
from projbandits.statistics import Estimate
from projbandits.strategies import Strategy

HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided at this size"
BEYOND = "not in the paper"
"""The source of a claim that is ours."""


STEADY = 0.9
"""Growth is linear if regret per step keeps at least this share of its value, else sublinear."""

MARGIN = 0.1
"""A margin in the share of trials counts as wide from here on."""

Results = Mapping[str, Result]


class Condition(NamedTuple):
    """An estimate and where it must lie; its interval decides, unless it is too wide.

    Parameters
    ----------
    what : str
        What is estimated.
    estimate : Estimate
        The number with its interval.
    least, most : float
        Where it must lie for the claim to hold.
    """

    what: str
    estimate: Estimate
    least: float = -math.inf
    most: float = math.inf

    @property
    def outcome(self) -> str:
        """Whether the interval lies inside, outside, or across an end."""
        _, low, high = self.estimate
        if not self.demand:
            return HOLDS
        if self.least <= low and high <= self.most:
            return HOLDS
        if high < self.least or low > self.most:
            return FAILS
        return UNDECIDED

    @property
    def demand(self) -> str:
        """The demand in words; a number may be shown without one."""
        if self.least == -math.inf and self.most == math.inf:
            return ""
        if self.least == -math.inf:
            return f"at most {self.most:.3g}"
        if self.most == math.inf:
            return f"at least {self.least:.3g}"
        return f"{self.least:.3g} to {self.most:.3g}"


Check = Callable[[Results], Sequence[Condition]]


@dataclass(frozen=True)
class Verdict:
    """What came of a claim, and the numbers behind it."""

    outcome: str
    conditions: tuple[Condition, ...]
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement that the results can bear out or not.

    Parameters
    ----------
    name : str
        A short name.
    text : str
        What is claimed.
    source : str
        Where the paper says it, or that it does not.
    experiments : tuple of Experiment
        What is needed to check it.
    conditions : callable
        Takes the results and returns what must be true for the claim to hold.
    remark : str
        Why it may be otherwise, where the paper leaves room.
    """

    name: str
    text: str
    source: str
    experiments: tuple[Experiment, ...]
    conditions: Check
    remark: str = ""

    def check(self, results: Results) -> Verdict:
        """Return the verdict: the claim holds if every condition does.

        The claims are about the paper's horizon; a shorter one decides nothing.
        """
        found = tuple(self.conditions(results))
        outcomes = {condition.outcome for condition in found}
        if any(results[x.name].horizon < x.horizon_of(e.HORIZON) for x in self.experiments):
            why = "The runs are shorter than those that the claim is about."
            return Verdict(UNDECIDED, found, why)
        outcome = FAILS if FAILS in outcomes else UNDECIDED if UNDECIDED in outcomes else HOLDS
        return Verdict(outcome, found)


def beats(experiment: Experiment, winner: Strategy, *others: Strategy) -> Check:
    """Return the check that one strategy has less regret than each other, trial by trial."""

    def conditions(results: Results) -> list[Condition]:
        result = results[experiment.name]
        return [
            Condition(
                f"regret of {_name(winner)} minus that of {_name(other)}",
                statistics.mean(_final(result, repr(winner)) - _final(result, repr(other))),
                most=0.0,
            )
            for other in others
        ]

    return conditions


def moderate_alpha(experiment: Experiment) -> Check:
    """Return the check that for each family an alpha within the range beats both its ends.

    The best alpha is chosen on every other trial and tested on the rest, so that luck in the
    choice does not count.
    """

    def conditions(results: Results) -> list[Condition]:
        result = results[experiment.name]
        found = []
        for family, rows in result.against("alpha").groupby("family", sort=False):
            inner = rows.iloc[1:-1]
            chosen_by = [_final(result, label)[::2].mean() for label in inner["strategy"]]
            best = inner.iloc[int(np.argmin(chosen_by))]
            for end in (rows.iloc[0], rows.iloc[-1]):
                more = _final(result, end["strategy"]) - _final(result, best["strategy"])
                more = more[1::2] if len(more) > 1 else more
                what = f"{family}: regret at alpha {end['alpha']:g} minus that at {best['alpha']:g}"
                found.append(Condition(what, statistics.mean(more), least=0.0))
        return found

    return conditions


def grows(
    experiment: Experiment, *strategies: Strategy, least: float = -math.inf, most: float = math.inf
) -> Check:
    """Return the check that the exponent of growth over the last decade lies in a range."""

    def conditions(results: Results) -> list[Condition]:
        result = results[experiment.name]
        return [
            Condition(
                f"{_name(strategy)}: exponent of the mean regret over the last decade",
                result.exponent(repr(strategy)),
                least,
                most,
            )
            for strategy in strategies
        ]

    return conditions


def no_faster(experiment: Experiment, strategy: Strategy) -> Check:
    """Return the check that regret grows no faster than the order of Theorem 2 does there."""

    def conditions(results: Results) -> list[Condition]:
        steps = results[experiment.name].steps
        order = statistics.exponent(steps, theory.theorem_2(steps, 1, 1)[None, :]).value
        return list(grows(experiment, strategy, most=order)(results))

    return conditions


def linear(experiment: Experiment, *strategies: Strategy) -> Check:
    """Return the check that regret grows as fast in the last half as before, start aside.

    The exponent, which includes the start, is shown beside it.
    """
    return each(
        *(
            check
            for strategy in strategies
            for check in (
                steady(experiment, strategy, least=STEADY),
                grows(experiment, strategy),
            )
        )
    )


def sublinear(experiment: Experiment, strategy: Strategy) -> Check:
    """Return the check that regret per step falls; the exponent is shown beside it."""
    return each(steady(experiment, strategy, most=STEADY), grows(experiment, strategy))


def steady(
    experiment: Experiment, strategy: Strategy, least: float = -math.inf, most: float = math.inf
) -> Check:
    """Return the check of how much of its earlier value regret per step keeps."""

    def conditions(results: Results) -> list[Condition]:
        result = results[experiment.name]
        rows = result.regret[result.position(repr(strategy))]
        what = f"{_name(strategy)}: regret per step, last half over the quarter before"
        return [Condition(what, statistics.steadiness(result.steps, rows), least, most)]

    return conditions


def finds_best(experiment: Experiment, winner: Strategy, *others: Strategy) -> Check:
    """Return the check that a strategy finds the best arm in most trials, far more than others."""

    def conditions(results: Results) -> list[Condition]:
        result = results[experiment.name]
        assert result.found_best is not None
        found = {
            label: row.astype(float)
            for label, row in zip(result.strategies, result.found_best, strict=True)
        }
        own = found[repr(winner)]
        return [
            Condition(f"{_name(winner)}: share of trials", statistics.share(own > 0), least=0.5),
            *(
                Condition(
                    f"the same minus that of {_name(other)}",
                    statistics.mean(own - found[repr(other)]),
                    least=MARGIN,
                )
                for other in others
            ),
        ]

    return conditions


def thresholds(experiment: Experiment, result: Result) -> Array:
    """Return Theorem 1's threshold for alpha in each world that the result has met."""
    problem = experiment.problem()
    worlds = (problem.world(stream(result.seed, i, "world")) for i in range(result.trials))
    return np.array([theory.constants(world).alpha_threshold for world in worlds])


def exceeds_threshold(experiment: Experiment, alpha: float) -> Check:
    """Return the check that alpha exceeds Theorem 1's threshold in most of the worlds."""

    def conditions(results: Results) -> list[Condition]:
        needed = thresholds(experiment, results[experiment.name])
        share = statistics.share(alpha > needed)
        return [Condition("share of worlds in which it does", share, least=0.5)]

    return conditions


def each(*checks: Check) -> Check:
    """Return the check that all of these hold."""
    return lambda results: [condition for check in checks for condition in check(results)]


def _final(result: Result, label: str) -> Array:
    final: Array = result.regret[result.position(label), :, -1]
    return final


def _name(strategy: Strategy) -> str:
    return repr(strategy).removesuffix("()")
