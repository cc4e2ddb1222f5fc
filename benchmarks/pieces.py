"""Where a compiled step spends its time: the pieces of a step in setting a, by themselves.

Those of UE, and those that EIIDS adds to choose an arm.
"""

# mypy: disallow-untyped-calls=false

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit

import projbandits as pb
from projbandits.simulation.kernels.belief import compare, quadratic
from projbandits.simulation.kernels.compiler import OPTIONS, lent
from projbandits.simulation.kernels.improvement import two_actions, weigh_leads, weighted_gram
from projbandits.simulation.kernels.linear import (
    ACROSS,
    AMONG,
    DEVIATIONS,
    GAPS,
    INFO,
    MATRIX,
    SCORES,
    TURNED,
    WORK,
    State,
    begin_state,
    direction,
    first_largest,
    move,
    product,
    shift,
    widened,
)
from projbandits.strategies import LinearStrategy

TIMES = 100_000


@njit(**OPTIONS)
def _direction(inverse, theta, f, v, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        f[0] = i
        direction(inverse, theta, f, v)


@njit(**OPTIONS)
def _move(inverse, theta, v, u, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        move(inverse, theta, 1e-9, 1e-12, v, u)


@njit(**OPTIONS)
def _product(matrix_T, v, out, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        v[0] = i
        product(matrix_T, v, out)


@njit(**OPTIONS)
def _updates(scores, squares, moved, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        c = 1e-9 * i
        for j in range(scores.size):
            scores[j] += c * moved[j]
        for j in range(scores.size):
            squares[j] = max(squares[j] - c * moved[j] * moved[j], 0.0)


@njit(**OPTIONS)
def _roots(scores, squares, out, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        for j in range(out.size):
            out[j] = scores[j] + i * math.sqrt(squares[j])


@njit(**OPTIONS)
def _largest(values, n):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(n):
        values[i % values.size] += 1e-3 if i % 7 else -1.0
        total += first_largest(values)
    return total


@njit(**OPTIONS)
def _normal(rng, n):  # type: ignore[no-untyped-def]
    total = 0.0
    for _ in range(n):
        total += rng.standard_normal()
    return total


@njit(**OPTIONS)
def _shift(state, n):  # type: ignore[no-untyped-def]
    state = lent(state)
    turned = state.room[TURNED, : state.B.shape[1]]
    for _ in range(n):
        shift(state.inside[AMONG], 1e-12, turned, state.arms[SCORES])


@njit(**OPTIONS)
def _compare(state, n):  # type: ignore[no-untyped-def]
    state = lent(state)
    for i in range(n):
        state.arms[SCORES, 0] = 3.0 + i % 2
        compare(0, state)


@njit(**OPTIONS)
def _leads(state, gaps, deviations, n):  # type: ignore[no-untyped-def]
    state = lent(state)
    for _ in range(n):
        for j in range(gaps.size):
            state.arms[GAPS, j] = gaps[j]
            state.arms[DEVIATIONS, j] = deviations[j]
        weigh_leads(0, 1.0, state)


@njit(**OPTIONS)
def _gram(state, n):  # type: ignore[no-untyped-def]
    state = lent(state)
    for i in range(n):
        state.arms[INFO, 0] = i
        weighted_gram(state, state.room[MATRIX:])


@njit(**OPTIONS)
def _quadratic(state, n):  # type: ignore[no-untyped-def]
    state = lent(state)
    gram = state.room[MATRIX:]
    for i in range(n):
        gram[0, 0] = i
        quadratic(gram, state.inside[ACROSS], state.arms[DEVIATIONS], state.arms[WORK])


@njit(**OPTIONS)
def _two_actions(state, n):  # type: ignore[no-untyped-def]
    state = lent(state)
    total = 0.0
    for i in range(n):
        state.arms[GAPS, 0] = i
        total += two_actions(0, state)[1]
    return total


def some_state(K: int, d: int) -> State:
    """Return the state of a rule that looks inside of U, as EIIDS does, before the first step."""
    rng = np.random.default_rng(0)
    arms, B = rng.uniform(-1, 1, (K, d)), np.linalg.qr(rng.normal(size=(d, d // 2)))[0]
    state = begin_state(1.0, arms, arms @ B @ B.T, np.ones(2), np.empty((0, 0)), np.arange(d), B)
    state.arms[SCORES, :K] = rng.normal(size=K)
    state.arms[SCORES, 0] = state.arms[SCORES, :K].max() + 0.1
    return state


def nanoseconds(call: Callable[..., Any], *arguments: Any) -> float:
    """Return the least processor time of a kernel's turn."""
    call(*arguments, 1)
    best = math.inf
    for _ in range(10):
        start = time.process_time()
        call(*arguments, TIMES)
        best = min(best, time.process_time() - start)
    return 1e9 * best / TIMES


def trial(strategy: LinearStrategy, horizon: int, trials: int = 20) -> float:
    """Return the least processor time of a trial, in nanoseconds, on one thread."""
    best = math.inf
    with ThreadPoolExecutor(1) as executor:
        for _ in range(10):
            start = time.process_time()
            pb.simulate(
                pb.problems.random_arms(),
                strategy,
                trials=trials,
                horizon=horizon,
                engine="compiled",
                executor=executor,
                checkpoints=[horizon],
                progress=False,
            )
            best = min(best, time.process_time() - start)
    return 1e9 * best / trials


def table(pieces: dict[str, float], whole: float) -> None:
    """Print a table for docs/numerics.md."""
    print("| piece | ns |\n|---|---:|")
    for name, cost in pieces.items():
        print(f"| {name} | {cost:.0f} |")
    print(f"| together | {sum(pieces.values()):.0f} |")
    print(f"| measured, for each of 10,000 steps | {whole / 10_000:.0f} |\n")


def main() -> None:
    """Print the pieces of UE's step, and those of EIIDS's."""
    K, d = 45, 10
    r = np.random.default_rng(0).random
    columns = widened(r((d, K)))
    W = columns.shape[1]
    shared = {
        "V^-1 f": nanoseconds(_direction, np.eye(d), r(d), r(d), r(d)),
        "move V^-1 and theta-hat": nanoseconds(_move, np.eye(d), r(d), r(d), r(d)),
        "products with all arms": nanoseconds(_product, columns, r(d), r(W)),
        "move scores and squares": nanoseconds(_updates, r(W), r(W) + 1e9, r(W)),
        "argmax": nanoseconds(_largest, r(W)),
        "one normal number": nanoseconds(_normal, np.random.default_rng(0)),
        "set-up of a trial of 10,000 steps, for each": trial(pb.UE(), 1) / 10_000,
    }
    roots = {"45 roots": nanoseconds(_roots, r(W), r(W), r(W))}
    table(shared | roots, trial(pb.UE(), 10_000, trials=5))
    state = some_state(K, d)
    own = {
        "products with all arms, as they are learnt on": shared["products with all arms"],
        "move both covariances": 2 * nanoseconds(_shift, state),
        "gaps and deviations": nanoseconds(_compare, state),
        "weights of the rivals": nanoseconds(
            _leads, state, state.arms[GAPS].copy(), state.arms[DEVIATIONS].copy()
        ),
        "weighted sum of squares": nanoseconds(_gram, state),
        "what each arm tells": nanoseconds(_quadratic, state),
        "best mixture of two": nanoseconds(_two_actions, state),
    }
    table(shared | own, trial(pb.EIIDS(), 10_000, trials=5))


if __name__ == "__main__":
    main()
