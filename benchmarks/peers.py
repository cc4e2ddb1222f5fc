"""Other ways to do the nearest equivalent work, each driven as its documentation says.

Each function plays setting a (45 arms, 10 features, u = 5) for so many steps and returns the number
of trial-steps it did. What differs from GENTRY is said in its first line.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import projbandits as pb
from projbandits.arms import FiniteArms

K, D, U, NOISE = 45, 10, 5, 0.5


def reference(steps: int) -> int:
    """GENTRY by the readable loop."""
    pb.simulate(
        pb.problems.random_arms(),
        pb.GENTRY(),
        trials=1,
        horizon=steps,
        engine="reference",
        progress=False,
    )
    return steps


def batched_numpy(steps: int, trials: int = 2000) -> int:
    """GENTRY in NumPy, all trials at once, step by step."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (trials, K, D))
    theta = rng.uniform(-1, 1, (trials, D))
    A = rng.uniform(-1, 1, (trials, D, U))
    P = A @ np.linalg.inv(A.transpose(0, 2, 1) @ A) @ A.transpose(0, 2, 1)
    F = X @ P
    means = (X @ theta[:, :, None])[:, :, 0]
    rewards = (F @ theta[:, :, None])[:, :, 0]
    gaps = rewards.max(axis=1, keepdims=True) - rewards
    inverse = np.tile(np.eye(D), (trials, 1, 1))
    estimate = np.zeros((trials, D))
    regret = np.zeros(trials)
    rows = np.arange(trials)
    for t in range(1, steps + 1):
        arm = (F @ estimate[:, :, None])[:, :, 0].argmax(axis=1)
        explores = rng.random(trials) < min(1.0, D / t)
        arm[explores] = rng.integers(D, size=int(explores.sum()))
        x = X[rows, arm]
        observed = means[rows, arm] + NOISE * rng.standard_normal(trials)
        v = (inverse @ x[:, :, None])[:, :, 0]
        shrink = 1 + (x * v).sum(axis=1)
        estimate += v * ((observed - (x * estimate).sum(axis=1)) / shrink)[:, None]
        inverse -= v[:, :, None] * (v / shrink[:, None])[:, None, :]
        regret += gaps[rows, arm]
    return steps * trials


def _world() -> tuple[Any, Any, Any]:
    world = pb.problems.random_arms().world(np.random.default_rng(0))
    assert isinstance(world.arms, FiniteArms)
    return world.arms.vectors, world.arm_returns, np.random.default_rng(1)


def mabwiser(steps: int) -> int:
    """MABWiser, LinGreedy: one ridge regression for each arm on a context; constant epsilon."""
    from mabwiser.mab import MAB, LearningPolicy

    X, means, rng = _world()
    bandit = MAB(list(range(K)), LearningPolicy.LinGreedy(epsilon=0.1, l2_lambda=1.0))
    context = X[:1]
    bandit.fit([0], [0.0], context)
    for _ in range(steps):
        arm = bandit.predict(context)
        bandit.partial_fit([arm], [means[arm] + NOISE * rng.standard_normal()], context)
    return steps


def river(steps: int) -> int:
    """river, LinUCBDisjoint: one linear model for each arm on a context, by optimism."""
    from river.bandit import LinUCBDisjoint

    X, means, rng = _world()
    bandit = LinUCBDisjoint(alpha=0.1, seed=0)
    context = {f"x{i}": float(value) for i, value in enumerate(X[0])}
    arms = list(range(K))
    for _ in range(steps):
        arm = bandit.pull(arms, context=context)
        bandit.update(arm, context, means[arm] + NOISE * rng.standard_normal())
    return steps


def vowpal_wabbit(steps: int) -> int:
    """Vowpal Wabbit, cb_explore_adf: one shared model over arm features, by gradient steps."""
    import vowpalwabbit

    X, means, rng = _world()
    texts = ["| " + " ".join(f"x{i}:{value:.6f}" for i, value in enumerate(x)) for x in X]
    bandit = vowpalwabbit.Workspace("--cb_explore_adf --epsilon 0.1 --quiet")
    for _ in range(steps):
        probabilities = np.array(bandit.predict("\n".join(texts)))
        arm = int(rng.choice(K, p=probabilities / probabilities.sum()))
        cost = -(means[arm] + NOISE * rng.standard_normal())
        labelled = list(texts)
        labelled[arm] = f"0:{cost:.6f}:{probabilities[arm]:.6f} {texts[arm]}"
        bandit.learn("\n".join(labelled))
    bandit.finish()
    return steps
