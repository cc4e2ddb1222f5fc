"""The checks that claims are made of: from results to numbers with intervals, and demands."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from projbandits import statistics, theory
from projbandits._checks import Array
from projbandits._words import interval, name_of, number, percent
from projbandits.paper.experiments import Experiment, family_of
from projbandits.paper.settings import TUNED, Setting
from projbandits.paper.verdicts import Check, Condition, Results
from projbandits.problems import World
from projbandits.results import Result
from projbandits.simulation.streams import stream
from projbandits.strategies import Strategy

STEADY = 0.9
"""Growth is linear if regret per step keeps at least this share of its value, else sublinear."""

MARGIN = 0.1
"""A margin in the share of trials counts as wide from here on."""

Readings = tuple[tuple[str, Check], ...]


def alone(check: Check) -> Readings:
    """Return the readings of a claim that can be read in one way only."""
    return (("", check),)


def less(*settings: Setting, others: Sequence[Strategy] | None = None) -> Readings:
    """Return both readings of "GENTRY has less regret": with given alphas, and with the best.

    Parameters
    ----------
    settings : Setting
        Where.
    others : sequence of Strategy, optional
        Than whom; by default than the benchmarks of the setting.
    """

    def check(tuned: bool) -> Check:
        return each(
            *(
                beats(
                    s.tuned if tuned else s.given,
                    s.own,
                    *(s.benchmarks if others is None else others),
                    where=s.name if len(settings) > 1 else "",
                )
                for s in settings
            )
        )

    return (settings[0].alphas, check(tuned=False)), (TUNED, check(tuned=True))


def beats(experiment: Experiment, winner: Strategy, *others: Strategy, where: str = "") -> Check:
    """Return the check that one strategy has less regret than each other, trial by trial.

    In a tuned experiment, a strategy stands for its family with the alpha that was chosen. A check
    that is one of several says `where` its numbers come from.
    """

    def conditions(results: Results) -> list[Condition]:
        result = results[experiment.name]
        own = label_of(experiment, result, winner)
        mine = final(result, own)
        place = f"{where}: " if where else ""
        start = f"{place}{family_of(winner)} {interval(statistics.mean(mine))} against "
        found = []
        for strategy in others:
            label = label_of(experiment, result, strategy)
            other = final(result, label)
            brief = f"{family_of(strategy)} {number(float(other.mean()))}"
            brief, start = start + brief, ""
            what = f"{place}regret of {name_of(own)} minus that of {name_of(label)}"
            found.append(Condition(what, statistics.mean(mine - other), most=0.0, brief=brief))
        return found

    return conditions


def label_of(experiment: Experiment, result: Result, strategy: Strategy) -> str:
    """Return the label under which a strategy, or the chosen one of its family, was run."""
    if experiment.tuned_on is None:
        return repr(strategy)
    families = {repr(s): family_of(s) for s in experiment.strategies}
    own = family_of(strategy)
    return next(label for label in result.strategies if families[label] == own)


def final(result: Result, label: str) -> Array:
    """Return the regret of each trial at the last step."""
    last: Array = result.regret[result.position(label), :, -1]
    return last


def moderate_alpha(sweep: Experiment, close: Experiment) -> Check:
    """Return the check that for each family an alpha within the range beats both its ends.

    The best alpha is chosen among the close ones, on every other trial, and tested on the rest, so
    that luck in the choice does not count. An end that was left out is compared in the trials that
    it has.
    """

    def conditions(results: Results) -> list[Condition]:
        tables = results[sweep.name], results[close.name]
        regrets = {label: final(table, label) for table in tables for label in table.strategies}
        found = []
        for family, rows in tables[0].against("alpha").groupby("family", sort=False):
            inner = rows.iloc[1:-1]
            open_ones = inner[inner["strategy"].isin(tables[1].strategies)]
            inner = inner if open_ones.empty else open_ones
            chosen_by = [regrets[label][::2].mean() for label in inner["strategy"]]
            best = inner.iloc[int(np.argmin(chosen_by))]
            for end in (rows.iloc[0], rows.iloc[-1]):
                both = regrets[end["strategy"]], regrets[best["strategy"]]
                shared = min(map(len, both))
                more = both[0][:shared] - both[1][:shared]
                more = more[1::2] if len(more) > 1 else more
                what = f"{family}: regret at alpha {end['alpha']:g} minus that at {best['alpha']:g}"
                brief = f"{family} at {best['alpha']:g}"
                found.append(Condition(what, statistics.mean(more), least=0.0, brief=brief))
        return found

    return conditions


def grows(
    experiment: Experiment, *strategies: Strategy, least: float = -math.inf, most: float = math.inf
) -> Check:
    """Return the check that the exponent of growth over the last decade lies in a range."""

    def conditions(results: Results) -> list[Condition]:
        result = results[experiment.name]
        found = []
        for strategy in strategies:
            what = f"{_name(strategy)}: exponent of the mean regret over the last decade"
            condition = Condition(what, result.exponent(repr(strategy)), least, most)
            brief = f"{family_of(strategy)} grows like n^{interval(condition.estimate, digits=2)}"
            found.append(condition._replace(brief=brief if condition.demand else ""))
        return found

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
        estimate = statistics.steadiness(result.steps, rows)
        brief = f"{family_of(strategy)} keeps {percent(estimate.value)} of its regret per step"
        return [Condition(what, estimate, least, most, brief)]

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
            Condition(
                f"{_name(winner)}: share of trials",
                statistics.share(own > 0),
                least=0.5,
                brief=f"{_name(winner)} in {percent(own.mean())} of trials",
            ),
            *(
                Condition(
                    f"the same minus that of {_name(other)}",
                    statistics.mean(own - found[repr(other)]),
                    least=MARGIN,
                    brief=f"{_name(other)} {percent(found[repr(other)].mean())}",
                )
                for other in others
            ),
        ]

    return conditions


def worlds(experiment: Experiment, result: Result) -> list[World]:
    """Return the worlds that the result of an experiment on one seed has met."""
    problem = experiment.problem()
    return [problem.world(stream(result.seed, i, "world")) for i in range(result.trials)]


def thresholds(experiment: Experiment, result: Result) -> Array:
    """Return Theorem 1's threshold for alpha in each world that the result has met."""
    met = worlds(experiment, result)
    return np.array([theory.constants(world).alpha_threshold for world in met])


def exceeds_threshold(experiment: Experiment, alpha: float) -> Check:
    """Return the check that alpha exceeds Theorem 1's threshold in most of the worlds."""

    def conditions(results: Results) -> list[Condition]:
        needed = thresholds(experiment, results[experiment.name])
        share = statistics.share(alpha > needed)
        brief = f"in {percent(share.value)} of {len(needed):,} worlds"
        return [Condition("share of worlds in which it does", share, least=0.5, brief=brief)]

    return conditions


def each(*checks: Check) -> Check:
    """Return the check that all of these hold."""
    return lambda results: [condition for check in checks for condition in check(results)]


def _name(strategy: Strategy) -> str:
    return name_of(repr(strategy))
