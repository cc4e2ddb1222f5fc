"""What it costs not to know U, and what finding it takes: `python -m benchmarks.finding`.

Regret of strategies that see an estimate of U and are judged by U itself (d = 10, 45 arms, two
directions left out, noise of the side information 0.5); of one that learns U from groups together
with the best arm; how well gender is predictable from an embedding of names before and after; and
the time and memory for a million rows. `--quick` plays few trials of few steps.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import projbandits as pb
from projbandits.finding.attributes import Labelled
from projbandits.finding.sums import degrees
from projbandits.problems import Problem
from projbandits.simulation.streams import stream
from projbandits.strategies.seeking import SeekingGENTRY

BASE = pb.problems.random_arms(d=10, arms=45, u=8)
SIDE = [pb.EIIDS(), pb.GENTRY()]
GROUPS = pb.problems.groups(d=10, arms=45, u=8, groups=8)
SEEKING = SeekingGENTRY(alpha=5.0, groups=8, leave_out=2)


def side_information(trials: int, horizon: int) -> None:
    """Print the regret of EIIDS and GENTRY by the side information there is."""
    rows: dict[str, Problem] = {"U known": BASE}
    made = partial(pb.problems.estimated_subspace, BASE)
    for more, text in (
        ({}, ""),
        ({"items": 5_000}, ", and 5,000 items without"),
        ({"shrink": True}, ", shrunk"),
        ({"shrink": True, "items": 5_000}, ", shrunk, and 5,000 items without"),
    ):
        for m in (200, 1_000, 10_000):
            rows[f"attributes, m = {m:,}{text}"] = made(size=m, **more)
    for m in (100, 1_000):
        rows[f"pairs, m = {m:,}"] = made("pairs", m)
    print("| side information | EIIDS | minus U known | GENTRY | minus U known |")
    print("|---|---:|---:|---:|---:|")
    known: Any = None
    for label, problem in rows.items():
        result = _simulated(problem, SIDE, trials, horizon)
        regret = result.regret[:, :, -1]
        known = regret if known is None else known
        both = zip(regret, regret - known, strict=True)
        cells = [text for pair in both for text in map(_mean, pair)]
        print(f"| {label} | {' | '.join(cells)} |", flush=True)


def mean_projection(trials: int) -> None:
    """Print the loss at a step with theta known, by the best guess of U and by E[P_U]."""
    print("\n| attributes, m | best guess | mean of resampled projections | difference |")
    print("|---|---:|---:|---:|")
    for m in (20, 50, 200):
        losses = np.array([_losses(np.random.default_rng(i), m) for i in range(trials)]).T
        cells = [f"{_mean(row, '.3f')}" for row in (*losses, losses[0] - losses[1])]
        print(f"| {m} | {' | '.join(cells)} |", flush=True)


def _losses(rng: np.random.Generator, m: int, resamples: int = 60) -> list[float]:
    world = BASE.world(rng)
    rest = world.subspace.complement().basis
    X = rng.uniform(-1, 1, size=(m, 10))
    held = Labelled.of(X, X @ rest + 0.5 * rng.standard_normal((m, 2)))
    bases = [held.directions(2)[0], *(held.directions(2, rng)[0] for _ in range(resamples))]
    first, *others = (np.eye(10) - B @ B.T for B in bases)
    assert world.theta is not None
    arms = (world.arms.best(P @ world.theta) for P in (first, np.mean(others, axis=0)))
    return [world.best_reward - world.reward(arm) for arm in arms]


def correlated(trials: int, d: int = 10) -> None:
    """Print how far U is off by how it is found, where features are correlated."""
    neighbours = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    kinds = {
        "independent": np.eye(d),
        "0.5 between neighbours": 0.5**neighbours,
        "0.9 between neighbours": 0.9**neighbours,
        "0.3 between all": 0.7 * np.eye(d) + 0.3,
        "0.8 between all": 0.2 * np.eye(d) + 0.8,
    }
    print("\n| correlations | m | cov(x, z) | shrunk | with items | shrunk, with items |")
    print("|---|---:|---:|---:|---:|---:|")
    for label, S in kinds.items():
        for m in (30, 100, 1_000):
            errors = [_errors(np.random.default_rng(i), S, m) for i in range(trials)]
            cells = [f"{np.sqrt(mean):.3f}" for mean in np.mean(errors, axis=0)]
            print(f"| {label} | {m:,} | {' | '.join(cells)} |", flush=True)


def _errors(rng: np.random.Generator, S: Any, m: int) -> list[float]:
    """Return the squared sines of the angles to what must not count, added up, for each finder."""
    d, root = len(S), np.linalg.cholesky(S)
    V = rng.standard_normal((d, 2))
    V /= np.sqrt(np.einsum("ij,ik,kj->j", V, S, V))
    X, Y = (rng.standard_normal((n, d)) @ root.T for n in (m, 5_000))
    alone = Labelled.of(X, X @ V + 0.75**0.5 * rng.standard_normal((m, 2)))
    rest = np.linalg.qr(S @ V)[0]
    return [
        2 - float(((rest.T @ replace(held, shrink=shrink).directions(2)[0]) ** 2).sum())
        for held in (alone, alone.with_items(Y))
        for shrink in (False, True)
    ]


def groups(trials: int, horizon: int) -> None:
    """Print the regret where U is learnt from groups with the best arm, and the angle to U."""
    strategies = {
        "U learnt together": SEEKING,
        "U known": pb.GENTRY(alpha=5.0),
        "mean of the groups": pb.CURSE(alpha=5.0),
    }
    steps = [horizon // 10, horizon // 3, horizon]
    print("\n| groups (8) | regret | minus U learnt together |\n|---|---:|---:|")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        learnt: Any = None
        for label, strategy in strategies.items():
            regret = _simulated(GROUPS, [strategy], trials, horizon, executor=pool).regret[0, :, -1]
            learnt = regret if learnt is None else learnt
            print(f"| {label} | {_mean(regret)} | {_mean(regret - learnt)} |", flush=True)
        looked = min(trials, 40)
        angles = [*pool.map(partial(_angles, steps=steps), range(looked))]
    medians = ", ".join(
        f"{angle:.1f} after {step:,}"
        for step, angle in zip(steps, np.median(angles, axis=0), strict=True)
    )
    print(f"\nMedian angle to what must not count, of {looked} trials, in degrees: {medians} steps")


def _angles(trial: int, steps: list[int]) -> list[float]:
    """Play a trial as the reference engine does, and look at what is left out on the way."""
    world = GROUPS.world(stream(0, trial, "world"))
    noise, rng = (stream(0, trial, purpose) for purpose in ("noise", "strategy"))
    rest, angles = world.subspace.complement().basis, []
    state = SEEKING.init(world.arms, world.seen)
    for t, now in zip(range(1, steps[-1] + 1), world.steps(), strict=False):
        arm = SEEKING.select(state, world.arms, rng).arm
        state = SEEKING.update(state, arm, now.noise.observe(now.mean_return(arm), noise))
        if t in steps:
            angles.append(degrees(rest, state.plan.rest))
    return angles


def embedding() -> None:
    """Print how well gender can be predicted from an embedding of names."""
    from examples.first_names import embedded, listed

    names, gender = listed()
    for shrink in (False, True):
        found = pb.find_subspace(attributes=(embedded(names), gender), leave_out=1, shrink=shrink)
        print(f"\n{found.report()}\n" + ("Shrunk.\n" if shrink else ""))
        for column, value in found.predictable.iloc[0].items():
            print(f"{column}: {value:.1%}" if isinstance(value, float) else f"{column}: {value}")


def million(rows: int, d: int = 100, attributes: int = 5) -> None:
    """Print the time and the memory that find_subspace takes, apart from making the data."""
    making = 0.0

    def pieces(size: int = 50_000) -> Iterator[tuple[Any, Any]]:
        nonlocal making
        rng = np.random.default_rng(0)
        for _ in range(rows // size):
            start = time.perf_counter()
            X = rng.standard_normal((size, d))
            z = X[:, :attributes] + rng.standard_normal((size, attributes))
            making += time.perf_counter() - start
            yield X, z

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, working = time.perf_counter(), time.process_time()
    found = pb.find_subspace(attributes=pieces())
    took, worked = time.perf_counter() - start - making, time.process_time() - working
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"\nfind_subspace, {found.rows:,} rows, d = {d}, {attributes} attributes: {took:.1f} s "
        f"(and {making:.1f} s to make them; {worked:.1f} s of processor time in all), "
        f"{peak / 1024:,.0f} MB at most ({before / 1024:,.0f} MB before); "
        f"{found.left_out.dim} directions left out, within {found.angle:.2f} degrees"
    )


def _simulated(
    problem: Problem, strategies: Any, trials: int, horizon: int, **more: Any
) -> pb.Result:
    options: dict[str, Any] = {"seed": 0, "checkpoints": [horizon], "progress": False, **more}
    return pb.simulate(problem, strategies, trials=trials, horizon=horizon, **options)


def _mean(values: Any, form: str = ",.0f") -> str:
    if not np.any(values):
        return ""
    return f"{np.mean(values):{form}} ± {np.std(values) / len(values) ** 0.5:{form}}"


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--horizon", type=int, default=10_000)
    parser.add_argument("--quick", action="store_true")
    # The million rows come first: their memory is measured before others take some.
    parts = ("million", "side", "mean", "correlated", "groups", "names")
    parser.add_argument("--only", choices=parts, nargs="+", default=parts)
    options = parser.parse_args()
    trials, horizon = (20, 1_000) if options.quick else (options.trials, options.horizon)
    if "million" in options.only:
        million(100_000 if options.quick else 1_000_000)
    if "side" in options.only:
        side_information(trials, horizon)
    if "mean" in options.only:
        mean_projection(trials)
    if "correlated" in options.only:
        correlated(trials)
    if "groups" in options.only:
        groups(trials, horizon)
    if "names" in options.only:
        embedding()


if __name__ == "__main__":
    main()
