"""The league: `make league` plays every strategy in every kind of world and writes docs/league.md.

No strategy is tuned to a world: each has its defaults everywhere. All meet the same worlds and the
same noise, so differences are taken trial by trial.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import projbandits as pb
from benchmarks import hard_instance
from projbandits import statistics
from projbandits._checks import Array
from projbandits.problems import Problem, World

HORIZON = 10_000
BASELINE = pb.GENTRY()
STRATEGIES: tuple[pb.Strategy, ...] = (
    pb.EIIDS(),
    pb.EIRatio(horizon=HORIZON),
    pb.DirectedIDS(),
    pb.DirectedIDS(radius="published"),
    pb.ProjectedTS(),
    BASELINE,
    pb.GENTRY(alpha=3.0),
    pb.CURSE(),
    pb.REGRET(),
    pb.UE(),
    pb.ProjectedUE(),
)


@dataclass(frozen=True)
class TwinArms:
    """Every arm has a twin with the same projection and the opposite nuisance part."""

    d: int = 10
    pairs: int = 20
    u: int = 5

    def world(self, rng: np.random.Generator) -> World:
        """Return a world with every entry of the arms and theta from U(-1, 1)."""
        X = rng.uniform(-1, 1, size=(self.pairs, self.d))
        twin = X * np.where(np.arange(self.d) < self.u, 1.0, -1.0)
        arms = pb.FiniteArms(np.vstack([X, twin]))
        U = pb.Subspace.coordinates(range(self.u), self.d)
        return World(arms, U, pb.problems.Gaussian(0.5), theta=rng.uniform(-1, 1, size=self.d))


a = pb.problems.random_arms
WORLDS: dict[str, tuple[Problem, int]] = {
    "setting a": (a(), 200),
    "setting b": (a(subspace="coordinates"), 200),
    "setting c": (pb.problems.entropy_ball(), 60),
    "wine": (pb.problems.wine(), 40),
    "ball": (pb.problems.random_theta(pb.Ball(4), u=2), 30),
    "1,000 arms": (a(arms=1000), 16),
    "d = 50": (a(d=50, arms=200, u=25), 16),
    "noise 2": (a(noise=2.0), 100),
    "noise 0.1": (a(noise=0.1), 100),
    "twin arms": (TwinArms(), 100),
    "dim U = 1": (a(u=1), 100),
    "dim U = 9": (a(u=9), 100),
    "three arms": (hard_instance.ThreeArms(0.1), 100),
}
"""The worlds and how many trials are played in each."""


@dataclass(frozen=True)
class Row:
    """What one strategy did in one kind of world."""

    regret: Array
    found: float | None
    microseconds: float


def play(problem: Problem, strategy: pb.Strategy, trials: int) -> Row:
    """Return the regret of each trial, and the processor time of a step once compiled."""

    def run(n: int) -> pb.Result:
        return pb.simulate(
            problem,
            strategy,
            trials=n,
            horizon=HORIZON,
            seed=0,
            checkpoints=[HORIZON],
            progress=False,
        )

    run(1)
    start = time.process_time()
    result = run(trials)
    spent = time.process_time() - start
    found = None if result.found_best is None else float(result.found_best.mean())
    return Row(result.regret[0, :, 0], found, 1e6 * spent / (trials * HORIZON))


def table(rows: dict[str, Row]) -> str:
    """Return the rows of one kind of world as a Markdown table."""
    lines = [
        "| strategy | mean | median | p90 | found best | less than GENTRY (95 %) | microseconds |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    baseline = rows[repr(BASELINE)].regret
    for label, row in rows.items():
        less = statistics.mean(baseline - row.regret)
        cells = [
            f"`{label}`",
            f"{row.regret.mean():,.0f}",
            f"{np.median(row.regret):,.0f}",
            f"{np.quantile(row.regret, 0.9):,.0f}",
            "" if row.found is None else f"{row.found:.0%}",
            "" if label == repr(BASELINE) else f"{less.low:,.0f} to {less.high:,.0f}",
            f"{row.microseconds:.2g}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def overview(results: dict[str, dict[str, Row]]) -> str:
    """Return the mean regret of each strategy in each world; the least of a world is bold."""
    least = {w: min(row.regret.mean() for row in rows.values()) for w, rows in results.items()}
    lines = [
        f"| | {' | '.join(results)} |",
        f"|---|{'---:|' * len(results)}",
    ]
    for label in next(iter(results.values())):
        means = [(w, rows[label].regret.mean()) for w, rows in results.items()]
        cells = [f"**{m:,.0f}**" if m == least[w] else f"{m:,.0f}" for w, m in means]
        lines.append(f"| `{label}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Play the league and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs"))
    parser.add_argument("--share", type=float, default=1.0, help="of the trials, for a quick look")
    options = parser.parse_args()
    results: dict[str, dict[str, Row]] = {}
    for name, (problem, trials) in WORLDS.items():
        n = max(2, round(options.share * trials))
        results[name] = {repr(s): play(problem, s, n) for s in STRATEGIES}
        print(f"{name} ({n} trials)\n{table(results[name])}\n", flush=True)
    parts = [
        "# The league",
        f"Made by `make league`. Projection regret after {HORIZON:,} steps; every strategy at its "
        "defaults, in the same worlds. The mean regret, the least in bold:",
        overview(results),
    ]
    for name, rows in results.items():
        trials = len(next(iter(rows.values())).regret)
        parts += [f"## {name}", f"`{WORLDS[name][0]!r}`, {trials} trials.", table(rows)]
    (options.out / "league.md").write_text("\n\n".join(parts) + "\n")
    hard_instance.draw(options.out / "images" / "hard-instance.png", options.share)


if __name__ == "__main__":
    main()
