"""How each figure of the report is drawn from results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from projbandits import plots, statistics, theory
from projbandits._format import name_of
from projbandits.paper import experiments as e
from projbandits.paper.conditions import final, label_of, less, thresholds, worlds
from projbandits.paper.experiments import Experiment, family_of
from projbandits.paper.settings import (
    PRINTED,
    STILL_CLOSE,
    STILL_SWEEP,
    TUNED,
    A,
    C,
    Setting,
)
from projbandits.paper.verdicts import Results, judged
from projbandits.results import Result
from projbandits.statistics import Estimate
from projbandits.strategies import Strategy

Drawing = Callable[[Results, str], Any]


def pair(experiment: Experiment) -> Drawing:
    """Draw regret and, on finitely many arms, the share that found the best arm."""
    return lambda results, title: plots.figure_pair(results[experiment.name], title=title)


def alphas(setting: Setting) -> Drawing:
    """Draw the sweep, each alpha by the most trials that it has, and what was chosen over time."""
    tuned = setting.tuned.name
    swept = [x.name for x in (setting.sweep, setting.close, *setting.decided)]
    return lambda results, title: plots.panels(
        [
            lambda ax: plots.against(
                sorted((results[name] for name in swept), key=lambda result: result.trials),
                "alpha",
                ax,
            ),
            lambda ax: plots.regret(results[tuned], ax),
        ],
        title=title,
        shared_legend=False,
    )


def compared(groups: dict[str, Setting]) -> Drawing:
    """Draw the regret of every strategy at the last step, in both readings, and the verdicts."""

    def row(results: Results, setting: Setting, strategy: Strategy) -> list[Estimate]:
        return [
            statistics.mean(final(results[x.name], label_of(x, results[x.name], strategy)))
            for x in (setting.given, setting.tuned)
        ]

    def played(setting: Setting) -> tuple[Strategy, ...]:
        printed = (PRINTED,) if PRINTED in setting.given.strategies else ()
        return setting.own, *setting.benchmarks, *printed

    def draw(results: Results, title: str) -> Any:
        rows, notes = {}, {}
        for group, setting in groups.items():
            if setting.tuned.name not in results:
                continue
            named = f"{group} ({results[setting.given.name].trials:,} trials)"
            rows[named] = {family_of(s): row(results, setting, s) for s in played(setting)}
            verdict = judged(less(setting), setting.experiments, results)
            notes[named] = verdict.outcome.value
        return plots.comparison(rows, ["with the alphas given", TUNED], title=title, notes=notes)

    return draw


def tie(results: Results, title: str) -> Any:
    """Draw the sweeps of setting c with either choice of what is played at first."""

    def sweep(ax: Any, *families: str) -> None:
        usual, still = (C.sweep, C.close), (STILL_SWEEP, STILL_CLOSE)
        for sweeps, suffix in ((usual, ""), (still, ", 0 at first")):
            shown = [_families(results[x.name], *families) for x in sweeps]
            plots.against(shown, "alpha", ax, suffix=suffix)

    return plots.panels(
        [lambda ax: sweep(ax, "GENTRY"), lambda ax: sweep(ax, "CURSE", "REGRET")],
        title=title,
        shared_legend=False,
    )


def _families(result: Result, *families: str) -> Result:
    return result.only(*(s for s in result.strategies if s.split("(")[0] in families))


def long(results: Results, title: str) -> Any:
    """Draw means and medians over the long run, and the thresholds of Theorem 1."""
    greedy = results[e.LONG.name]
    both = [greedy, results[e.LONG_UE.name]]
    alphas = [float(fields["alpha"]) for fields in greedy.parameters]
    needed = thresholds(e.LONG, greedy)
    return plots.panels(
        [
            lambda ax: plots.regret(both, ax, log=True),
            lambda ax: plots.regret(both, ax, log=True, quantile=0.5),
            lambda ax: plots.thresholds(needed, alphas, ax),
        ],
        title=title,
    )


def limits(results: Results, title: str) -> Any:
    """Draw regret beside c log n and gap n."""
    result = results[e.LIMITS.name]
    met = worlds(e.LIMITS, result)
    c = np.array([theory.asymptotic_constant(world).value for world in met])
    gaps = np.array([theory.constants(world).gap for world in met])
    lines = {
        **dict(zip(map(name_of, result.strategies), result.regret, strict=True)),
        "c log n": c[:, None] * np.log(result.steps),
        "gap n": gaps[:, None] * result.steps,
    }
    shown = result.steps >= min(10, result.horizon)
    lines = {label: values[:, shown] for label, values in lines.items()}
    return plots.panels([lambda ax: plots.spread(result.steps[shown], lines, ax)], title=title)


def basis(results: Results, title: str) -> Any:
    """Draw what the choice of D_k does to GENTRY."""
    *sweep, given = (_families(results[x.name], "GENTRY") for x in (A.sweep, A.close, A.given))
    return plots.panels(
        [lambda ax: plots.against(sweep, "alpha", ax), lambda ax: plots.survival(given, ax)],
        title=title,
    )


def order(results: Results, title: str) -> Any:
    """Draw GENTRY in setting c where it hardly explores, and where exploration dominates."""
    few = results[e.SETTING_C.name].only(repr(e.INFINITE[0]))
    return plots.panels(
        [
            lambda ax: plots.regret(few, ax, log=True, exponents=True),
            lambda ax: plots.regret(results[e.ORDER.name], ax, log=True, exponents=True),
        ],
        title=title,
        shared_legend=False,
    )


def smooth(results: Results, title: str) -> Any:
    """Draw growth on smooth sets, with its exponents."""
    ball, ellipsoid = (results[experiment.name] for experiment in e.SMOOTH)
    return plots.panels(
        [
            lambda ax: plots.regret(ball, ax, log=True, exponents=True),
            lambda ax: plots.regret(ellipsoid, ax, log=True, exponents=True),
        ],
        title=title,
        shared_legend=False,
    )


def returns(results: Results, title: str) -> Any:
    """Draw the same trials by projection regret and by return regret."""
    result = results[e.SETTING_A.name]
    return plots.panels(
        [
            lambda ax: plots.regret(result, ax),
            lambda ax: plots.regret(result, ax, metric="return_regret"),
        ],
        title=title,
    )
