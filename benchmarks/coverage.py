"""How often the intervals of `replay` hold the truth: `python -m benchmarks.coverage [logs]`.

Each cell has the range, over the strategies judged, of shares of simulated logs; a share near 95 %
has a standard error of 2 % for 100 logs. The worlds: eight arms in three dimensions, twenty in
eight, and clicks of 0 and 1 on ten arms in four. The arms stay the same at every step, so that
strategies narrow down to few of them.
"""

import sys
import warnings
from typing import Any

import numpy as np

import projbandits as pb

WORLDS: dict[str, tuple[Any, int, list[float], int]] = {
    "three": (np.random.default_rng(7).normal(size=(8, 3)), 2, [1, 0.5, 2], 100),
    "eight": (
        np.random.default_rng(5).normal(size=(20, 8)), 4, [0.3, 0.2, 0.1, 0, 1, 1, -1, 1], 60
    ),
    "clicks": (np.random.default_rng(5).uniform(0, 0.4, (10, 4)), 2, [0.8, 0.2, 1, 0.5], 100),
}  # fmt: skip
DECIDED = (pb.EIIDS(), pb.ProjectedUE(), pb.GENTRY(), pb.REGRET())
JUDGED = (pb.CURSE(), pb.REGRET(), pb.GENTRY(), pb.EIIDS())


def log(strategy: Any, world: str, seed: int) -> Any:
    """Return the log of a strategy in a world."""
    arms, kept, theta, steps = WORLDS[world]
    rng = np.random.default_rng(seed + 1000)
    U = pb.Subspace.coordinates(range(kept), d=arms.shape[1])
    decider = pb.Decider(strategy, subspace=U, seed=seed, log=True)
    for _ in range(steps):
        decision = decider.ask(arms)
        mean = float(decision.arm @ theta)
        noisy = float(rng.random() < mean) if world == "clicks" else mean + float(rng.normal())
        decider.tell(decision.id, noisy)
    return decider.log()


def main(logs: int) -> None:
    """Print the range of the shares over the strategies judged, of the intervals there are."""
    print("| world | log of | inverse propensity | doubly robust | model |\n|---|---|---|---|---|")
    for world, (_, _, theta, _) in WORLDS.items():
        for strategy in DECIDED:
            played = [log(strategy, world, seed) for seed in range(logs)]
            shares: dict[str, list[float]] = {}
            for other in JUDGED:
                held: dict[str, list[bool]] = {}
                for one in played:
                    replay = pb.replay(one, other)
                    truth = float((replay.features @ theta).mean())
                    for name, row in replay.estimates().iterrows():
                        if np.isfinite(row["low"]):
                            inside = bool(row["low"] <= truth <= row["high"])
                            held.setdefault(str(name), []).append(inside)
                for name, found in held.items():
                    shares.setdefault(name, []).append(float(np.mean(found)))
            cells = [
                f"{min(shares[name]):.0%} to {max(shares[name]):.0%}" if name in shares else "none"
                for name in ("inverse propensity", "doubly robust", "model")
            ]
            print(f"| {world} | {strategy!r} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
