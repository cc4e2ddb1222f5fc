"""How fast one core plays offers that change: `python -m benchmarks.offers`."""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import projbandits as pb
from projbandits.problems import Wander

STRATEGIES = (pb.GENTRY(), pb.UE(), pb.ProjectedUE(), pb.EIIDS())
PROBLEMS = {
    "as it is": pb.problems.offers(),
    "`drift=Wander(rate=0.01)`": pb.problems.offers(drift=Wander(rate=0.01)),
    "`context=2` (30 features)": pb.problems.offers(context=2),
}


def rate(problem: pb.problems.Problem, strategy: pb.Strategy, trials: int, horizon: int) -> float:
    """Return how many steps of a trial one core plays per second, compilation apart."""
    with ThreadPoolExecutor(1) as one:
        options: dict[str, Any] = {"engine": "compiled", "progress": False, "executor": one}
        pb.simulate(problem, strategy, trials=1, horizon=10, **options)
        begun = time.process_time()  # of this process, so that others do not count
        pb.simulate(problem, strategy, trials=trials, horizon=horizon, **options)
        return trials * horizon / (time.process_time() - begun)


def main() -> None:
    """Print the rates as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=16)
    parser.add_argument("--horizon", type=int, default=10_000)
    options = parser.parse_args()
    print(f"| `offers` | {' | '.join(f'`{strategy!r}`' for strategy in STRATEGIES)} |")
    print("|---|" + "---:|" * len(STRATEGIES))
    for name, problem in PROBLEMS.items():
        rates = [rate(problem, s, options.trials, options.horizon) for s in STRATEGIES]
        print(f"| {name} | {' | '.join(f'{each:,.0f}' for each in rates)} |", flush=True)


if __name__ == "__main__":
    main()
