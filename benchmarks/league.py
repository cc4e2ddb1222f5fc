"""The league: `make league` plays every strategy in every kind of world and writes docs/league.md.

No strategy is tuned to a world: each has its defaults everywhere. All meet the same worlds and the
same noise, so differences are taken trial by trial. The tables of docs/strategies.md are made here
too.

It takes half an hour. Each strategy's result in each kind of world is kept as it is finished, with
the time it took, so that the same command continues after a stop and writes the same tables.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

import projbandits as pb
from benchmarks import hard_instance
from benchmarks.kept import Kept
from projbandits import statistics
from projbandits._locks import locked
from projbandits._validation import Array
from projbandits.problems import Problem, World
from projbandits.strategies import LinearStrategy

HORIZON = 10_000
BASELINE = pb.GENTRY()
STRATEGIES: tuple[LinearStrategy, ...] = (
    pb.EIIDS(),
    pb.EIRatio(horizon=HORIZON),
    pb.EIIDS(arm_effects="auto"),
    pb.DirectedIDS(),
    pb.DirectedIDS(radius="published"),
    pb.ProjectedElimination(horizon=HORIZON),
    pb.ProjectedTS(),
    BASELINE,
    pb.GENTRY(alpha=3.0),
    pb.CURSE(),
    pb.REGRET(),
    pb.UE(),
    pb.ProjectedUE(),
)

NOT_AT_DEFAULTS: tuple[LinearStrategy, ...] = (
    *(pb.GENTRY(alpha=alpha) for alpha in (0.3, 2.0, 10.0)),
    pb.GENTRY(basis="first"),
    *(pb.EIIDS(noise=noise) for noise in (0.25, 0.5, 1.0)),
)
"""GENTRY over alpha and with the first k arms; EIIDS told half the noise, the noise, twice it."""

MORE: dict[str, tuple[LinearStrategy, ...]] = {
    "setting a": NOT_AT_DEFAULTS,
    "setting b": NOT_AT_DEFAULTS,
    "wine": (
        pb.EIIDS(arm_effects=0.4),
        pb.EIRatio(horizon=HORIZON, arm_effects="auto"),
        pb.GENTRY(arm_effects="auto"),
    ),
}
"""What else plays in some worlds, to compare with; it does not count in the overview."""


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
    "setting a": (a(), 2000),
    "setting b": (a(subspace="coordinates"), 2000),
    "setting c": (pb.problems.entropy_ball(), 200),
    "wine": (pb.problems.wine(), 500),
    "ball": (pb.problems.random_theta(pb.Ball(4), u=2), 60),
    "1,000 arms": (a(arms=1000), 60),
    "d = 50": (a(d=50, arms=200, u=25), 50),
    "noise 2": (a(noise=2.0), 400),
    "noise 0.1": (a(noise=0.1), 400),
    "twin arms": (TwinArms(), 400),
    "dim U = 1": (a(u=1), 400),
    "dim U = 9": (a(u=9), 400),
    "three arms": (hard_instance.ThreeArms(0.1), 400),
}
"""The worlds and how many trials are played in each."""


@dataclass(frozen=True)
class Row:
    """What one strategy did in one kind of world."""

    regret: Array
    halfway: Array
    found: float | None
    microseconds: float


def play(problem: Problem, strategy: pb.Strategy, trials: int, kept: Kept) -> Row:
    """Return the regret of each trial, and the processor time of a step once compiled."""
    size: dict[str, Any] = {"horizon": HORIZON, "seed": 0, "checkpoints": [HORIZON // 2, HORIZON]}

    def run(n: int) -> pb.Result:
        return pb.simulate(problem, strategy, trials=n, progress=False, **size)

    def measure() -> dict[str, Any]:
        run(1)
        start = time.process_time()
        result = run(trials)
        spent = time.process_time() - start
        halfway, regret = result.regret[0].T.tolist()
        return {
            "regret": regret,
            "halfway": halfway,
            "found": None if result.found_best is None else float(result.found_best.mean()),
            "microseconds": 1e6 * spent / (trials * HORIZON),
        }

    row = kept.get(problem, strategy, {"trials": trials, **size}, measure)
    return Row(np.array(row.pop("regret")), np.array(row.pop("halfway")), **row)


def fits(strategy: LinearStrategy, problem: Problem) -> bool:
    """Return whether the strategy can play there: some need finitely many arms."""
    arms = problem.world(np.random.default_rng(0)).arms
    anywhere = strategy.arm_effects is None and not strategy.same_arms
    return anywhere or isinstance(arms, pb.FiniteArms)


def table(rows: dict[str, Row]) -> str:
    """Return the rows of one kind of world as a Markdown table."""
    titles = [
        "strategy",
        "mean",
        "median",
        "p90",
        "in the last half",
        "found best",
        "less than GENTRY (95 %)",
        "microseconds",
    ]
    lines = [f"| {' | '.join(titles)} |", f"|---|{'---:|' * (len(titles) - 1)}"]
    baseline = rows[repr(BASELINE)].regret
    for label, row in rows.items():
        mean, less = statistics.mean(row.regret), statistics.mean(baseline - row.regret)
        cells = [
            f"`{label}`",
            f"{mean.value:,.0f} +- {mean.high - mean.value:,.0f}",
            f"{np.median(row.regret):,.0f}",
            f"{np.quantile(row.regret, 0.9):,.0f}",
            f"{1 - row.halfway.mean() / mean.value:.0%}",
            "" if row.found is None else f"{row.found:.0%}",
            "" if label == repr(BASELINE) else f"{less.low:,.0f} to {less.high:,.0f}",
            f"{row.microseconds:.2g}" if row.microseconds < 100 else f"{row.microseconds:,.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def overview(results: dict[str, dict[str, Row]]) -> str:
    """Return the mean regret of each strategy in each world; the lowest in each world is bold."""
    labels = [repr(s) for s in STRATEGIES]
    means = {
        world: {label: rows[label].regret.mean() for label in labels if label in rows}
        for world, rows in results.items()
    }
    lines = [f"| | {' | '.join(results)} |", f"|---|{'---:|' * len(results)}"]
    for label in labels:
        cells = []
        for of in means.values():
            number = f"{of[label]:,.0f}" if label in of else ""
            cells.append(f"**{number}**" if of.get(label) == min(of.values()) else number)
        lines.append(f"| `{label}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    return fill(text, 100, break_long_words=False)


def put(path: Path, name: str, text: str) -> None:
    """Replace what a page has between the marks of that name."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, rest = path.read_text().split(begin)
    path.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}")


def main() -> None:
    """Play the league and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs"))
    parser.add_argument("--share", type=float, default=1.0, help="share of the trials to play")
    parser.add_argument("--kept", type=Path, default=Path("benchmarks/out/league"))
    parser.add_argument("--fresh", action="store_true", help="play again what is kept")
    options = parser.parse_args()
    with locked(options.kept, "kept"):
        kept = Kept(options.kept)
        if options.fresh:
            kept.forget()
        write(options.out, options.share, kept)
        print(f"{kept.found} results were kept in {options.kept}; --fresh plays them again")


def write(out: Path, share: float, kept: Kept) -> None:
    """Play what is not kept, and write the pages and the figure."""
    results: dict[str, dict[str, Row]] = {}
    for name, (problem, trials) in WORLDS.items():
        n = max(2, round(share * trials))
        results[name] = {
            repr(s): play(problem, s, n, kept)
            for s in (*STRATEGIES, *MORE.get(name, ()))
            if fits(s, problem)
        }
        print(f"{name} ({n} trials)\n{table(results[name])}\n", flush=True)
    parts = [
        "# The league",
        _wrapped(
            f"Made by `make league`: projection regret after {HORIZON:,} steps, with every "
            "strategy at its defaults and in the same worlds. Mean regrets, the lowest of each "
            "world in bold:"
        ),
        overview(results),
        _wrapped(
            "In the tables below, means come with 95 % intervals, and so do the differences to "
            "GENTRY, which are paired by trial. The time is the processor time of one step; on "
            "finitely many arms without arm effects, GENTRY, CURSE, REGRET, UE and ProjectedUE "
            "skip steps (the event engine). Strategies with parameters other than their defaults "
            "come last, for comparison."
        ),
    ]
    for name, rows in results.items():
        trials = len(next(iter(rows.values())).regret)
        parts += [f"## {name}", f"{trials:,} trials of\n`{WORLDS[name][0]!r}`.", table(rows)]
    (out / "league.md").write_text("\n\n".join(parts) + "\n")
    page = out / "strategies.md"
    put(page, "league", overview(results))
    put(page, "hard instance", hard_instance.draw(out / "images", share, kept))


if __name__ == "__main__":
    main()
