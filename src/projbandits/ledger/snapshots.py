"""Snapshots: what is known at a position, by the codec of events. They save time, never truth."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import msgspec

from projbandits._validation import Array
from projbandits.features.features import Features
from projbandits.ledger.describing import strategy_fields, strategy_of
from projbandits.ledger.events import decode_value, encode_value
from projbandits.ledger.fold import Known, initial
from projbandits.ridge import Ridge
from projbandits.strategies import LinearStrategy
from projbandits.strategies.effects import Effects
from projbandits.strategies.open import OpenDecisions
from projbandits.subspace import Subspace

NEWEST = 4
"""How many of the newest snapshots are kept; of the older ones, one for each doubling of age."""


class Items(msgspec.Struct, frozen=True, array_like=True):
    """What is known of the effects of items; see `Effects`."""

    labels: list[Any]
    table: Array
    within: Array
    joint: Array | None
    ridge: float
    penalty: float
    ratio: float
    noise: float
    n: int
    fade: float
    intercept: bool
    first: Any
    equal: bool


class Snapshot(msgspec.Struct, frozen=True, array_like=True):
    """What is known; see `Known`, `Ridge` and `OpenDecisions`."""

    position: int
    key: str
    seed: bytes
    strategy: dict[str, Any] | None
    label: str
    basis: Array
    names: list[str] | None
    columns: list[str] | None
    features: str | None
    half_life: tuple[Any, ...]
    clock: float
    intercept: bool
    step: int
    n: int
    factor: Array
    forgotten: float
    first: Any
    equal: bool
    open_at: list[int]
    open_arms: Array
    open_labels: list[str | None]
    items: Items | None


ENCODER = msgspec.msgpack.Encoder(enc_hook=encode_value)
DECODER = msgspec.msgpack.Decoder(Snapshot, dec_hook=decode_value)
ITEM_FIELDS = ("ridge", "penalty", "ratio", "noise", "n", "fade", "intercept", "first", "equal")


def snapshot(known: Known) -> bytes:
    """Return what is known as bytes."""
    ridge, names = known.state.ridge, known.subspace.names
    arms, labels = known.open.listed
    return ENCODER.encode(
        Snapshot(
            known.position,
            known.key,
            known.seed.to_bytes(16, "little"),
            strategy_fields(known.strategy),
            repr(known.strategy),
            known.subspace.basis,
            None if names is None else [*map(str, names)],
            None if known.columns is None else [*known.columns],
            None if known.features is None else known.features.to_json(),
            known.half_life,
            known.clock,
            known.intercept,
            known.state.step,
            ridge.n,
            ridge.factor,
            ridge.forgotten,
            ridge.first,
            ridge.equal,
            [position for position, _ in known.open.rows],
            arms,
            labels,
            _items(known.state.effects),
        )
    )


def _items(effects: Any) -> Items | None:
    if effects is None:
        return None
    arrays = effects.table, effects.within, effects.joint
    return Items([*effects.labels], *arrays, *(getattr(effects, name) for name in ITEM_FIELDS))


def restored(body: bytes, given: Iterable[LinearStrategy] = ()) -> Known:
    """Return what is known by a snapshot; raise ValueError if it is none."""
    try:
        said = DECODER.decode(body)
    except msgspec.MsgspecError as error:
        raise ValueError(f"a snapshot cannot be read: {error}") from error
    subspace = Subspace(said.basis, None if said.names is None else tuple(said.names))
    strategy = strategy_of(said.strategy, said.label, given)
    told = said.forgotten, said.intercept, said.first, said.equal
    ridge = Ridge(strategy.penalty, said.n, said.factor, *told)
    state = initial(strategy, subspace, said.intercept)._replace(step=said.step, ridge=ridge)
    open_ = OpenDecisions(subspace.ambient)
    for position, x, label in zip(said.open_at, said.open_arms, said.open_labels, strict=True):
        open_ = open_.add(position, x.copy(), label)
    if said.items is not None:
        scalars = {name: getattr(said.items, name) for name in ITEM_FIELDS}
        effects = Effects.of(
            said.items.labels,
            said.items.table,
            said.items.joint,
            within=said.items.within,
            **scalars,
        )
        state = state._replace(effects=effects)
    return Known(
        said.position,
        said.key,
        int.from_bytes(said.seed, "little"),
        strategy,
        subspace,
        None if said.columns is None else tuple(said.columns),
        state,
        open_,
        None if said.features is None else Features.from_json(said.features),
        said.half_life,
        said.clock,
        said.intercept,
    )


def seal(digest: bytes, body: bytes) -> bytes:
    """Return the digest of a snapshot, by that of the event that it follows."""
    return sha256(digest + body).digest()


def too_many(positions: list[int]) -> set[int]:
    """Return which of these positions, the newest first, to drop.

    Examples
    --------
    >>> from projbandits.ledger.snapshots import too_many
    >>> sorted(too_many([9, 8, 7, 6, 5, 4, 3, 2, 1]))
    [2, 3, 4]
    """
    seen, dropped = set[int](), set[int]()
    for position in positions[NEWEST:]:
        age = (positions[0] - position).bit_length()
        if age in seen:
            dropped.add(position)
        seen.add(age)
    return dropped
