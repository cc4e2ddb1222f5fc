"""The checks that claims are made of: from results to numbers with intervals, and demands."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from projbandits import schedules, statistics, theory
from projbandits._format import interval, name_of, number, percent
from projbandits._validation import Array
from projbandits.arms import FiniteArms
from projbandits.paper.experiments import Experiment, family_of
from projbandits.paper.settings import PRINTED, TUNED, Setting
from projbandits.paper.verdicts import Check, Condition, Readings, Results
from projbandits.problems import World
from projbandits.results import Result
from projbandits.simulation.streams import stream
from projbandits.strategies import Strategy

STEADY = 0.9
"""Growth is linear if regret per step keeps at least this share of its value, else sublinear."""

MARGIN = 0.1
"""A margin in the share of trials counts as wide from here on."""


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


def same_order(usual: Setting, *others: Setting) -> Readings:
    """Return both readings of "the order of the strategies is the same there as it usually is".

    The usual order is that of the means. Each strategy must have less regret than the next one in
    this order, as usual and in every other setting; if two cannot be told apart, it is undecided.
    """

    def check(tuned: bool) -> Check:
        def conditions(results: Results) -> list[Condition]:
            experiments = [(s.name, s.tuned if tuned else s.given) for s in (usual, *others)]
            regrets = [(name, _of_families(x, results[x.name])) for name, x in experiments]
            compared = [family_of(s) for s in (usual.own, *usual.benchmarks, PRINTED)]
            compared = [f for f in compared if all(f in known for _, known in regrets)]
            first = regrets[0][1]
            order = sorted(compared, key=lambda family: float(first[family].mean()))
            found = []
            for name, known in regrets:
                means = ", ".join(f"{f} {number(float(known[f].mean()))}" for f in order)
                brief = f"{name}: {means}"
                for less, more in itertools.pairwise(order):
                    what = f"{name}: regret of {more} minus that of {less}"
                    difference = statistics.mean(known[more] - known[less])
                    found.append(Condition(what, difference, least=0.0, brief=brief))
            return found

        return conditions

    return (usual.alphas, check(tuned=False)), (TUNED, check(tuned=True))


def _of_families(experiment: Experiment, result: Result) -> dict[str, Array]:
    """Return the regret of each trial at the last step, by family."""
    families = {repr(s): family_of(s) for s in experiment.strategies}
    return {families[label]: final(result, label) for label in result.strategies}


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


def moderate_alpha(setting: Setting) -> Check:
    """Return the check that for each family an alpha within the range beats both its ends.

    The alpha was chosen in the sweep, on another seed, so luck in the choice does not count. A
    difference that is sure in the first trials rests on those, any other on all that there are.
    """

    def conditions(results: Results) -> list[Condition]:
        first, more = (results[x.name] for x in setting.decided)
        found = []
        for family, rows in first.against("alpha").groupby("family", sort=False):
            low, best, high = (row for _, row in rows.sort_values("alpha").iterrows())
            for end in (low, high):
                both = end["strategy"], best["strategy"]
                table = more if set(both) <= set(more.strategies) else first
                worse = statistics.mean(final(table, both[0]) - final(table, both[1]))
                what = f"{family}: regret at alpha {end['alpha']:g} minus that at {best['alpha']:g}"
                what = f"{what} ({table.trials:,} trials)"
                brief = f"{family} at {best['alpha']:g}"
                found.append(Condition(what, worse, least=0.0, brief=brief))
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
        [condition] = grows(experiment, strategy, most=order)(results)
        explored = explorations(experiment, strategy, int(steps[-1]))
        brief = f"{condition.brief}, after {number(explored)} explorations in {steps[-1]:,} steps"
        return [condition._replace(brief=brief)]

    return conditions


SLACK = 0.02
"""By how much an exponent that was fitted may fall short of the order's."""


def of_order(experiment: Experiment, strategy: Strategy) -> Check:
    """Return the check that regret grows no faster than the order of Theorem 2, nor much slower."""

    def conditions(results: Results) -> list[Condition]:
        [upper] = no_faster(experiment, strategy)(results)
        return [upper, *grows(experiment, strategy, least=2 / 3 - SLACK)(results)]

    return conditions


def explorations(experiment: Experiment, strategy: Strategy, horizon: int) -> float:
    """Return the expected number of steps at which a strategy explores in an experiment."""
    arms = experiment.problem().world(np.random.default_rng(0)).arms
    rule: Any = strategy
    finite = isinstance(arms, FiniteArms)
    epsilon = schedules.resolve(rule.schedule, alpha=rule.alpha, k=arms.rank, finite=finite)
    return sum(epsilon(t) for t in range(1, horizon + 1))


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
