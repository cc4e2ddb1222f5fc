"""What another strategy would have been worth, from the log of one that decided.

At step t the log has the arms x_a on offer, the probabilities p_t(a) of choosing them, the one
that was chosen and the return r_t it brought. The other strategy follows the log: before step t it
has learnt from what had been told by then, and would choose with probabilities pi_t(a). To be
estimated is its projection value,

    V = mean over t of <m_t, theta>,   m_t = sum_a pi_t(a) P_U x_a,

what it would have been worth at these steps, knowing what the log knew. Weighting returns by
pi_t / p_t would estimate the value of its *returns*, corruption and all. For the projection the
weights must turn arms into their projections: with G_t = sum_a p_t(a) x_a x_a^T,

    h_t = <m_t, G_t^+ x_t>   has   E[h_t x_t | past] = m_t,

so that h_t r_t is right on average. That needs no overlap arm by arm, but that m_t lies in the
span of the arms that could be chosen.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from projbandits import statistics
from projbandits._checks import Array
from projbandits.arms import Arm
from projbandits.online.journal import read
from projbandits.online.offers import Offer
from projbandits.online.probabilities import probabilities
from projbandits.online.suiting import check_suits
from projbandits.strategies import LinearStrategy
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    import pandas as pd

OUTSIDE = 1e-6
"""m_t counts as out of reach if more than this share of its length is."""


@dataclass(frozen=True, eq=False)
class Replay:
    """Another strategy beside a log, a row for each decision whose outcome is known.

    Parameters
    ----------
    features : ndarray of shape (n, d)
        m_t: the mean of P_U x under the strategy.
    weights : ndarray of shape (n,)
        h_t.
    model : ndarray of shape (n,)
        <m_t, theta-hat>, by the estimate from what was told before step t.
    residuals : ndarray of shape (n,)
        r_t - <x_t, theta-hat>, by the same.
    rewards : ndarray of shape (n,)
        r_t.
    final : ndarray of shape (n,)
        <m_t, theta-hat> by the estimate from the whole log.
    reached : ndarray of shape (n,)
        Whether m_t lies in the span of the arms that could be chosen.
    """

    features: Array
    weights: Array
    model: Array
    residuals: Array
    rewards: Array
    final: Array
    reached: NDArray[np.bool_]

    def estimates(self, level: float = 0.95) -> pd.DataFrame:
        """Return the estimates of V with their intervals.

        inverse propensity
            The mean of h_t r_t. Unbiased if the propensities are right and returns are linear in
            the arms' features; nothing is asked of any estimate. It is nan if a step's m_t is out
            of reach, since no weighting of that step's returns is right on average then.
        doubly robust
            The mean of <m_t, theta-hat> + h_t (r_t - <x_t, theta-hat>), with the estimate from
            before step t. Unbiased as the one above, with less spread; and consistent with wrong
            propensities too if the estimate is. Where m_t is out of reach, that part of it rests
            on the estimate alone.

        Both are sums of martingale differences around V, so the intervals, from the sums of their
        squares, hold for logs of adaptive strategies. Outcomes that were never told are left out:
        that is fair only if whether they are told does not depend on them.

        `effective` is the effective number of decisions, (sum |h|)^2 / sum h^2.
        """
        import pandas as pd

        n = len(self.rewards)
        half = statistics.normal_quantile(level) / n
        plain = self.weights * self.rewards
        doubly = self.model + self.weights * self.residuals
        spread_plain = np.sqrt(((plain - self.final) ** 2).sum())
        spread_doubly = np.sqrt(((self.weights * self.residuals) ** 2).sum())
        found = {
            "inverse propensity": (plain.mean() if self.reached.all() else np.nan, spread_plain),
            "doubly robust": (doubly.mean(), spread_doubly),
        }
        total = (self.weights**2).sum()
        return pd.DataFrame(
            {
                name: {
                    "value": value,
                    "low": value - half * spread,
                    "high": value + half * spread,
                    "decisions": n,
                    "effective": np.abs(self.weights).sum() ** 2 / total if total > 0 else 0.0,
                    "reached": self.reached.mean(),
                }
                for name, (value, spread) in found.items()
            }
        ).T


def replay(
    log: pd.DataFrame | str | os.PathLike[str], strategy: LinearStrategy, *, subspace: Subspace
) -> Replay:
    """Follow a log with another strategy, to estimate what it would have been worth.

    Parameters
    ----------
    log : DataFrame or path
        What `Decider.log` returned, or a Parquet file of it.
    strategy : LinearStrategy
        The strategy to judge. It learns from the log's outcomes as they were told.
    subspace : Subspace
        The part of the features that counts.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> rng = np.random.default_rng(0)
    >>> U = pb.Subspace.coordinates(keep=[0], d=2)
    >>> decider = pb.Decider(pb.GENTRY(schedule=lambda t: 0.5), subspace=U, seed=0, log=True)
    >>> for _ in range(200):
    ...     decision = decider.ask(np.array([[1.0, 0.0], [0.0, 1.0]]))
    ...     decider.tell(decision.id, decision.arm @ [1.0, 3.0])
    >>> estimate = pb.replay(decider.log(), pb.GENTRY(), subspace=U).estimates()
    >>> float(estimate.loc["doubly robust", "value"].round(1))
    1.0
    """
    check_suits(strategy)
    table = read(log) if isinstance(log, str | os.PathLike) else log
    table = table.sort_values("step", ignore_index=True)
    names = [name for name in table.columns if name.startswith("x[")]
    subspace.check_fits(len(names))
    known = np.asarray(table["told_after"] >= 0)
    for column in ("offered", "probabilities"):
        missing = table["id"][known & table[column].isna().to_numpy()]
        if len(missing):
            raise ValueError(
                f"log must have what was {column} for every decision, decision "
                f"{missing.iloc[0]!r} lacks it: infinite sets, very many arms and strategies "
                "without known probabilities cannot be replayed"
            )
    if not known.any():
        raise ValueError("log must have at least one decision whose outcome was told, got none")
    return _follow(table, known, table[names].to_numpy(dtype=np.float64), strategy, subspace)


def _follow(
    table: pd.DataFrame,
    known: NDArray[np.bool_],
    X: Array,
    strategy: LinearStrategy,
    subspace: Subspace,
) -> Replay:
    P, rewards = subspace.matrix, table["reward"].to_numpy(dtype=np.float64)
    state = strategy.init(Offer(np.eye(X.shape[1])), subspace)
    # The outcomes in the order in which they were told, by how many decisions had been made.
    arrivals = table["told_after"].to_numpy()
    order = [i for i in np.argsort(arrivals, kind="stable").tolist() if arrivals[i] >= 0]
    rows: list[tuple[Array, float, float, float, bool]] = []
    at = []
    for t, step in enumerate(table["step"].tolist()):
        while order and arrivals[order[0]] < step:
            i = order.pop(0)
            state = strategy.update(state, Arm(X[i], None), rewards[i])
        if not known[t]:
            continue
        arms = Offer(np.asarray(table["offered"][t], dtype=np.float64).reshape(-1, X.shape[1]))
        state = state._replace(step=step)
        chances = probabilities(strategy, state, arms)
        if chances is None:
            raise ValueError(
                f"strategy must have known probabilities, got {strategy!r}: give it a method "
                "probabilities(state, arms)"
            )
        p = np.asarray(table["probabilities"][t], dtype=np.float64)
        m = P @ (chances @ arms.vectors)
        weight, reached = _weight(m, arms.vectors, p, X[t])
        theta = state.ridge.theta
        rows.append((m, weight, float(m @ theta), float(rewards[t] - X[t] @ theta), reached))
        at.append(t)
    for i in order:
        state = strategy.update(state, Arm(X[i], None), rewards[i])
    m, weights, model, residuals, reached_all = (np.array(part) for part in zip(*rows, strict=True))
    return Replay(m, weights, model, residuals, rewards[at], m @ state.ridge.theta, reached_all)


def _weight(m: Array, arms: Array, p: Array, x: Array) -> tuple[float, bool]:
    """Return <m, G^+ x>, and whether m lies in the span of the arms with p > 0.

    With the rows A = sqrt(p_a) x_a, G^+ = (A^T A)^+: by singular values of A, not of its square.
    """
    A = np.sqrt(p[p > 0])[:, None] * arms[p > 0]
    _, sizes, turned = np.linalg.svd(A, full_matrices=False)
    kept = turned[sizes > 1e-11 * sizes.max(initial=0.0)]
    along = kept @ m
    sizes = sizes[: len(kept)]
    left = np.linalg.norm(m - along @ kept)
    reached = bool(left <= OUTSIDE * max(np.linalg.norm(m), np.finfo(np.float64).tiny))
    return float((along / sizes**2) @ (kept @ x)), reached
