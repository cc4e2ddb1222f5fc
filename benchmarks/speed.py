"""Speed: `make bench` prints trial-steps per second beside its peers, and how the cost grows.

Everything is measured in one run on one machine; the ratios are what counts. Kernels are compiled
before the clock starts. On a machine that does other work too, `--busy` counts the processor time
of one thread instead of the time that passes. `--only` runs a part.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

import projbandits as pb
from benchmarks import online, peers
from projbandits import plots

A, C = pb.problems.random_arms(), pb.problems.entropy_ball()
PARTS = ("rates", "growth", "rest")


class Watch:
    """Which time is counted, and over how many threads; `main` decides."""

    clock: Callable[[], float] = time.perf_counter
    threads: int | None = None


def seconds(call: Callable[[], Any], repeat: int = 3) -> float:
    """Return the best of some times."""
    best = float("inf")
    for _ in range(repeat):
        start = Watch.clock()
        call()
        best = min(best, Watch.clock() - start)
    return best


def simulated(
    problem: Any,
    strategy: Any,
    trials: int,
    horizon: int,
    engine: str = "auto",
    threads: int | None = None,
    repeat: int = 3,
) -> float:
    """Return the seconds that a simulation takes once its kernels are compiled."""

    def run(n: int, h: int) -> None:
        workers = threads or Watch.threads
        executor = None if workers is None else ThreadPoolExecutor(workers)
        pb.simulate(
            problem,
            strategy,
            trials=n,
            horizon=h,
            engine=engine,
            executor=executor,
            checkpoints=[h],
            progress=False,
        )
        if executor is not None:
            executor.shutdown()

    run(2, min(horizon, 50))
    return seconds(lambda: run(trials, horizon), repeat)


def compared() -> dict[str, float]:
    """Print the table of rates and ratios, and return the rates."""
    rates = {}
    for name, peer, steps in (
        ("reference loop", peers.reference, 3000),
        ("NumPy, batched over 2,000 trials", peers.batched_numpy, 200),
        ("MABWiser LinGreedy", peers.mabwiser, 300),
        ("river LinUCBDisjoint", peers.river, 300),
        ("Vowpal Wabbit cb_explore_adf", peers.vowpal_wabbit, 300),
    ):
        peer(5)
        start = Watch.clock()
        done = peer(steps)
        rates[name] = done / (Watch.clock() - start)
    ours = {
        "GENTRY, setting a, events": (A, pb.GENTRY(), 2000, 10_000, "events"),
        "GENTRY, setting a, compiled": (A, pb.GENTRY(), 400, 10_000, "compiled"),
        "UE, setting a, events": (A, pb.UE(), 2000, 10_000, "events"),
        "UE, setting a, events, 10^8 steps": (A, pb.UE(), 200, 10**8, "events"),
        "UE, setting a, compiled": (A, pb.UE(), 400, 10_000, "compiled"),
        "GENTRY, setting c, compiled": (C, pb.GENTRY(alpha=0.01), 200, 10_000, "compiled"),
        "UE, setting c, compiled": (C, pb.UE(alpha=0.01), 80, 10_000, "compiled"),
        "EIIDS, setting a, compiled": (A, pb.EIIDS(), 200, 10_000, "compiled"),
    }
    peer_names = list(rates)
    for name, (problem, strategy, trials, horizon, engine) in ours.items():
        rates[name] = trials * horizon / simulated(problem, strategy, trials, horizon, engine)
    header = ["reference", "NumPy", "MABWiser", "river", "VW"]
    print(f"{'':34}{'trial-steps/s':>15}   ratio to " + "".join(f"{h:>11}" for h in header))
    for name, rate in rates.items():
        ratios = "".join(f"{rate / rates[peer]:>11,.1f}" for peer in peer_names)
        print(f"{name:34}{rate:>15,.0f}{'':12}{ratios}")
    by_steps = rates["UE, setting a, events"] / rates["UE, setting a, compiled"]
    farther = rates["UE, setting a, events"] / rates["UE, setting a, events, 10^8 steps"] * 1e4
    print(f"\nUE by events is {by_steps:.1f} times as fast as step by step")
    print(f"10^8 steps of UE cost {farther:.1f} times what 10^4 do\n")
    return rates


def grown(strategy: Any, d: int = 10, arms: int = 200) -> float:
    """Return the seconds of a trial of 1,000 steps of setting a at another size."""
    problem = pb.problems.random_arms(d=d, arms=arms, u=d // 2)
    return simulated(problem, strategy, 4, 1000, "compiled") / 4


def growth(out: Path) -> None:
    """Print and draw how the cost of a trial of setting a grows with each of its sizes."""
    horizons = [10**i for i in range(3, 10)]
    sizes: dict[str, list[tuple[int, float]]] = {
        "horizon, GENTRY, events": [
            (n, simulated(A, pb.GENTRY(), 400, n, "events") / 400) for n in horizons
        ],
        "arms, UE, compiled": [(k, grown(pb.UE(), arms=k)) for k in (10, 100, 1000, 10_000)],
        "arms, EIIDS, compiled": [(k, grown(pb.EIIDS(), arms=k)) for k in (10, 100, 1000, 10_000)],
        "dimension, UE, compiled": [(d, grown(pb.UE(), d=d)) for d in (2, 20, 200)],
        "dimension, EIIDS, compiled": [(d, grown(pb.EIIDS(), d=d)) for d in (2, 20, 100)],
        "trials, GENTRY, events": [
            (n, simulated(A, pb.GENTRY(), n, 10_000, "events") / n) for n in (100, 1000, 4000)
        ],
    }
    if Watch.threads is None:  # of processor time, two threads take as much as one
        sizes["threads, UE, compiled"] = [
            (n, simulated(A, pb.UE(), 200, 10_000, "compiled", threads=n) / 200) for n in (1, 2)
        ]
        sizes["threads, GENTRY, events"] = [
            (n, simulated(A, pb.GENTRY(), 2000, 10_000, "events", threads=n) / 2000) for n in (1, 2)
        ]
    kinds = list(dict.fromkeys(name.split(",")[0] for name in sizes))
    size_of_page: dict[str, Any] = {"figsize": (2.4 * len(kinds), 3), "layout": "constrained"}
    figure, axes = plt.subplots(1, len(kinds), **size_of_page, dpi=150, sharey=True)
    places = dict(zip(kinds, axes, strict=True))
    for name, points in sizes.items():
        print(f"milliseconds a trial against {name}:")
        print("  " + "  ".join(f"{size:,}: {1e3 * cost:.3g}" for size, cost in points))
        size, label = name.split(", ", 1)
        colour = plots.COLOURS[len(places[size].lines)]
        places[size].plot(*zip(*points, strict=True), marker="o", color=colour, label=label)
        places[size].set(xscale="log", yscale="log", xlabel=size)
    for ax in axes:
        ax.legend(frameon=False, fontsize=7, loc="upper left")
        ax.grid(axis="y", color="0.9", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    lowest, highest = axes[0].get_ylim()
    axes[0].set_ylim(lowest, 10 * highest)  # room for the legends
    first = dict(sizes["horizon, GENTRY, events"])
    print(f"\n10^9 steps cost {first[10**9] / first[10**4]:.2f} times what 10^4 do")
    if "threads" in places:
        one, two = (cost for _, cost in sizes["threads, UE, compiled"])
        print(f"two threads are {one / two:.2f} times as fast as one")
    axes[0].set_ylabel("seconds a trial")
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "growth.png")
    print(f"figure: {out / 'growth.png'}\n")


MEMORY = """
import projbandits as pb, resource
pb.simulate(pb.problems.random_arms(), [pb.GENTRY(), pb.CURSE(), pb.REGRET(), pb.UE()],
            trials=2000, horizon=10_000, progress=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def memory() -> None:
    """Print the peak memory of the paper's size with four strategies, in a process of its own."""
    output = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    ).stdout
    print(f"peak memory, 2,000 x 10,000, four strategies: {int(output) / 1024:,.0f} MB")


STARTS = {
    "import projbandits": "import projbandits",
    "the first simulated step, kernels kept on disk": """
import projbandits as pb
pb.simulate(pb.problems.random_arms(), pb.GENTRY(), trials=1, horizon=1, progress=False)
""",
}


def start_up() -> None:
    """Print the seconds that new processes take to get going."""
    for name, code in STARTS.items():
        command = [sys.executable, "-c", code]
        subprocess.run(command, check=True)
        taken = seconds(partial(subprocess.run, command, check=True), repeat=5)
        print(f"seconds from the start of Python to {name}: {taken:.2f}")


def main() -> None:
    """Run every measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--busy", action="store_true", help="count processor time, on one thread")
    parser.add_argument("--only", choices=PARTS, help="run only this part")
    options = parser.parse_args()
    if options.busy:
        Watch.clock, Watch.threads = time.process_time, 1
    parts = PARTS if options.only is None else (options.only,)
    if "rates" in parts:
        compared()
    if "growth" in parts:
        growth(options.out)
    if "rest" not in parts:
        return
    Watch.clock = time.perf_counter  # of other processes
    memory()
    start_up()
    online.main()
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of this benchmark: {own:,.0f} MB")


if __name__ == "__main__":
    main()
