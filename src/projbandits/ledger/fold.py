"""The belief as a fold over events: one function, one event at a time.

What is known at a position is defined by the events up to it: the outcomes in force there, each
learnt at the place of its first report, by the strategy in force there. However it is reached, from
the beginning or from a snapshot, at once or event by event, it has the same bits.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from projbandits._checks import Array
from projbandits.arms import Arm, FiniteArms
from projbandits.ledger.describing import strategy_fields, strategy_of
from projbandits.ledger.happened import (
    Amended,
    Believed,
    Changed,
    Decided,
    Learnt,
    Merged,
    Opened,
    Told,
    Withdrawn,
)
from projbandits.ledger.protocol import Damaged, Entry, Ledger, Snapshot
from projbandits.ridge import Ridge
from projbandits.strategies import LinearStrategy, State
from projbandits.subspace import Subspace

LENGTH = struct.Struct("<I")
CHANGING = (Amended, Withdrawn, Changed)
Given = Iterable[LinearStrategy]
InForce = Mapping[str, float | None]
AS_TOLD: InForce = {}


class Known(NamedTuple):
    """What follows from the events up to a position.

    Parameters
    ----------
    position : int
        The last event that is in it.
    key : str
        The ledger's own.
    seed : int
        The ledger's.
    strategy : LinearStrategy
        Who decides.
    subspace : Subspace
        What counts.
    columns : tuple of str or None
        The names of the features.
    state : State
        What the strategy knows.
    sources : frozenset of str
        The keys of ledgers of which only a sum was taken over.
    since : int
        Nothing up to this position can be folded again: what was believed there was taken over.
    """

    position: int
    key: str
    seed: int
    strategy: LinearStrategy
    subspace: Subspace
    columns: tuple[str, ...] | None
    state: State
    sources: frozenset[str] = frozenset()
    since: int = 0


def opened(event: Opened, given: Given = ()) -> Known:
    """Return what is known when a ledger begins."""
    subspace = Subspace(event.subspace, event.names)
    strategy = strategy_of(event.strategy, event.label, given)
    state = _initial(strategy, subspace)
    return Known(1, event.key, event.seed, strategy, subspace, event.columns, state)


def advanced(ledger: Ledger, start: Known | None, upto: int, given: Given = ()) -> Known:
    """Return what is known at a position.

    Parameters
    ----------
    ledger, upto : Ledger and int
        Where the events are, and the position.
    start : Known or None
        What is known at this position or before; None: the last snapshot, or the beginning.
    given : iterable of LinearStrategy
        Strategies that a ledger can only name.
    """
    if start is not None and (known := _forward(ledger, start, upto)) is not None:
        return known
    in_force: dict[str, float | None] = {}
    learner: Known | None = None
    while True:
        known = start or _from_snapshot(ledger, upto, given) or _beginning(ledger, given, learner)
        found, earliest, relearn = dict(in_force), upto, False
        for chunk in ledger.read(known.position, upto):
            for entry in chunk:
                event = entry.event
                if isinstance(event, Amended | Withdrawn) and entry.place is not None:
                    found[event.id] = event.reward if isinstance(event, Amended) else None
                    earliest = min(earliest, entry.place)
                elif isinstance(event, Changed) and learner is None:
                    relearn |= not carries(known, changed(known, event, given))
                known = fold(known, entry, in_force, given, learner)
        if found == in_force and not relearn:
            return known
        in_force = found
        if relearn:
            learner = known  # its strategy learns everything, from the beginning
        start = None if learner else _from_snapshot(ledger, earliest - 1, given)
        start = start or _beginning(ledger, given, learner)


def _forward(ledger: Ledger, known: Known, upto: int) -> Known | None:
    """Return what is known after some more events, None if one of them changes what was before."""
    for chunk in ledger.read(known.position, upto):
        for entry in chunk:
            if type(entry[1]) in CHANGING:
                return None
            known = fold(known, entry)
    return known


def fold(
    known: Known,
    entry: Entry,
    in_force: InForce = AS_TOLD,
    given: Given = (),
    learner: Known | None = None,
) -> Known:
    """Return what is known after one more event.

    Parameters
    ----------
    known : Known
        What was known before it.
    entry : Entry
        The event.
    in_force : mapping
        By id, outcomes that were amended (or withdrawn: None) later than they were told.
    given : iterable of LinearStrategy
        Strategies that a ledger can only name.
    learner : Known, optional
        Whose strategy and subspace are to be learnt by, whatever `Changed` says.
    """
    position, event, arm, place = entry
    state = known.state
    if isinstance(event, Decided):
        state = State(state.step + 1, *state[1:])
    elif isinstance(event, Told) or (isinstance(event, Amended) and place is None):
        reward = in_force.get(event.id, event.reward)
        if reward is not None:
            assert arm is not None
            # An update counts as a step to a strategy; here steps are decisions.
            state = State(state.step, *known.strategy.update(state, Arm(arm, None), reward)[1:])
    elif isinstance(event, Learnt):
        state = state._replace(ridge=_learnt(known, event.X, event.rewards))
    elif isinstance(event, Changed):
        known = changed(known, event, given, learner)
        state = known.state
    elif isinstance(event, Merged):
        ridge = _learnt(known, event.X, event.rewards)
        if event.factor is not None:
            ridge = ridge.merge(Ridge(ridge.penalty, event.n, event.factor))
        known = known._replace(sources=known.sources.union(event.sources))
        state = state._replace(step=state.step + len(event.decided) + event.steps, ridge=ridge)
    elif isinstance(event, Believed):
        ridge = Ridge(state.ridge.penalty, event.n, event.factor)
        state = state._replace(step=event.steps + 1, ridge=ridge)
        known = known._replace(sources=frozenset(event.sources), since=position)
    # As a tuple, since every event comes this way: _replace takes four times as long.
    return tuple.__new__(Known, (position, *known[1:6], state, *known[7:]))


def changed(known: Known, event: Changed, given: Given, learner: Known | None = None) -> Known:
    """Return what is known after a change, with what was learnt before as far as it carries."""
    subspace, strategy = known.subspace, known.strategy
    if learner is None and event.subspace is not None:
        subspace = Subspace(event.subspace, event.names)
    if learner is None and event.label is not None:
        strategy = strategy_of(event.strategy, event.label, given)
    columns = known.columns or event.columns  # the first to name them decides
    if subspace is known.subspace and strategy is known.strategy:
        return known._replace(columns=columns)
    before = known.state
    ridge = Ridge(strategy.ridge, before.ridge.n, before.ridge.factor)
    state = _initial(strategy, subspace)._replace(step=before.step, ridge=ridge)
    return known._replace(strategy=strategy, subspace=subspace, columns=columns, state=state)


def carries(one: Known, other: Known) -> bool:
    """Tell whether what one learnt is what the other would have learnt from the same events."""
    if one.strategy is other.strategy and one.subspace is other.subspace:
        return True
    same = np.array_equal(one.subspace.matrix, other.subspace.matrix)
    if not (learns_plainly(one.strategy) and learns_plainly(other.strategy)):
        return same and repr(one.strategy) == repr(other.strategy)
    on = one.strategy.learns_on
    return on == other.strategy.learns_on and (same or on == "arm")


def learns_plainly(strategy: LinearStrategy) -> bool:
    """Tell whether a strategy's belief follows from its observations as in `LinearStrategy`."""
    kind = type(strategy)
    own = (kind.update, kind.learnt, kind.replan)
    return own == (LinearStrategy.update, LinearStrategy.learnt, LinearStrategy.replan)


def snapshot(known: Known) -> Snapshot:
    """Return what is known as a snapshot."""
    ridge, basis = known.state.ridge, known.subspace.basis
    fields = {
        "position": known.position,
        "key": known.key,
        "seed": known.seed,
        "strategy": strategy_fields(known.strategy),
        "label": repr(known.strategy),
        "names": known.subspace.names and [*map(str, known.subspace.names)],
        "columns": known.columns,
        "step": known.state.step,
        "n": ridge.n,
        "d": ridge.d,
        "dim": basis.shape[1],
        "sources": sorted(known.sources),
        "since": known.since,
    }
    text = json.dumps(fields).encode()
    arrays = np.concatenate([basis.ravel(), ridge.factor.ravel()]).astype("<f8").tobytes()
    body = b"".join((LENGTH.pack(len(text)), text, arrays))
    return Snapshot(known.position, LENGTH.pack(zlib.crc32(body)) + body)


def restored(kept: Snapshot, given: Given = ()) -> Known | None:
    """Return what a snapshot says, or None if it is not one that `snapshot` made.

    Examples
    --------
    >>> from projbandits.ledger.fold import restored
    >>> from projbandits.ledger.protocol import Snapshot
    >>> restored(Snapshot(3, b"nothing of that kind"))
    """
    try:
        (crc,), body = LENGTH.unpack_from(kept.body), memoryview(kept.body)[LENGTH.size :]
        if zlib.crc32(body) != crc:
            return None
        end = LENGTH.size + LENGTH.unpack_from(body)[0]
        fields = json.loads(bytes(body[LENGTH.size : end]))
        flat = np.frombuffer(body[end:], "<f8")
    except (struct.error, ValueError, RecursionError):
        return None
    if not isinstance(fields, dict) or fields.get("position") != kept.position:
        return None
    d = fields["d"]
    basis = flat[: d * fields["dim"]].reshape(d, -1)
    names, columns = fields["names"], fields["columns"]
    subspace = Subspace(basis, None if names is None else tuple(names))
    strategy = strategy_of(fields["strategy"], fields["label"], given)
    ridge = Ridge(strategy.ridge, fields["n"], flat[basis.size :].reshape(d + 1, d + 1))
    return Known(
        kept.position,
        fields["key"],
        fields["seed"],
        strategy,
        subspace,
        None if columns is None else tuple(columns),
        _initial(strategy, subspace)._replace(step=fields["step"], ridge=ridge),
        frozenset(fields["sources"]),
        fields["since"],
    )


def _initial(strategy: LinearStrategy, subspace: Subspace) -> State:
    return strategy.init(FiniteArms(np.eye(subspace.ambient)), subspace)


def _beginning(ledger: Ledger, given: Given, learner: Known | None) -> Known:
    """Return what is known at the first event, by the strategy of `learner` if there is one."""
    entry = next(ledger.read(0, 1))[0]
    if not isinstance(entry.event, Opened):
        raise Damaged(f"a ledger must begin with Opened, got {type(entry.event).__name__}")
    known = opened(entry.event, given)
    if learner is None:
        return known
    state = _initial(learner.strategy, learner.subspace)
    return known._replace(strategy=learner.strategy, subspace=learner.subspace, state=state)


def _from_snapshot(ledger: Ledger, upto: int, given: Given) -> Known | None:
    kept = ledger.snapshot(upto)
    return None if kept is None else restored(kept, given)


def _learnt(known: Known, X: Array, rewards: Array) -> Ridge:
    some = X @ known.state.projection if known.strategy.learns_on == "projection" else X
    return known.state.ridge.update_many(some, rewards)
