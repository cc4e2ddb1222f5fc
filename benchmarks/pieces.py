"""Where a compiled step spends its time: the pieces of a step in setting a, by themselves.

Those of UE, and those that EIIDS adds to choose an arm.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit

import projbandits as pb
from projbandits.simulation.kernels.common import argmax, direction, move, products
from projbandits.simulation.kernels.finite import View, finite_view
from projbandits.simulation.kernels.improvement import promise, two_actions, weigh
from projbandits.simulation.kernels.posterior import compare, quadratic, shift
from projbandits.strategies import LinearStrategy

OPTIONS: dict[str, Any] = {"error_model": "numpy", "_nrt": False}
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
def _products(matrix_T, v, out, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        v[0] = i
        products(matrix_T, v, out)


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
def _argmax(values, lanes, n):  # type: ignore[no-untyped-def]
    total = 0
    for i in range(n):
        values[i % values.size] += 1e-3 if i % 7 else -1.0
        total += argmax(values, lanes)
    return total


@njit(error_model="numpy")
def _normal(rng, n):  # type: ignore[no-untyped-def]
    total = 0.0
    for _ in range(n):
        total += rng.standard_normal()
    return total


@njit(**OPTIONS)
def _shift(view, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        shift(view.inside.among, 1e-12, view.theta[: view.inside.basis.shape[1]], view.scores)


@njit(**OPTIONS)
def _compare(view, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        view.scores[0] = i
        compare(0, view, None)


@njit(**OPTIONS)
def _promise(view, n):  # type: ignore[no-untyped-def]
    for _ in range(n):
        promise(0, 1.0, view.room)


@njit(**OPTIONS)
def _weigh(view, n):  # type: ignore[no-untyped-def]
    for i in range(n):
        view.room.info[0] = i
        weigh(view.room.info, view.room)


@njit(**OPTIONS)
def _quadratic(view, n):  # type: ignore[no-untyped-def]
    room = view.room
    for i in range(n):
        room.matrix[0, 0] = i
        quadratic(room.matrix, view.inside.across, room.deviations, room.scratch)


@njit(**OPTIONS)
def _two_actions(view, n):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(n):
        view.room.gaps[0] = i
        total += two_actions(0, view.room)[1]
    return total


def some_view(K: int, d: int) -> View:
    """Return the view of a rule that looks inside of U, as EIIDS does, a step after the start."""
    rng = np.random.default_rng(0)
    arms, B = rng.uniform(-1, 1, (K, d)), np.linalg.qr(rng.normal(size=(d, d // 2)))[0]
    learn, aim = ((X, np.ascontiguousarray(X.T)) for X in (arms, arms @ B @ B.T))
    view = finite_view(1.0, learn, aim, np.arange(d), np.ones(2), np.empty((0, 0)), B)
    view.scores[:] = rng.normal(size=K)
    view.scores[0] = view.scores.max() + 0.1
    return view


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
    shared = {
        "V^-1 f": nanoseconds(_direction, np.eye(d), r(d), r(d), r(d)),
        "move V^-1 and theta-hat": nanoseconds(_move, np.eye(d), r(d), r(d), r(d)),
        "products with all arms": nanoseconds(_products, r((d, K)), r(d), r(K)),
        "move scores and squares": nanoseconds(_updates, r(K), r(K) + 1e9, r(K)),
        "argmax": nanoseconds(_argmax, r(K), r(8)),
        "one normal number": nanoseconds(_normal, np.random.default_rng(0)),
        "set-up of a trial of 10,000 steps, for each": trial(pb.UE(), 1) / 10_000,
    }
    roots = {"45 roots": nanoseconds(_roots, r(K), r(K), r(K))}
    table(shared | roots, trial(pb.UE(), 10_000, trials=5))
    view = some_view(K, d)
    own = {
        "products with all arms, as they are learnt on": shared["products with all arms"],
        "move both covariances": 2 * nanoseconds(_shift, view),
        "gaps and deviations": nanoseconds(_compare, view),
        "weights of the rivals": nanoseconds(_promise, view),
        "weighted sum of squares": nanoseconds(_weigh, view),
        "what each arm tells": nanoseconds(_quadratic, view),
        "best mixture of two": nanoseconds(_two_actions, view),
    }
    table(shared | own, trial(pb.EIIDS(), 10_000, trials=5))


if __name__ == "__main__":
    main()
