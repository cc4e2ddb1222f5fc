"""Stock numba beside today's kernels: `python -m benchmarks.spikes.numba_loops_measured`.

Prints seconds to the first step, cold and from the cache, in processes of their own; steps per
second, old and new in turn; and the largest difference of the regrets. All is processor time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from typing import Any

import numpy as np

import projbandits as pb
from projbandits.simulation import compiled
from projbandits.simulation.arrays import Arrays
from projbandits.simulation.streams import stream

RULES = {"greedy": pb.GENTRY(), "optimistic": pb.UE(), "eiids": pb.EIIDS()}
PROBLEM = pb.problems.random_arms()


class Trial:
    """One world as both kernels take it."""

    def __init__(self, rule: str, horizon: int, seed: int = 0) -> None:
        self.strategy: Any = RULES[rule]
        self.rule, self.horizon, self.seed = rule, horizon, seed
        self.world = PROBLEM.world(stream(seed, 0, "world"))
        self.arrays = Arrays(self.world)
        self.steps = np.unique(np.linspace(1, horizon, 20).astype(np.int64))
        self.stop = np.zeros(1, np.uint8)
        self.kernel = compiled.rule_of(self.strategy, self.world, horizon)

    def streams(self) -> Any:
        """Return the generators of the noise and of the strategy."""
        return tuple(stream(self.seed, 0, purpose) for purpose in ("noise", "strategy"))

    def old(self) -> Any:
        """Return what today's loop is called with, and where it counts."""
        from projbandits.simulation.kernels.tally import begin_tally

        loop = compiled.loop_of(self.kernel.kernel, "finite")
        begin = compiled._without_effects(self.arrays, self.strategy, self.kernel)
        tally = begin_tally(self.steps, self.arrays.arms.size)
        rest = tally, np.zeros(2, np.int64), self.arrays.truth
        return loop, (*begin, *rest, *self.streams(), self.horizon, self.stop), tally

    def new(self) -> Any:
        """Return what the prototype is called with, and where it counts."""
        new = import_module("benchmarks.spikes.numba_loops")
        learn, aim = compiled._features(self.arrays, self.strategy)
        B = self.world.seen.basis if self.kernel.inside else None
        own = self.kernel.parameters, self.arrays.basis(self.kernel.basis)
        state = new.state_of(learn[0], aim[0], self.strategy.ridge, *own, B)
        truth = self.arrays.truth
        costs = np.array([truth.gaps, truth.return_gaps, truth.is_best], dtype=np.float64)
        world = new.World(truth.means, costs, truth.noise, truth.scale)
        tally = new.tally_of(self.steps, len(learn[0]))
        loop = getattr(new, f"{self.rule}_steps")
        return loop, (state, world, tally, *self.streams(), self.horizon, self.stop), tally


def first(kind: str) -> dict[str, float]:
    """Return the seconds of processor time to the first step of each rule, and of all."""
    trials = {rule: Trial(rule, 1) for rule in RULES}
    import numba  # noqa: F401

    out, begun = {}, time.process_time()
    for rule, trial in trials.items():
        start = time.process_time()
        loop, arguments, _ = getattr(trial, kind)()
        loop(*arguments)
        out[rule] = time.process_time() - start
    out["all"] = time.process_time() - begun
    return out


def starts(kind: str, parts: str, rounds: int) -> None:
    """Print the least seconds to the first step over some rounds, cold and warm."""
    seconds: dict[str, list[dict[str, float]]] = {"cold": [], "warm": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "SPIKE_PARTS": parts}
            for temperature in seconds:
                command = [sys.executable, "-m", __spec__.name, "first", kind]
                run = subprocess.run(command, env=environment, check=True, capture_output=True)
                seconds[temperature].append(json.loads(run.stdout))
    for temperature, found in seconds.items():
        best = {name: min(one[name] for one in found) for name in found[0]}
        print(f"{kind:5}{parts:6}{temperature:5}", *(f"{k} {v:6.2f}" for k, v in best.items()))


def rates(horizon: int = 20_000, rounds: int = 12) -> None:
    """Print steps per second of processor time, best of some rounds, old and new in turn."""
    for rule in RULES:
        trial = Trial(rule, horizon)
        best = {"old": np.inf, "new": np.inf}
        found = {}
        for n in range(rounds + 1):
            for kind in best:
                loop, arguments, tally = getattr(trial, kind)()
                start = time.thread_time()
                loop(*arguments)
                if n > 0:
                    best[kind] = min(best[kind], time.thread_time() - start)
                found[kind] = tally
        off = np.abs(found["old"].out - found["new"].out).max()
        same = (found["old"].pulls == found["new"].pulls).all()
        text = "  ".join(f"{kind} {horizon / s:12,.0f}" for kind, s in best.items())
        ratio = best["old"] / best["new"]
        print(f"{rule:11}{text}  new/old {ratio:.3f}  same pulls {same}, regrets off by {off:.1e}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["first"]:
        print(json.dumps(first(sys.argv[2])))
    elif sys.argv[1:2] == ["rates"]:
        rates()
    else:
        for parts in sys.argv[1:] or ["plain", "force", "bare", "jitable", "ir"]:
            starts("new", parts, 2)
        starts("old", "-", 2)
        rates()
