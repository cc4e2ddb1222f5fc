"""Where a compiled step spends its time: the pieces of UE's step in setting a, by themselves."""

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


def nanoseconds(call: Callable[..., Any], *arguments: Any) -> float:
    """Return the least processor time of a kernel's turn."""
    call(*arguments, 1)
    best = math.inf
    for _ in range(10):
        start = time.process_time()
        call(*arguments, TIMES)
        best = min(best, time.process_time() - start)
    return 1e9 * best / TIMES


def trial(horizon: int, trials: int = 20) -> float:
    """Return the least processor time of a trial, in nanoseconds, on one thread."""
    best = math.inf
    with ThreadPoolExecutor(1) as executor:
        for _ in range(10):
            start = time.process_time()
            pb.simulate(
                pb.problems.random_arms(),
                pb.UE(),
                trials=trials,
                horizon=horizon,
                engine="compiled",
                executor=executor,
                checkpoints=[horizon],
                progress=False,
            )
            best = min(best, time.process_time() - start)
    return 1e9 * best / trials


def main() -> None:
    """Print a table for docs/numerics.md."""
    K, d = 45, 10
    r = np.random.default_rng(0).random
    pieces = {
        "V^-1 f": nanoseconds(_direction, np.eye(d), r(d), r(d), r(d)),
        "move V^-1 and theta-hat": nanoseconds(_move, np.eye(d), r(d), r(d), r(d)),
        "products with all arms": nanoseconds(_products, r((d, K)), r(d), r(K)),
        "move scores and squares": nanoseconds(_updates, r(K), r(K) + 1e9, r(K)),
        "45 roots": nanoseconds(_roots, r(K), r(K), r(K)),
        "argmax": nanoseconds(_argmax, r(K), r(8)),
        "one normal number": nanoseconds(_normal, np.random.default_rng(0)),
    }
    start, whole = trial(1), trial(10_000, trials=5)
    pieces["set-up of a trial of 10,000 steps, for each"] = start / 10_000
    print("| piece | ns |\n|---|---:|")
    for name, cost in pieces.items():
        print(f"| {name} | {cost:.0f} |")
    print(f"| together | {sum(pieces.values()):.0f} |")
    print(f"| measured, for each of 10,000 steps | {whole / 10_000:.0f} |")


if __name__ == "__main__":
    main()
