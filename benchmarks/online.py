"""Measure the decider: an ask and a tell, very many arms, memory, its log, threads and stores."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

import projbandits as pb
from benchmarks import stores
from projbandits._validation import Array


def ask_and_tell(steps: int = 3000) -> None:
    """Print the median time of one ask and one tell among 100 arms of 20 features."""
    rng = np.random.default_rng(0)
    U = pb.Subspace.coordinates(range(10), d=20)
    for label, sets in (("the same arms", 1), ("other arms each time", 64)):
        offers = [rng.normal(size=(100, 20)) for _ in range(sets)]
        decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
        times = []
        for t in range(steps):
            start = time.perf_counter()
            decision = decider.ask(offers[t % sets])
            decider.tell(decision.id, 1.0)
            times.append(time.perf_counter() - start)
        print(
            f"ask + tell, 100 arms, d = 20, {label}: median {1e6 * median(times):.0f} us, "
            f"fastest {1e6 * min(times):.0f} us (to reach: 200 us)"
        )


def many_arms(repeat: int = 9) -> None:
    """Print the time of an ask over a million arms, and what it keeps."""
    X = np.random.default_rng(0).normal(size=(1_000_000, 20))
    for strategy, aim in ((pb.GENTRY(), " (to reach: 60 ms)"), (pb.EIIDS(), "")):
        decider = pb.Decider(strategy, subspace=pb.Subspace.coordinates(range(10), d=20), seed=0)
        times = []
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        decider.tell(decider.ask(X).id, 1.0)
        kept = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        for _ in range(repeat):
            start = time.perf_counter()
            decision = decider.ask(X)
            times.append(time.perf_counter() - start)
            decider.tell(decision.id, 1.0)
        print(
            f"ask over 1,000,000 arms, d = 20, {strategy!r}: median {1e3 * median(times):.0f} ms, "
            f"fastest {1e3 * min(times):.0f} ms{aim}; keeps {kept / 1e3:.0f} KB of 160 MB"
        )


MEMORY = """
import resource, sys
import numpy as np
import projbandits as pb
X = np.random.default_rng(0).normal(size=(10, 4))
decider = pb.Decider(pb.GENTRY(), subspace=pb.Subspace.coordinates(range(2), d=4), seed=0)
for _ in range(2):
    for _ in range(int(sys.argv[1])):
        decider.tell(decider.ask(X).id, 1.0)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def memory(steps: int = 100_000) -> None:
    """Print how peak memory grows with told decisions, once the last outcomes fill their place."""
    output = subprocess.run(
        [sys.executable, "-c", MEMORY, str(steps)], capture_output=True, text=True, check=True
    ).stdout
    first, second = (int(line) for line in output.split())
    print(
        f"peak memory after {steps:,} told decisions {first / 1024:,.0f} MB, after {2 * steps:,} "
        f"{second - first:+,} KB"
    )


def log(decisions: int = 10_000) -> None:
    """Print how long it takes to save a log of ever new arms, and to explain one decision."""
    rng = np.random.default_rng(0)
    U = pb.Subspace.coordinates(range(10), d=20)
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    made = [decider.ask(rng.normal(size=(100, 20))).id for _ in range(decisions)]
    decider.tell_many((id, 1.0) for id in made)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decider"
        saving = _seconds(lambda: decider.save(path))
        size = path.stat().st_size
        kept = _seconds(lambda: decider.explain(made[decisions // 2]))
    print(
        f"{decisions:,} decisions among 100 changing arms, d = 20: saved in {saving:.2f} s, "
        f"{size / decisions / 1e3:.1f} KB each; one explained in {kept:.2f} s"
    )


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def threads(steps: int = 1_000_000, workers: int = 4) -> None:
    """Print how far the belief of four threads is from the direct solution."""
    d, theta = 5, np.array([1.0, -1.0, 0.5, 2.0, 0.0])
    rng = np.random.default_rng(0)
    sets = [rng.normal(size=(10, d)) for _ in range(100)]
    decider = pb.Decider(pb.GENTRY(), subspace=pb.Subspace.coordinates(range(3), d=d), seed=0)
    sums = [(np.zeros((d, d)), np.zeros(d)) for _ in range(workers)]
    start = time.perf_counter()
    running = [
        threading.Thread(target=_work, args=(decider, sets, theta, steps // workers, i, sums[i]))
        for i in range(workers)
    ]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    V = np.eye(d) + sum(part for part, _ in sums)
    direct = np.linalg.solve(V, np.sum([part for _, part in sums], axis=0))
    error = np.abs(decider.ridge.theta - direct).max()
    print(
        f"{steps:,} asks and tells from {workers} threads in {time.perf_counter() - start:.0f} s: "
        f"{decider.ridge.n:,} observations, {len(decider.pending)} pending, belief within "
        f"{error:.1e} of the direct solution (to reach: 1e-8)"
    )


def _work(
    decider: pb.Decider,
    sets: list[Array],
    theta: Array,
    steps: int,
    worker: int,
    sums: tuple[Array, Array],
) -> None:
    """Ask and tell in random order, a thousand at a time, and add up what was told."""
    rng, order = np.random.default_rng(worker + 1), random.Random(worker)
    for start in range(0, steps, 1000):
        decisions = [
            decider.ask(sets[order.randrange(len(sets))]) for _ in range(min(1000, steps - start))
        ]
        order.shuffle(decisions)
        for decision in decisions:
            reward = float(decision.arm @ theta + rng.normal())
            decider.tell(decision.id, reward)
            np.add(sums[0], np.outer(decision.arm, decision.arm), out=sums[0])
            np.add(sums[1], reward * decision.arm, out=sums[1])


def main() -> None:
    """Run every measurement."""
    ask_and_tell()
    many_arms()
    memory()
    log()
    threads()
    stores.main()


if __name__ == "__main__":
    main()
