"""The belief as a fold over events: one function, one event at a time.

What is known at a position is defined by the events up to it: the outcomes in force there, each
learnt at the place of its first report, by the strategy in force there. However it is reached, from
the beginning or from a snapshot, at once or event by event, it has the same bits.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from projbandits._blas import single_threaded_blas, while_small
from projbandits._validation import Array
from projbandits.arms import Arm, FiniteArms
from projbandits.exceptions import DamagedError
from projbandits.features.features import Features
from projbandits.ledger.codec import LENGTH
from projbandits.ledger.describing import strategy_fields, strategy_of
from projbandits.ledger.events import (
    Amended,
    Changed,
    Decayed,
    Decided,
    Learnt,
    Opened,
    Told,
    Withdrawn,
)
from projbandits.ledger.protocol import Entry, Ledger, Snapshot
from projbandits.ridge import Ridge
from projbandits.strategies import LinearStrategy, State
from projbandits.strategies.effects import Effects
from projbandits.strategies.open import OpenDecisions
from projbandits.subspace import Subspace

CHANGING = (Amended, Withdrawn, Changed)
DECISIONS, SECONDS = "decisions", "seconds"
ITEM_FIELDS = (
    "ridge", "penalty", "ratio", "noise", "n", "fade", "intercept", "first", "equal",
)  # fmt: skip
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
    open : OpenDecisions
        The decisions whose outcome is open.
    features : Features or None
        How raw columns become features.
    half_life : tuple of float and str
        See `Opened`.
    clock : float
        The latest time of an event, where outcomes lose weight with time.
    intercept : bool
        Whether returns have a level that is learnt.
    """

    position: int
    key: str
    seed: int
    strategy: LinearStrategy
    subspace: Subspace
    columns: tuple[str, ...] | None
    state: State
    open: OpenDecisions
    features: Features | None = None
    half_life: tuple[Any, ...] = ()
    clock: float = 0.0
    intercept: bool = False


def opened(event: Opened, given: Given = ()) -> Known:
    """Return what is known when a ledger begins."""
    subspace = Subspace(event.subspace, event.names)
    strategy = strategy_of(event.strategy, event.label, given)
    return Known(
        1,
        event.key,
        event.seed,
        strategy,
        subspace,
        event.columns,
        _initial(strategy, subspace, event.intercept),
        OpenDecisions(subspace.ambient),
        features=None if event.features is None else Features.from_json(event.features),
        half_life=event.half_life,
        clock=event.time,
        intercept=event.intercept,
    )


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
    if start is not None:
        with while_small(1, start.subspace.ambient):
            known = _forward(ledger, start, upto)
        if known is not None:
            return known
    with single_threaded_blas():
        return _afresh(ledger, start, upto, given)


def _afresh(ledger: Ledger, start: Known | None, upto: int, given: Given) -> Known:
    """Return what is known at a position, where something changes what was before."""
    in_force: dict[str, float | None] = {}
    learner: Known | None = None
    while True:
        known = start or _from_snapshot(ledger, upto, given) or _beginning(ledger, given, learner)
        found, earliest, relearn = dict(in_force), upto, False
        for chunk in ledger.read(known.position, upto):
            for entry in chunk:
                event = entry.event
                if isinstance(event, Amended | Withdrawn) and entry.place is not None:
                    found[event.id] = event.outcome if isinstance(event, Amended) else None
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
            if type(entry[1]) in CHANGING and not _is_settled_here(entry):
                return None
            known = fold(known, entry)
    return known


def _is_settled_here(entry: Entry) -> bool:
    """Tell whether an event is about a decision of which nothing was learnt before."""
    return isinstance(entry.event, Amended | Withdrawn) and entry.place is None


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
    position, event, arm, place, label, decided = entry
    if known.half_life:
        known = _later(known, getattr(event, "time", known.clock))
    state, open_ = known.state, known.open
    if isinstance(event, Decided):
        assert arm is not None
        open_ = open_.add(position, arm.copy(), label)
        state = State(state.step + 1, *state[1:])
        if known.half_life and known.half_life[1] == DECISIONS:
            state = faded(state, 0.5 ** (1.0 / known.half_life[0]))
    elif isinstance(event, Told) or (isinstance(event, Amended) and place is None):
        assert decided is not None
        open_ = open_.without(decided)
        outcome = in_force.get(event.id, event.outcome)
        if outcome is not None:
            assert arm is not None
            state = _told(known.strategy, state, arm, label, outcome)
    elif isinstance(event, Withdrawn):
        assert decided is not None
        open_ = open_.without(decided)
    elif isinstance(event, Learnt):
        state = _learnt(known, event.X, event.outcomes, event.labels)
    elif isinstance(event, Decayed):
        state = faded(state, event.by)
        if state.effects is not None and not known.half_life:
            state = state._replace(effects=state.effects.rejoined())
    elif isinstance(event, Changed):
        known = changed(known, event, given, learner)
        state = known.state
    # As a tuple, since every event comes this way: _replace takes four times as long.
    return tuple.__new__(Known, (position, *known[1:6], state, open_, *known[8:]))


def changed(known: Known, event: Changed, given: Given, learner: Known | None = None) -> Known:
    """Return what is known after a change, with what was learnt before as far as it carries."""
    subspace, strategy = known.subspace, known.strategy
    if learner is None and event.subspace is not None:
        subspace = Subspace(event.subspace, event.names)
    if learner is None and event.label is not None:
        strategy = strategy_of(event.strategy, event.label, given)
    columns = known.columns or event.columns  # the first to name them decides
    if event.half_life is not None:
        known = known._replace(half_life=event.half_life, clock=max(known.clock, event.time))
        if not event.half_life and known.state.effects is not None:
            rejoined = known.state.effects.rejoined()
            known = known._replace(state=known.state._replace(effects=rejoined))
    if subspace is known.subspace and strategy is known.strategy:
        return known._replace(columns=columns)
    before = known.state
    ridge = replace(before.ridge, penalty=strategy.penalty)
    state = _initial(strategy, subspace, known.intercept)
    state = state._replace(step=before.step, ridge=ridge)
    if _models(strategy) and _models(strategy) == _models(known.strategy):
        state = state._replace(effects=before.effects)
    return known._replace(strategy=strategy, subspace=subspace, columns=columns, state=state)


def carries(one: Known, other: Known) -> bool:
    """Tell whether what one learnt is what the other would have learnt from the same events."""
    if one.strategy is other.strategy and one.subspace is other.subspace:
        return True
    if _models(other.strategy) and _models(other.strategy) != _models(one.strategy):
        return False
    same = np.array_equal(one.subspace.matrix, other.subspace.matrix)
    if not (learns_plainly(one.strategy) and learns_plainly(other.strategy)):
        return same and repr(one.strategy) == repr(other.strategy)
    on = one.strategy.learns_on
    return on == other.strategy.learns_on and (same or on == "arm")


def _models(strategy: LinearStrategy) -> tuple[Any, ...]:
    """Return what the belief about effects of items depends on; empty if there is none."""
    return () if strategy.arm_effects is None else (strategy.penalty, *strategy.known_scales)


def learns_plainly(strategy: LinearStrategy) -> bool:
    """Tell whether a strategy's belief follows from its observations as in `LinearStrategy`."""
    kind = type(strategy)
    own = (kind.update, kind.learnt, kind.replan)
    return own == (LinearStrategy.update, LinearStrategy.learnt, LinearStrategy.replan)


Mate = tuple[int, int, Array, str | None]
"""Session, draw, arm and label of a decision that others of its batch counted as open."""


def snapshot(known: Known, mates: Sequence[Mate] = ()) -> Snapshot:
    """Return what is known as a snapshot.

    `mates` are decisions made by it that others counted, where their events are dropped.
    """
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
        "features": None if known.features is None else known.features.to_dict(),
        "half_life": known.half_life,
        "clock": known.clock,
        "forgotten": ridge.forgotten,
        "intercept": known.intercept,
        "first": ridge.first,
        "equal": ridge.equal,
        "open": [position for position, _ in known.open.rows],
        "open_labels": known.open.listed[1],
        "mates": [(session, draw, label) for session, draw, _, label in mates],
    }
    parts = [basis, ridge.factor, known.open.listed[0], *(x for _, _, x, _ in mates)]
    items: Effects | None = known.state.effects
    if items is not None:
        fields["items"] = {
            **{name: getattr(items, name) for name in ITEM_FIELDS},
            "labels": items.labels,
            "joined": items.joint is not None,
        }
        parts += [items.within, *([] if items.joint is None else [items.joint]), items.table]
    text = json.dumps(fields).encode()
    arrays = np.concatenate([part.ravel() for part in parts]).astype("<f8").tobytes()
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
    read = _read(kept)
    if read is None:
        return None
    fields, flat = read
    d = fields["d"]
    basis = flat[: d * fields["dim"]].reshape(d, -1)
    names, columns = fields["names"], fields["columns"]
    subspace = Subspace(basis, None if names is None else tuple(names))
    strategy = strategy_of(fields["strategy"], fields["label"], given)
    intercept = fields["intercept"]
    size = d + 1 + intercept
    at = basis.size + size**2
    factor = flat[basis.size : at].reshape(size, size)
    told = fields["forgotten"], intercept, fields["first"], fields["equal"]
    ridge = Ridge(strategy.penalty, fields["n"], factor, *told)
    state = _initial(strategy, subspace, intercept)._replace(step=fields["step"], ridge=ridge)
    end = at + d * len(fields["open"])
    rows = flat[at:end].reshape(-1, d)
    open_, before = OpenDecisions(d), 0
    for position, x, label in zip(fields["open"], rows, fields["open_labels"], strict=True):
        if type(position) is not int or not before < position <= kept.position:
            raise ValueError(f"a snapshot has an open decision at {position!r} after {before}")
        open_, before = open_.add(position, x.copy(), label), position
    end += d * len(fields["mates"])
    if (strategy.arm_effects is not None) != ("items" in fields):
        return None
    if "items" in fields:
        state = state._replace(effects=_items(fields["items"], size, flat[end:]))
    features = fields["features"]
    return Known(
        kept.position,
        fields["key"],
        fields["seed"],
        strategy,
        subspace,
        None if columns is None else tuple(columns),
        state,
        open_,
        None if features is None else Features.from_dict(features),
        tuple(fields["half_life"]),
        fields["clock"],
        intercept,
    )


def mates_in(kept: Snapshot) -> list[Mate]:
    """Return the mates that a snapshot holds."""
    read = _read(kept)
    if read is None:
        return []
    fields, flat = read
    d, size = fields["d"], fields["d"] + 1 + fields["intercept"]
    start = d * fields["dim"] + size**2 + d * len(fields["open"])
    rows = flat[start : start + d * len(fields["mates"])].reshape(-1, d)
    told = zip(fields["mates"], rows, strict=True)
    return [(session, draw, x.copy(), label) for (session, draw, label), x in told]


def _read(kept: Snapshot) -> tuple[dict[str, Any], Array] | None:
    """Return the fields and the numbers of a snapshot, None if it is not one."""
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
    return fields, flat


def _items(fields: Any, size: int, flat: Array) -> Effects:
    """Return what a snapshot says of items, with factors of this size."""
    heads = 2 if fields["joined"] else 1
    square = flat[: heads * size**2].reshape(heads, size, size)
    table = flat[heads * size**2 :].reshape(-1, size + 1 - fields["intercept"])
    if len(table) != len(fields["labels"]):
        raise ValueError(f"a snapshot has {len(table)} items for {len(fields['labels'])} names")
    scalars = {name: fields[name] for name in ITEM_FIELDS}
    joint = square[1] if fields["joined"] else None
    return Effects.of(fields["labels"], table, joint, within=square[0], **scalars)


def aged(known: Known, time: float) -> State:
    """Return what is believed at a time: where weights are lost with time, until then."""
    half_life = known.half_life
    if not half_life or half_life[1] == DECISIONS or time <= known.clock:
        return known.state
    return faded(known.state, 0.5 ** ((time - known.clock) / half_life[0]))


def _later(known: Known, time: float) -> Known:
    """Return what is known when an event comes; a clock that goes back stands still."""
    if time <= known.clock:
        return known
    return known._replace(state=aged(known, time), clock=time)


def faded(state: State, by: float) -> State:
    """Return what is believed when every outcome has `by` times its weight."""
    effects = None if state.effects is None else state.effects.decayed(by)
    return state._replace(ridge=state.ridge.decayed(by), effects=effects)


def _told(
    strategy: LinearStrategy, state: State, arm: Array, label: str | None, outcome: float
) -> State:
    """Return what is believed after an outcome."""
    # An update counts as a step to a strategy; here steps are decisions.
    return State(state.step, *strategy.update(state, Arm(arm, None, label), outcome)[1:])


def _initial(strategy: LinearStrategy, subspace: Subspace, intercept: bool) -> State:
    d = subspace.ambient
    state = strategy.init(FiniteArms(np.eye(d)), subspace)
    if intercept:
        state = state._replace(ridge=Ridge.prior(d, strategy.penalty, intercept=True))
    if state.effects is None:
        return state
    effects = Effects.prior(d, strategy.penalty, *strategy.known_scales, intercept)
    return state._replace(effects=effects)


def _beginning(ledger: Ledger, given: Given, learner: Known | None) -> Known:
    """Return what is known at the first event, by the strategy of `learner` if there is one."""
    entry = next(ledger.read(0, 1))[0]
    if not isinstance(entry.event, Opened):
        raise DamagedError(f"a ledger must begin with Opened, got {type(entry.event).__name__}")
    known = opened(entry.event, given)
    if learner is None:
        return known
    state = _initial(learner.strategy, learner.subspace, known.intercept)
    return known._replace(strategy=learner.strategy, subspace=learner.subspace, state=state)


def _from_snapshot(ledger: Ledger, upto: int, given: Given) -> Known | None:
    kept = ledger.snapshot(upto)
    return None if kept is None else restored(kept, given)


def _learnt(known: Known, X: Array, outcomes: Array, labels: tuple[str, ...] | None) -> State:
    state, strategy = known.state, known.strategy
    items: Effects | None = state.effects
    some = X @ state.projection if strategy.learns_on == "projection" else X
    ridge = state.ridge.update_many(some, outcomes)
    if items is None:
        return state._replace(ridge=ridge)
    for label, x, outcome in zip(labels or [None] * len(X), some, outcomes.tolist(), strict=True):
        items = items.update(label, x, outcome)
    if len(X):
        items = items.fitted(*strategy.known_scales)
    return state._replace(ridge=ridge, effects=items)
