"""Another strategy follows a log: what it knows at each step, and what it would choose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from projbandits._checks import Array
from projbandits.arms import Arm
from projbandits.deciding.eligibility import check_suits
from projbandits.deciding.offers import Offer
from projbandits.deciding.probabilities import probabilities
from projbandits.evaluation.logged import Logged, Offered, open_log
from projbandits.evaluation.offpolicy import OUTSIDE, Replay
from projbandits.ridge import Ridge
from projbandits.strategies import LinearStrategy, State
from projbandits.subspace import Subspace

PENALTY = 0.1
"""The ridge of theta-hat_t, on features in units of their root mean square over all offers."""


def replay(log: Any, strategy: LinearStrategy, *, subspace: Subspace | None = None) -> Replay:
    """Follow a log with another strategy, to estimate what it would have been worth.

    Parameters
    ----------
    log : DataFrame, path or Decider
        What `Decider.log` returned, a Parquet file of it, or the decider itself, whose log is then
        read in pieces and never all at once.
    strategy : LinearStrategy
        The strategy to judge. At each step it knows what the log's decider knew, history and
        merged workers included.
    subspace : Subspace, optional
        The part of the features that counts; by default what counted for the log's decider. Names
        are matched with the log's.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> rng = np.random.default_rng(0)
    >>> U = pb.Subspace.coordinates(keep=[0], d=2)
    >>> decider = pb.Decider(pb.GENTRY(schedule=lambda t: 0.5), subspace=U, seed=0, log=True)
    >>> for _ in range(200):
    ...     decision = decider.ask(np.array([[1.0, 0.0], [0.0, 1.0]]))
    ...     decider.tell(decision.id, decision.arm @ [1.0, 3.0] + 0.1 * rng.normal())
    >>> estimates = pb.replay(decider.log(), pb.GENTRY()).estimates()
    >>> float(estimates.loc["doubly robust", "value"].round(1))
    1.0
    """
    check_suits(strategy)
    if strategy.arm_effects is not None:
        raise ValueError(
            f"strategy must do without arm_effects, got {strategy!r}: a log has what was believed "
            "of the features, and not of each item"
        )
    known = open_log(log, subspace)
    X, at, rewards = known.X, known.known, known.rewards
    scale = _scale(known)
    rows: list[tuple[Array, Array, bool, Array]] = []
    arms = Offer(X[:1])
    for state, offered, theta in _knowledge(known, strategy, scale):
        if not arms.holds(offered.arms):  # the same arms have the same D_k
            arms = Offer(offered.arms)
        chances = probabilities(strategy, state, arms)
        if chances is None:
            raise ValueError(
                f"strategy must have known probabilities, got {strategy!r}: give it a method "
                "probabilities(state, arms)"
            )
        m = known.subspace.matrix @ (chances @ offered.arms)
        rows.append((m, *_turning(m, offered.arms, offered.chances), theta))
    means, turns, within, thetas = (np.array(part) for part in zip(*rows, strict=True))
    chosen, returns = X[at], rewards[at]
    last = Ridge.prior(X.shape[1], PENALTY).update_many(chosen / scale, returns)
    final = last.theta / scale
    variances = [
        [_variance(offered, turn, wrong, last.noise) for wrong in (final, final - theta)]
        for offered, turn, theta in zip(known.offers(), turns, thetas, strict=True)
    ]
    return Replay(
        features=means,
        weights=_rowwise(turns, chosen),
        model=_rowwise(means, thetas),
        residuals=returns - _rowwise(chosen, thetas),
        arms=chosen,
        rewards=returns,
        final=means @ final,
        variances=np.array(variances),
        reached=within,
        subspace=known.subspace,
    )


def _knowledge(
    log: Logged, strategy: LinearStrategy, scale: Array
) -> Iterator[tuple[State, Offered, Array]]:
    """Yield what the strategy knows at each row whose outcome was told, the offer and theta-hat_t.

    The strategy takes over what was believed. Where it would have learnt something else, it learns
    from the outcomes in the log, if those are all there were.
    """
    columns, X, rewards = log.columns, log.X, log.rewards
    state = strategy.init(Offer(np.eye(X.shape[1])), log.subspace)
    model, serves = Ridge.prior(X.shape[1], PENALTY), log.serves(strategy)
    order, heard = log.told
    done = 0
    for t, offered in zip(log.known, log.offers(), strict=True):
        if heard[t] < done:  # a process that knew less than another before it
            state = strategy.init(Offer(np.eye(X.shape[1])), log.subspace)
            model, done = Ridge.prior(X.shape[1], PENALTY), 0
        for i in order[done : heard[t]]:
            model = model.update(X[i] / scale, rewards[i])
            if not serves:
                state = strategy.update(state, Arm(X[i], None), rewards[i])
        done = int(heard[t])
        if serves:
            state = state._replace(ridge=log.belief(t, offered.belief, strategy))
        elif log.deciders > 1:
            raise ValueError(
                f"log must be that of one decider, got {log.deciders} put together, for "
                f"{strategy!r}, which cannot take over what was believed: replay each alone"
            )
        elif columns["observations"][t] != done:
            raise ValueError(
                f"log must have every outcome that was known to decision {columns['id'][t]!r}, it "
                f"has {done} of {columns['observations'][t]} (the others came by `learn` or "
                f"`merge`, or their rows are left out), and {strategy!r} cannot take over what was "
                "believed: replay a strategy that learns on the same, or a table with its attrs"
            )
        state = state._replace(step=int(columns["step"][t]))
        yield state, offered, model.theta / scale


def _turning(m: Array, arms: Array, p: Array) -> tuple[Array, bool]:
    """Return G^+ m, and whether m lies in the span of the arms with p > 0.

    With the rows A = sqrt(p_a) x_a, G^+ = (A^T A)^+: by singular values of A, not of its square.
    """
    A = np.sqrt(p[p > 0])[:, None] * arms[p > 0]
    _, sizes, turned = np.linalg.svd(A, full_matrices=False)
    kept = turned[sizes > 1e-11 * sizes.max(initial=0.0)]
    along = kept @ m
    left = np.linalg.norm(m - along @ kept)
    reached = bool(left <= OUTSIDE * max(np.linalg.norm(m), np.finfo(np.float64).tiny))
    return (along / sizes[: len(kept)] ** 2) @ kept, reached


def _scale(log: Logged) -> Array:
    """Return the root mean square of each feature over all that was offered; 1 for zeros."""
    squares, count = np.zeros(log.X.shape[1]), 0
    for offered in log.offers():
        squares += (offered.arms**2).sum(axis=0)
        count += len(offered.arms)
    sizes: Array = np.sqrt(squares / count)
    return np.where(sizes > 0, sizes, 1.0)


def _variance(offered: Offered, turn: Array, theta: Array, noise: float) -> float:
    """Return the variance of h r over the choice of the arm and the noise, where r = <x, theta>."""
    arms, p = offered.arms, offered.chances
    h = arms @ turn
    means = h * (arms @ theta)
    return float(p @ means**2 - (p @ means) ** 2 + noise**2 * (p @ h**2))


def _rowwise(A: Array, B: Array) -> Array:
    products: Array = np.einsum("ij,ij->i", A, B)
    return products
