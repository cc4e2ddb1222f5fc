"""Another strategy follows a log: what it knows at each step, and what it would choose."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from projbandits._blas import single_threaded_blas
from projbandits._validation import Array, one_of, positive
from projbandits.arms import Arm
from projbandits.deciding.eligibility import check_suits
from projbandits.evaluation.cells import Cells
from projbandits.evaluation.cross_fitted import judge
from projbandits.evaluation.estimators import CLIP, bounded, check_bounds
from projbandits.evaluation.grouping import SCALED_PENALTY
from projbandits.evaluation.levels import wanted_with_level, with_ones
from projbandits.evaluation.log import Log
from projbandits.evaluation.moments import (
    MOMENT_PARTS,
    MOMENT_SIDES,
    Setting,
    possible,
    rowwise,
    terms,
)
from projbandits.evaluation.policies import Chances, stated
from projbandits.evaluation.predictable import Replay
from projbandits.evaluation.rows import Logged, Offered, open_log
from projbandits.evaluation.schema import Chunk
from projbandits.evaluation.spreading import Progress
from projbandits.ledger.offer import Offer
from projbandits.ridge import Ridge
from projbandits.strategies import LinearStrategy, State
from projbandits.strategies.open import OpenRows
from projbandits.subspace import Subspace

STEPS_ROOM = 1_000_000
"""About how many numbers of decisions are worked on at a time."""


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
    one_of("value", value, ("projection", "return"))
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
    shift, (squares, spread) = 0.0, _moments_of_features(known)
    scale = np.sqrt(np.where(squares > 0, squares, 1.0))
    if known.intercept:
        wanted = wanted_with_level(known.subspace, value, squares, spread)
        if value == "projection":  # which has no level: without it, weights of returns vary less
            shift = float(outcomes[at].mean())
    chosen, returns = _whole(known, X[at]), outcomes[at] - shift
    last = Ridge.prior(X.shape[1], SCALED_PENALTY, known.intercept)
    last = last.update_many(X[at] / scale, returns)
    final, noise = _theta(last, scale), 0.0 if last.equal else last.noise
    setting = Setting(wanted, np.empty(0), final, None, None, positive("clip", clip), noise**2)
    steps, parts = list[Step](), list[tuple[Array, ...]]()
    arms, played, size = None, Played(), 0
    for state, offered, theta in _knowledge(known, strategy, scale, shift):
        if arms is None or not arms.holds(offered.arms):  # the same arms have the same D_k
            arms = Offer(offered.arms)
            played.offer(offered.arms)
        chances = stated(strategy, state, arms)
        played.add(chances, offered.position)
        steps.append(Step(_whole(known, offered.arms), offered, chances, theta))
        size += offered.arms.size * len(MOMENT_PARTS)
        if size > STEPS_ROOM:
            parts.append(_judged(steps, setting))
            steps, size = [], 0
    if steps:
        parts.append(_judged(steps, setting))
    m, h, outside, thetas, variances, ratios, covered = map(
        np.concatenate, zip(*parts, strict=True)
    )
    return Replay(
        features=m,
        weights=h,
        model=rowwise(m, thetas),
        residuals=returns - rowwise(chosen, thetas),
        arms=chosen,
        outcomes=returns,
        final=m @ final,
        variances=variances[:, :2],
        outside=outside,
        subspace=known.subspace,
        ratios=ratios,
        ratio_variances=variances[:, 2:],
        covered=covered,
        value=value,
        clip=clip,
        shares=played.shares / len(m),
        which=np.array(played.chosen),
    )


class Step(NamedTuple):
    """A decision, the probabilities of a strategy at it, and theta-hat of those before."""

    arms: Array
    offered: Offered
    chances: Array
    theta: Array


def _judged(steps: list[Step], setting: Setting) -> tuple[Array, ...]:
    """Return what some decisions add to the estimates of a strategy.

    m_t, h_t, what of m_t is out of reach, theta-hat_t, the variances, w_t, and how much is covered.
    """
    n, widest = len(steps), max(len(step.arms) for step in steps)
    offered = np.full((n, widest), -1, dtype=np.int64)
    p, pi, start = np.zeros((n, widest)), np.zeros((n, widest)), 0
    for t, step in enumerate(steps):
        size = len(step.arms)
        offered[t, :size] = np.arange(start, start + size)
        p[t, :size], pi[t, :size] = step.offered.chances, step.chances
        start += size
    rows, positions = np.arange(n), np.array([step.offered.position for step in steps])
    arms, thetas = np.concatenate([step.arms for step in steps]), np.array([s.theta for s in steps])
    propensity = p[rows, positions]
    propensity[propensity <= 0] = np.inf  # of an arm that could not be chosen: its weight is 0
    chunk = Chunk(0, arms, offered[rows, positions], np.zeros(n), propensity, p, offered, positions)
    setting, ones = replace(setting, thetas=thetas), np.ones(n)
    chances = Chances.of(pi, chunk)
    found = terms(Cells(chunk, rows, ones, 0.0 * ones), chances, setting)
    assert found.outside is not None
    each, weights = possible(chunk, chances, p, thetas, found.turn, setting)
    variances = np.einsum("nk,nkj->nj", p, each**2 + setting.noise * weights**2)
    some = [MOMENT_PARTS.index(part) for part in ("linear", "linear_doubly", "plain", "doubly")]
    covered, w = MOMENT_SIDES.index("covered"), MOMENT_PARTS.index("plain")
    return (
        found.m, found.b[:, 0], found.outside, thetas, variances[:, some], found.b[:, w],
        found.sides[:, covered],
    )  # fmt: skip


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
            state = state._replace(ridge=log.belief(offered, strategy))
        elif log.deciders > 1:
            raise ValueError(
                f"log must be that of one decider, got {log.deciders} put together, for "
                f"{strategy!r}, which cannot take over what was believed: replay each alone"
            )
        elif offered.observations != done:
            raise ValueError(
                f"log is incomplete: decision {columns['id'][t]!r} knew "
                f"{offered.observations} outcomes, the log has {done} (the others came by "
                f"`learn`, or their rows are left out), and {strategy!r} cannot take "
                "over what was believed: replay a strategy that learns on the same, or a table "
                "with its attrs"
            )
        now = state._replace(step=int(columns["step"][t]))
        if offered.open is not None:
            rows = OpenRows(offered.open.reshape(-1, d + 1), partial(strategy.learnt, now))
            now = now._replace(ridge=now.ridge.counting(rows))
        yield now, offered, _theta(model, scale, shift)


def _moments_of_features(log: Logged) -> tuple[Array, Array]:
    """Return mean squares and covariances of the features on offer."""
    count, middle = 0, log.X.mean(axis=0)
    squares, sums, products = np.zeros(len(middle)), np.zeros(len(middle)), 0.0
    for arms in log.arms():
        away = arms - middle
        squares += (arms**2).sum(axis=0)
        sums += away.sum(axis=0)
        products = products + away.T @ away
        count += len(away)
    return squares / count, products / count - np.outer(sums, sums) / count**2


def _whole(log: Logged, arms: Array) -> Array:
    """Return arms with a column of ones before them, if the log's returns have a level."""
    return with_ones(arms) if log.intercept else arms


def _theta(ridge: Ridge, scale: Array, shift: float = 0.0) -> Array:
    """Return theta-hat of features that were divided by `scale`, behind the level if any."""
    theta = ridge.theta / scale
    level = ridge.level - shift if ridge.weight > 0.0 else 0.0
    return np.append(level, theta) if ridge.intercept else theta
