"""Another strategy follows a log: what it knows at each step, and what it would choose."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from projbandits._blas import single_threaded_blas
from projbandits._validation import Array, one_of, positive
from projbandits.arms import Arm
from projbandits.deciding.eligibility import check_suits
from projbandits.evaluation.estimators import CLIP, bounded, check_bounds, turned
from projbandits.evaluation.grouping import SCALED_PENALTY
from projbandits.evaluation.judging import VALUES, judge
from projbandits.evaluation.levels import wanted_with_level, with_ones
from projbandits.evaluation.log import Log
from projbandits.evaluation.offpolicy import Replay
from projbandits.evaluation.policies import stated
from projbandits.evaluation.rows import Logged, Offered, open_log
from projbandits.evaluation.spreading import Progress
from projbandits.ledger.offer import Offer
from projbandits.ridge import Ridge
from projbandits.strategies import LinearStrategy, State
from projbandits.strategies.open import OpenRows
from projbandits.subspace import Subspace


def replay(
    log: Any,
    policy: Any,
    *,
    value: str = "projection",
    subspace: Subspace | None = None,
    clip: float = CLIP,
    bounds: tuple[float, float] | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Any:
    """Follow a log with another policy, to estimate what it would have been worth.

    Parameters
    ----------
    log : Log, DataFrame, path or Decider
        A `pb.Log`; or what `Decider.log` returned, a Parquet file of it, or the decider itself,
        whose log is then read in pieces and never all at once.
    policy : LinearStrategy, Decider, callable or str
        What to judge. A strategy follows the log: at each step it knows what the log's decider
        knew, history included; on a `pb.Log`, the outcomes of the rows before. A
        decider is judged as it is now. A function takes the arms on offer (a matrix) and the
        context (a dict of the row's columns, or None) and returns the arms' probabilities. A text
        names the column of the log that holds the probability of the chosen arm, or of all arms in
        a vector; a list of texts, a column for each arm. All but a strategy need a `pb.Log`.
    value : {"projection", "return"}
        What it is worth: the part that counts, or the whole return.
    subspace : Subspace, optional
        The part of the features that counts; by default what counted for the log's decider. Names
        are matched with the log's.
    clip : float
        The largest weight of the clipped estimate.
    bounds : (float, float), optional
        Between which every outcome lies, such as (0, 1) for clicks. Where the log lacks arms of the
        policy, the row "arm by arm" then has bounds on the return value instead of nothing.
    executor : Executor, optional
        Where pieces of a `pb.Log` are read; by default threads.
    progress : callable, optional
        Called with numbers of rows of a `pb.Log`, piece by piece. They add up to twice its rows: it
        is read a second time unless many rows are alike.

    Returns
    -------
    Replay or Judged
        With `estimates()`, `lack_of_fit()` and `versus(other)`; print it to read it in words.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> rng = np.random.default_rng(0)
    >>> U = pb.Subspace.coordinates(keep=[0], d=2)
    >>> decider = pb.Decider(pb.GENTRY(schedule=lambda t: 0.5), subspace=U, seed=0)
    >>> for _ in range(200):
    ...     decision = decider.ask(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    ...     decider.tell(decision.id, decision.arm @ [1.0, 3.0] + 0.1 * rng.normal())
    >>> estimates = pb.replay(decider.log(), pb.GENTRY()).estimates()
    >>> float(estimates.loc["linear weights, doubly robust", "value"].round(1))
    1.0

    Of a table of any origin, a policy that always takes the first arm:

    >>> table = {"arm": rng.integers(0, 2, 1000), "p": np.full(1000, 0.5)}
    >>> table["outcome"] = table["arm"] + rng.normal(size=1000)
    >>> log = pb.Log.from_table(table, np.eye(2), action="arm", propensity="p", outcome="outcome")
    >>> judged = pb.replay(log, lambda arms, context: [0.0, 1.0], value="return")
    >>> float(judged.estimates().loc["arm by arm, doubly robust", "value"].round(1))
    1.0
    """
    one_of("value", value, VALUES)
    if isinstance(log, Log):
        return judge(log, policy, value, subspace, clip, executor, progress, bounds)
    if not isinstance(policy, LinearStrategy) and (callable(policy) or isinstance(policy, str)):
        raise TypeError(
            f"policy must be a strategy for a decider's own log, got {policy!r}: make a log of it "
            "with pb.Log.from_ledger(decider) or pb.Log.from_table(...)"
        )
    with single_threaded_blas():
        followed = _followed(open_log(log, subspace), check_suits(policy), value, clip)
    ends = bounded(bounds, followed.everything)
    check_bounds(ends, float(followed.outcomes.min()), float(followed.outcomes.max()))
    return replace(followed, bounds=ends)


def _followed(known: Logged, strategy: LinearStrategy, value: str, clip: float) -> Replay:
    """Return a strategy beside the log of a decider."""
    if strategy.arm_effects is not None:
        raise ValueError(
            f"policy must do without arm_effects, got {strategy!r}: a log has what was believed of "
            "the features, and not of each item"
        )
    X, at, outcomes = known.X, known.known, known.outcomes
    wanted = known.subspace.matrix if value == "projection" else np.eye(X.shape[1])
    shift, (scale, spread) = 0.0, _scale(known)
    if known.intercept:
        wanted = wanted_with_level(known.subspace, value, scale, spread)
        if value == "projection":  # which has no level: without it, weights of returns vary less
            shift = float(outcomes[at].mean())
    rows: list[tuple[Array, ...]] = []
    arms, played = None, Played()
    for state, offered, theta in _knowledge(known, strategy, scale, shift):
        if arms is None or not arms.holds(offered.arms):  # the same arms have the same D_k
            arms = Offer(offered.arms)
            played.offer(offered.arms)
        chances = stated(strategy, state, arms)
        played.add(chances, offered.position)
        whole = _whole(known, offered.arms)
        m = wanted @ (chances @ whole)
        turn, outside = turned(m, whole, offered.chances)
        could = offered.chances > 0
        ratios = np.divide(chances, offered.chances, out=np.zeros_like(chances), where=could)
        rows.append((m, turn, outside, theta, ratios, chances @ could))
    chosen, returns = _whole(known, X[at]), outcomes[at] - shift
    means, turns, outside, thetas = (np.array([row[i] for row in rows]) for i in range(4))
    last = Ridge.prior(X.shape[1], SCALED_PENALTY, known.intercept)
    last = last.update_many(X[at] / scale, returns)
    final, noise = _theta(last, scale), 0.0 if last.equal else last.noise
    variances, ratio_variances, own = [], [], []
    for offered, row in zip(known.offers(), rows, strict=True):
        wrong = final, final - row[3]
        arms_then, p = _whole(known, offered.arms), offered.chances
        h = arms_then @ row[1]
        variances.append([_variance(arms_then, p, h, theta, noise) for theta in wrong])
        ratio_variances.append([_variance(arms_then, p, row[4], theta, noise) for theta in wrong])
        own.append(row[4][offered.position])
    return Replay(
        features=means,
        weights=_rowwise(turns, chosen),
        model=_rowwise(means, thetas),
        residuals=returns - _rowwise(chosen, thetas),
        arms=chosen,
        outcomes=returns,
        final=means @ final,
        variances=np.array(variances),
        outside=outside,
        subspace=known.subspace,
        ratios=np.array(own),
        ratio_variances=np.array(ratio_variances),
        covered=np.array([row[5] for row in rows]),
        value=value,
        clip=positive("clip", clip),
        shares=played.shares / len(rows),
        which=np.array(played.chosen),
    )


class Played:
    """How likely each distinct arm was under a strategy, in sum, and which was chosen at each step.

    The first `MOST` are told apart; of more, each has little weight.
    """

    MOST = 20_000

    def __init__(self) -> None:
        self.shares: Array = np.zeros(self.MOST + 1)
        self.chosen: list[int] = []
        self._numbers: dict[bytes, int] = {}
        self._at: Any = None

    def offer(self, arms: Array) -> None:
        """Give numbers to the arms that are on offer from now on."""
        numbers = self._numbers
        for row in arms:
            if len(numbers) < self.MOST:
                numbers.setdefault(row.tobytes(), len(numbers))
        self._at = np.array([numbers.get(row.tobytes(), self.MOST) for row in arms])

    def add(self, chances: Array, position: int) -> None:
        """Add a step."""
        np.add.at(self.shares, self._at, chances)
        self.chosen.append(int(self._at[position]))


def _knowledge(
    log: Logged, strategy: LinearStrategy, scale: Array, shift: float
) -> Iterator[tuple[State, Offered, Array]]:
    """Yield what the strategy knows at each row whose outcome was told, the offer and theta-hat_t.

    The strategy takes over what was believed. Where it would have learnt something else, it learns
    from the outcomes in the log, if those are all there were.
    """
    columns, X, outcomes = log.columns, log.X, log.outcomes
    state = strategy.init(Offer(np.eye(X.shape[1])), log.subspace)
    d = X.shape[1]
    begun = Ridge.prior(d, SCALED_PENALTY, log.intercept)
    model, serves = begun, log.serves(strategy)
    if log.intercept:
        prior = Ridge.prior(d, strategy.penalty, intercept=True)
        state = state._replace(ridge=prior)
    fresh = state
    order, heard = log.told
    done = 0
    for t, offered in zip(log.known, log.offers(), strict=True):
        if heard[t] < done:  # a process that knew less than another before it
            state, model, done = fresh, begun, 0
        for i in order[done : heard[t]]:
            model = model.update(X[i] / scale, outcomes[i])
            if not serves:
                state = strategy.update(state, Arm(X[i], None), outcomes[i])
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
                f"log is incomplete: decision {columns['id'][t]!r} knew "
                f"{columns['observations'][t]} outcomes, the log has {done} (the others came by "
                f"`learn`, or their rows are left out), and {strategy!r} cannot take "
                "over what was believed: replay a strategy that learns on the same, or a table "
                "with its attrs"
            )
        now = state._replace(step=int(columns["step"][t]))
        if offered.open is not None:
            rows = OpenRows(offered.open.reshape(-1, d + 1), partial(strategy.learnt, now))
            now = now._replace(ridge=now.ridge.counting(rows))
        yield now, offered, _theta(model, scale, shift)


def _scale(log: Logged) -> tuple[Array, Array]:
    """Return root mean squares (1 for zeros) and covariances of the features on offer."""
    count, middle = 0, log.X.mean(axis=0)
    squares, sums, products = np.zeros(len(middle)), np.zeros(len(middle)), 0.0
    for offered in log.offers():
        away = offered.arms - middle
        squares += (offered.arms**2).sum(axis=0)
        sums += away.sum(axis=0)
        products = products + away.T @ away
        count += len(away)
    sizes: Array = np.sqrt(squares / count)
    spread = products / count - np.outer(sums, sums) / count**2
    return np.where(sizes > 0, sizes, 1.0), spread


def _whole(log: Logged, arms: Array) -> Array:
    """Return arms with a column of ones before them, if the log's returns have a level."""
    return with_ones(arms) if log.intercept else arms


def _theta(ridge: Ridge, scale: Array, shift: float = 0.0) -> Array:
    """Return theta-hat of features that were divided by `scale`, behind the level if any."""
    theta = ridge.theta / scale
    level = ridge.level - shift if ridge.weight > 0.0 else 0.0
    return np.append(level, theta) if ridge.intercept else theta


def _variance(arms: Array, p: Array, h: Array, theta: Array, noise: float) -> float:
    """Return the variance of h r over the choice of the arm and the noise, where r = <x, theta>."""
    means = h * (arms @ theta)
    return float(p @ means**2 - (p @ means) ** 2 + noise**2 * (p @ h**2))


def _rowwise(A: Array, B: Array) -> Array:
    products: Array = np.einsum("ij,ij->i", A, B)
    return products
