"""Where `make reproduce` spends its time: processor seconds by experiment and by strategy.

    python -m benchmarks.reproducing --share 0.1

Each experiment is played at a share of its trials, on one thread and strategy by strategy, and its
seconds are scaled to all of them; sweeps, which decide what is played next, are played whole.
Trials that another experiment has played before count nothing. Kernels are compiled before the
clock starts; drawing, writing and the report are not counted. Processor seconds depend on what else
the machine does: compare those of one run.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

import projbandits as pb
from projbandits.paper.experiments import HORIZON, TRIALS, Experiment, family_of
from projbandits.paper.figures import FIGURES

Seconds = dict[str, float]


def timed(
    experiment: Experiment,
    strategies: tuple[pb.Strategy, ...],
    share: float,
    before: Counter[tuple[str, str]],
) -> tuple[Seconds, pb.Result]:
    """Return the seconds of each family at full size, and the result of what was played.

    `before` counts the trials of each strategy in some worlds that were played before.
    """
    trials, horizon = experiment.trials_of(TRIALS), experiment.horizon_of(HORIZON)
    whole = trials * experiment.seeds
    played = max(2, round(share * whole)) if experiment.curve else whole
    problem, steps = experiment.problem(), experiment.checkpoints(horizon)
    seconds: Seconds = defaultdict(float)
    results = []
    with ThreadPoolExecutor(1) as thread:
        for strategy in strategies:
            first = experiment.seeds_of(0)[0]
            size: dict[str, Any] = {"executor": thread, "progress": False, "seed": first}
            pb.simulate(problem, strategy, trials=1, horizon=2, **size)
            start = time.process_time()
            result = pb.simulate(
                problem, strategy, trials=played, horizon=horizon, checkpoints=steps, **size
            )
            spent = time.process_time() - start
            known = experiment.worlds_of or experiment.name, repr(strategy)
            seconds[_family(strategy)] += spent / played * max(whole - before[known], 0)
            before[known] = max(whole, before[known])
            results.append(result)
    return seconds, _together(results)


def _together(results: list[pb.Result]) -> pb.Result:
    """Return results of one strategy each as one."""
    return replace(
        results[0],
        strategies=tuple(label for result in results for label in result.strategies),
        parameters=tuple(fields for result in results for fields in result.parameters),
        engines=tuple(engine for result in results for engine in result.engines),
        regret=np.concatenate([result.regret for result in results]),
        return_regret=np.concatenate([result.return_regret for result in results]),
        best_share=None,
        found_best=None,
        pulls=None,
        identities=(),
    )


def _family(strategy: pb.Strategy) -> str:
    return family_of(strategy) if hasattr(strategy, "alpha") else type(strategy).__name__


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.1, help="share of the trials to play")
    share = parser.parse_args().share
    experiments = {x.name: x for figure in FIGURES.values() for x in figure.experiments}
    results: dict[str, pb.Result] = {}
    before: Counter[tuple[str, str]] = Counter()
    whole: Seconds = defaultdict(float)
    for name, experiment in experiments.items():
        strategies = experiment.chosen(results)
        seconds, results[name] = timed(experiment, strategies, share, before)
        parts = ", ".join(f"{family} {spent:.1f}" for family, spent in seconds.items())
        print(f"{name:26}{sum(seconds.values()):7.1f} s: {parts}", flush=True)
        for family, spent in seconds.items():
            whole[family] += spent
    print(f"{'all':26}{sum(whole.values()):7.1f} s")
    for family, spent in sorted(whole.items(), key=lambda item: -item[1]):
        print(f"  {family:24}{spent:7.1f} s")


if __name__ == "__main__":
    main()
