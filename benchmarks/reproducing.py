"""Where `make reproduce` spends its time: processor seconds by experiment and by strategy.

    python -m benchmarks.reproducing --share 0.1

Each experiment is played at a share of its trials, on one thread and strategy by strategy, and its
seconds are scaled to all of them. Kernels are compiled before the clock starts; drawing, writing
and the report are not counted. Processor seconds depend on what else the machine does: compare
those of one run.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import projbandits as pb
from projbandits.paper.experiments import HORIZON, TRIALS, Experiment, family_of
from projbandits.paper.figures import FIGURES

Seconds = dict[str, float]


def timed(
    experiment: Experiment, strategies: tuple[pb.Strategy, ...], share: float
) -> tuple[Seconds, dict[str, float]]:
    """Return the seconds of each family at full size, and the mean regret of each strategy."""
    trials, horizon = experiment.trials_of(TRIALS), experiment.horizon_of(HORIZON)
    played = max(2, round(share * trials * experiment.seeds))
    problem, steps = experiment.problem(), experiment.checkpoints(horizon)
    seconds: Seconds = defaultdict(float)
    regrets = {}
    with ThreadPoolExecutor(1) as thread:
        for strategy in strategies:
            size: dict[str, Any] = {"executor": thread, "progress": False}
            pb.simulate(problem, strategy, trials=1, horizon=2, **size)
            start = time.process_time()
            result = pb.simulate(
                problem, strategy, trials=played, horizon=horizon, checkpoints=steps, **size
            )
            spent = time.process_time() - start
            seconds[_family(strategy)] += spent * trials * experiment.seeds / played
            regrets[repr(strategy)] = float(result.regret[0, :, -1].mean())
    return seconds, regrets


def _family(strategy: pb.Strategy) -> str:
    return family_of(strategy) if hasattr(strategy, "alpha") else type(strategy).__name__


def best(experiment: Experiment, regrets: dict[str, float]) -> tuple[pb.Strategy, ...]:
    """Return the strategy of each family that had the least regret in a sweep."""
    chosen: dict[str, pb.Strategy] = {}
    for strategy in experiment.strategies:
        family = _family(strategy)
        if regrets[repr(strategy)] < regrets[repr(chosen.get(family, strategy))] + 1e-9:
            chosen[family] = strategy
    return tuple(chosen.values())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=0.1, help="share of the trials to play")
    share = parser.parse_args().share
    experiments = {x.name: x for figure in FIGURES.values() for x in figure.experiments}
    swept: dict[str, dict[str, float]] = {}
    whole: Seconds = defaultdict(float)
    for name, experiment in experiments.items():
        strategies = experiment.strategies
        if experiment.tuned_on is not None:
            strategies = best(experiment, swept[experiment.tuned_on.name])
        seconds, swept[name] = timed(experiment, strategies, share)
        parts = ", ".join(f"{family} {spent:.1f}" for family, spent in seconds.items())
        print(f"{name:26}{sum(seconds.values()):7.1f} s: {parts}", flush=True)
        for family, spent in seconds.items():
            whole[family] += spent
    print(f"{'all':26}{sum(whole.values()):7.1f} s")
    for family, spent in sorted(whole.items(), key=lambda item: -item[1]):
        print(f"  {family:24}{spent:7.1f} s")


if __name__ == "__main__":
    main()
