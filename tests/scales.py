"""One run of a decider on columns and rewards of any scale, for `tests.attacks` and the tests."""

from __future__ import annotations

import dataclasses
import math
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import projbandits as pb
from projbandits.strategies import LinearStrategy
from tests.everyone import anywhere

Rng = np.random.Generator
STEPS = 14

COLUMNS: dict[str, Callable[[Rng, int], Any]] = {
    "time": lambda rng, K: 1.7e9 + rng.integers(0, 10**6, K),
    "views": lambda rng, K: rng.lognormal(10.0, 2.0, K).round(),
    "ratio": lambda rng, K: 1e-9 * rng.random(K),
    "flag": lambda rng, K: rng.integers(0, 2, K),
    "constant": lambda rng, K: np.full(K, scale(rng)),
    "zero": lambda rng, K: np.zeros(K),
    "shifted": lambda rng, K: scale(rng) + scale(rng) * rng.normal(size=K),
    "any": lambda rng, K: scale(rng) * rng.normal(size=K),
    "wild": lambda rng, K: 10.0 ** rng.uniform(-12, 12, K),
}
REWARDS: list[Callable[[Rng, Any, float], float]] = [
    lambda rng, x, size: size * rng.normal(),
    lambda rng, x, size: size * float(rng.random() < 0.3),
    lambda rng, x, size: size,
    lambda rng, x, size: 0.0,
    lambda rng, x, size: size * (float(np.sign(x).sum()) + 0.1 * rng.normal()),
    lambda rng, x, size: float(x[0]),
    lambda rng, x, size: 10.0 ** rng.uniform(-12, 12),
]


def strategies(**options: Any) -> list[LinearStrategy]:
    """Every strategy of a decider with these options, and some with others of their own."""
    return [
        *anywhere(**options),
        pb.CURSE(alpha=0.3, **options),
        pb.ProjectedUE(alpha=3.0, **options),
        pb.DirectedIDS(radius="published", bound=5.0, **options),
    ]


def scale(rng: Rng) -> float:
    return float(10.0 ** rng.uniform(-12, 12))


def attack(seed: int) -> str | None:
    """Return what went wrong: anything but a result, or a refusal that names its column."""
    rng = np.random.default_rng(seed)
    strategy, names, offers, told = _case(rng, seed)
    what = f"seed {seed}, {strategy!r}, {names}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message="the arms offered so far cannot identify")
            warnings.filterwarnings("ignore", message="column .* has entries of about")
            warnings.filterwarnings("ignore", message=".* deviations off: the others are")
            warnings.filterwarnings("ignore", message="what counts nearly repeats")
            wrong = _run(rng, strategy, names, offers, told)
    except ValueError as error:
        named = any(repr(name) in str(error) for name in names)
        named = named or str(error).startswith(("rewards[", "the reward of"))
        return None if named else f"{what}: {error!r} names no column"
    except Exception as error:
        return f"{what}: {error!r}"
    return wrong and f"{what}: {wrong}"


def _case(rng: Rng, seed: int) -> tuple[Any, list[str], Callable[[], Any], Any]:
    more: dict[str, Any] = {}
    if rng.random() < 0.3:
        more["penalty"] = 10.0 ** rng.uniform(-6, 6)
    pool = strategies(**more)
    made = pool[seed % len(pool)]
    if hasattr(made, "noise") and rng.random() < 0.3:
        made = dataclasses.replace(made, noise=scale(rng))  # type: ignore[call-arg]
    d = int(rng.integers(2, 9))
    kinds = ["time", "views", "ratio", "flag"][:d] if rng.random() < 0.25 else []
    kinds += [str(kind) for kind in rng.choice([*COLUMNS], size=d - len(kinds))]
    names = [f"{kind}-{i}" for i, kind in enumerate(kinds)]
    convex = rng.random() < 0.1

    def table() -> Any:
        if convex:
            sides = [scale(rng) for _ in names]
            return pb.Box(lower=[-side for side in sides], upper=sides)
        K = int(rng.integers(1, 12))
        columns = {name: COLUMNS[kind](rng, K) for name, kind in zip(names, kinds, strict=True)}
        frame = pd.DataFrame(columns).astype(float)
        return (
            frame.iloc[rng.integers(0, K, K)].reset_index(drop=True)
            if rng.random() < 0.2
            else frame
        )

    same = table() if rng.random() < 0.5 else None
    size, reward = scale(rng), REWARDS[int(rng.integers(len(REWARDS)))]
    return made, names, lambda: table() if same is None else same, lambda x: reward(rng, x, size)


def _run(rng: Rng, strategy: Any, names: list[str], offers: Any, told: Any) -> str | None:
    subspace = pb.Subspace.without(names[0], columns=names)
    if rng.random() < 0.3:
        turned = pb.Subspace.span(rng.normal(size=(len(names), len(names) - 1)))
        subspace = pb.Subspace(turned.basis, tuple(names))
    decider = pb.Decider(strategy, subspace=subspace, seed=0)
    if rng.random() < 0.2:
        history = pd.DataFrame({name: [scale(rng), scale(rng)] for name in names})
        decider.learn(history, [told(x) for x in history.to_numpy()])
    late = rng.choice([0.0, 0.5, 0.9])
    for _ in range(STEPS):
        offered = offers()
        count = 1 if isinstance(offered, pb.Box) else min(len(offered), int(rng.integers(1, 3)))
        for decision in decider.ask(offered, count=count):
            if wrong := _wrong(decision, decider, strategy):
                return wrong
        waiting = [*decider.pending]
        rng.shuffle(waiting)
        for settled in waiting:
            if rng.random() >= late:
                decider.tell(settled.id, told(settled.arm))
    return _accounts(decider, decision)


def _wrong(decision: pb.Decision, decider: pb.Decider, strategy: Any) -> str | None:
    p, error = decision.propensity, decision.standard_error
    if not (0.0 < p <= 1.0 or isinstance(strategy, pb.ProjectedTS)):
        return f"propensity {p}"
    if not math.isfinite(decision.estimate):
        return f"estimate {decision.estimate}"
    if not (math.isnan(error) or 0.0 <= error < math.inf):  # unknown, or a number
        return f"standard error {error}"
    return None


def _accounts(decider: pb.Decider, decision: pb.Decision) -> str | None:
    """Look at all that is said of the decisions."""
    decider.explain(decision)
    with tempfile.TemporaryDirectory() as folder:
        decider.save(Path(folder) / "decider")
        repr(pb.Decider.load(Path(folder) / "decider"))
    if decision.index is not None:
        decider.audit()
    for p in decider.log()["probabilities"]:
        if p is not None and not (abs(p.sum() - 1.0) < 1e-9 and (p >= 0).all()):
            return f"probabilities {p}"
    return None
