"""What can be judged on a log: strategies, deciders, functions and columns, as probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from projbandits._validation import Array, short
from projbandits.arms import Arm
from projbandits.deciding.decider import Decider
from projbandits.deciding.eligibility import check_suits
from projbandits.deciding.offers import match
from projbandits.evaluation.schema import SUM, Chunk
from projbandits.ledger.offer import Offer
from projbandits.ridge import Ridge
from projbandits.strategies import LinearStrategy
from projbandits.strategies.probabilities import probabilities
from projbandits.subspace import Subspace


class Chances(NamedTuple):
    """How likely a policy chooses.

    Parameters
    ----------
    all : ndarray of shape (n, m) or (1, m), or None
        Each arm on offer; None if only those of the chosen arms are known.
    chosen : ndarray of shape (n,)
        The arm that the log has.
    """

    all: Array | None
    chosen: Array

    @classmethod
    def of(cls, chances: Array, chunk: Chunk) -> Chances:
        """Return the probabilities of all arms, and those of the chosen ones among them."""
        rows = np.arange(len(chunk.outcome)) if len(chances) > 1 else 0
        return cls(chances, chances[rows, chunk.place])

    def minus(self, other: Chances) -> Chances:
        """Return what a policy chooses more often than another."""
        both = None
        if self.all is not None and other.all is not None:
            both = self.all - other.all
        return Chances(both, self.chosen - other.chosen)


class Policy:
    """How likely each arm is, by what is on offer and by the context.

    Parameters
    ----------
    given : callable
        Takes arms (a matrix, a row each) and the context (a dict, or None) and returns the
        probabilities.
    label : str
        What to call it.
    """

    learns = False
    """Whether it learns from row to row, which must then come one after the other."""
    drawn = False
    """Whether it may be drawn to what its own log overestimates."""
    columns: tuple[str, ...] = ()
    """The columns of the log that it needs."""

    def __init__(self, given: Callable[[Array, Any], Any], label: str) -> None:
        self.given = given
        self.label = label

    def chances(self, chunk: Chunk) -> Chances:
        """Return the probabilities at each row."""
        if not chunk.complete:
            raise ValueError(
                f"policy must be a column of the log, got {self.label}: without a catalogue "
                "(arms=) it is unknown what was on offer"
            )
        if chunk.offered is None and not chunk.context:
            return Chances.of(self._asked(chunk.arms, None, f"at row {chunk.first}")[None], chunk)
        names, columns = list(chunk.context), [v.tolist() for v in chunk.context.values()]
        n, width = chunk.place.size, len(chunk.arms)
        if chunk.offered is not None:
            width = chunk.offered.shape[1]
        known, answers = dict[Any, int](), list[Array]()
        at = np.empty(n, dtype=np.int64)
        for t, values in enumerate(zip(*columns, strict=True) if columns else [()] * n):
            arms, key, where = chunk.arms, values, f"at row {chunk.first + t}"
            if chunk.offered is not None:
                rows = chunk.offered[t]
                arms, key = chunk.arms[rows[rows >= 0]], (t,) if names else (rows.tobytes(),)
            if key not in known:
                context = dict(zip(names, values, strict=True)) or None
                if chunk.offered is None:
                    where = f"where {short(context)}"
                known[key] = len(answers)
                answers.append(np.zeros(width))
                answers[-1][: len(arms)] = self._asked(arms, context, where)
            at[t] = known[key]
        return Chances.of(np.array(answers).reshape(-1, width)[at], chunk)

    def _asked(self, arms: Array, context: Any, where: str) -> Array:
        answer = self.given(arms, context)
        try:
            found = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.asarray(np.nan)
        if found.shape != (len(arms),) or not abs(found.sum() - 1) <= SUM or found.min() < 0:
            raise ValueError(
                f"policy must return {len(arms)} probabilities that are not negative and add up "
                f"to one, {self.label} returned {short(_listed(answer))} {where}"
            )
        return found


class ByDecider(Policy):
    """A decider as it is now: its strategy with its belief, which no longer changes."""

    drawn = True

    def __init__(self, decider: Decider, names: Sequence[str]) -> None:
        known = decider.belief()
        self.label = f"a decider with {known.strategy!r}"
        self.subspace = known.subspace
        order = None if known.columns is None else match("log", names, known.columns)
        self._strategy, self._state, self._order = known.strategy, known.state, order

    def given(self, arms: Array, context: Any) -> Array:
        """Return the probabilities of the arms on offer."""
        rows = arms if self._order is None else np.ascontiguousarray(arms[:, self._order])
        return stated(self._strategy, self._state, Offer(rows))


class ByStrategy(Policy):
    """A strategy that follows the log: at each row it knows the outcomes of the rows before."""

    learns = True
    drawn = True

    def __init__(
        self, strategy: LinearStrategy, subspace: Subspace, intercept: bool = False
    ) -> None:
        self.label = repr(strategy)
        self._strategy = check_suits(strategy)
        self._state = strategy.init(Offer(np.eye(subspace.ambient)), subspace)
        if intercept:
            prior = Ridge.prior(subspace.ambient, strategy.penalty, intercept=True)
            self._state = self._state._replace(ridge=prior)
        self._last: Any = None

    def chances(self, chunk: Chunk) -> Chances:
        """Return the probabilities at each row, and learn its outcome."""
        if not chunk.complete:
            return super().chances(chunk)
        self._check_order(chunk)
        n = len(chunk.outcome)
        width = len(chunk.arms) if chunk.offered is None else chunk.offered.shape[1]
        found, offer = np.zeros((n, width)), Offer(chunk.arms)
        for t in range(n):
            if chunk.offered is not None:
                rows = chunk.offered[t]
                offer = Offer(chunk.arms[rows[rows >= 0]])
            found[t, : offer.size] = stated(self._strategy, self._state, offer)
            x = chunk.arms[chunk.action[t]]
            state = self._strategy.update(self._state, Arm(x, None), float(chunk.outcome[t]))
            self._state = state
        return Chances(found, found[np.arange(n), chunk.place])

    def _check_order(self, chunk: Chunk) -> None:
        if chunk.time is None or not len(chunk.time):
            return
        late = np.flatnonzero(chunk.time[1:] < chunk.time[:-1])
        early = self._last is not None and chunk.time[0] < self._last
        if early or len(late):
            row = chunk.first + (0 if early else int(late[0]) + 1)
            raise ValueError(
                f"log must be in the order of its times, row {row} comes before the row above it: "
                f"sort it, {self.label} learns from row to row"
            )
        self._last = chunk.time[-1]


class ByColumn(Policy):
    """Probabilities that the log itself holds."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.columns = columns
        self.label = f"column {', '.join(columns)}"

    def chances(self, chunk: Chunk) -> Chances:
        """Return them, of the chosen arms or of all."""
        parts = [chunk.columns[name] for name in self.columns]
        found = parts[0] if len(parts) == 1 else np.column_stack(parts)
        rows = found if found.ndim == 2 else found[:, None]
        off = (rows < 0).any(axis=1) | (rows.sum(axis=1) > 1 + SUM)
        if found.ndim == 2:
            width = len(chunk.arms) if chunk.offered is None else chunk.offered.shape[1]
            if not chunk.complete or rows.shape[1] != width:
                raise ValueError(
                    f"policy must have a probability for each arm of the catalogue, {self.label} "
                    f"has {rows.shape[1]}"
                )
            off |= rows.sum(axis=1) < 1 - SUM
        if off.any():
            row = int(off.argmax())
            raise ValueError(
                f"log must hold probabilities, got {short(rows[row].tolist())} in row "
                f"{chunk.first + row}, {self.label}"
            )
        if found.ndim == 1:
            return Chances(None, found)
        return Chances(found, found[np.arange(len(found)), chunk.place])


def _listed(answer: Any) -> Any:
    return answer.tolist() if isinstance(answer, np.ndarray) else answer


def as_policy(
    policy: Any, names: Sequence[str], subspace: Subspace, intercept: bool = False
) -> Policy:
    """Return what is judged, or raise if it cannot be; with a level, a strategy learns it."""
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, Decider):
        return ByDecider(policy, names)
    if isinstance(policy, LinearStrategy):
        return ByStrategy(policy, subspace, intercept)
    if isinstance(policy, str):
        return ByColumn((policy,))
    if isinstance(policy, list | tuple) and policy and all(isinstance(c, str) for c in policy):
        return ByColumn(tuple(policy))
    if callable(policy) and not isinstance(policy, type):
        return Policy(policy, getattr(policy, "__qualname__", repr(policy)))
    raise TypeError(
        "policy must be a strategy such as pb.GENTRY(), a decider, a function of (arms, context), "
        f"or the name of a column, got {policy!r}"
    )


def stated(strategy: LinearStrategy, state: Any, arms: Offer) -> Array:
    """Return the probability of each arm, or raise if the strategy does not know them."""
    found = probabilities(strategy, state, arms)
    if found is None:
        raise ValueError(
            f"strategy must have known probabilities, got {strategy!r}: give it a method "
            "probabilities(state, arms)"
        )
    return found
