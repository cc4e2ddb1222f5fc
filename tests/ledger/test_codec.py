"""Events as bytes: back as they were, or refused."""

import dataclasses
import random
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from projbandits.ledger.codec import EVENT_KINDS, Record, checksum, claimed, decode, encode
from projbandits.ledger.events import (
    Amended,
    Changed,
    Decayed,
    Decided,
    Described,
    Event,
    Learnt,
    Offered,
    Opened,
    Told,
    Withdrawn,
)

X, R = np.arange(6.0).reshape(2, 3), np.array([1.0, -0.0])
BASE = Decided("é" * 40, 1.5, 3, 9, 2**62, 2**63, 1, 0.5, -0.1, 0.2)
EVENTS: list[Event] = [
    Opened("k", 1.0, 2**127, {"class": "UE", "fields": {"alpha": 0.1}}, "UE()", X.T, None, None),
    Opened("k", 1.0, 0, None, "mine", X.T, ("a", "b", "c"), ("a", "b", "c")),
    Offered(7, X),
    Described("key", '{"class": "Ball"}'),
    Learnt("history", 2.0, X, R),
    dataclasses.replace(BASE, arm=X[0]),
    dataclasses.replace(BASE, index=None, arm=X[0], arms="key", label="film", meta='{"a": 1}'),
    dataclasses.replace(BASE, rows=np.array([3, 1, 2], dtype=np.uint8), taken=(2, 0)),
    dataclasses.replace(BASE, rows=np.array([300, 1], dtype=np.uint16)),
    dataclasses.replace(BASE, rows=np.array([70_000, 1], dtype=np.uint32)),
    dataclasses.replace(BASE, rows=np.arange(5, 400, dtype=np.uint16)),
    dataclasses.replace(BASE, rows=np.arange(5, 10, dtype=np.uint8), propensity=np.nan),
    Told("id", 3.0, -2.5),
    Told("id", 3.0, 0.0, "expired"),
    Amended("id", 4.0, 1e-300),
    Withdrawn("id", 5.0, "a robot"),
    Changed(6.0, columns=("a", "b", "c")),
    Changed(6.0, {"class": "UE", "fields": {}}, "UE()", X.T, ("a", "b", "c")),
    Decayed(9.0, 0.25),
    Opened("k", 1.0, 0, None, "mine", X.T, None, None, '{"format": 1}', (60.0, "seconds")),
    Offered(7, X, ("film", "17")),
    Learnt("history", 2.0, X, R, ("film", "film")),
    dataclasses.replace(BASE, arm=X[0], label="film", context='{"segment": "ä"}'),
    Changed(6.0, half_life=()),
    Changed(6.0, half_life=(500.0, "decisions")),
]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return (
            isinstance(other, np.ndarray)
            and one.dtype == other.dtype
            and (one.shape == other.shape and one.tobytes() == other.tobytes())
        )
    return type(one) is type(other) and (one == other or (one != one and other != other))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_comes_back_as_it_was(event: Event) -> None:
    record = encode(event)
    again = decode(record)
    assert type(again) is type(event)
    for field in dataclasses.fields(event):
        assert same(getattr(event, field.name), getattr(again, field.name)), field.name


def test_every_kind_of_event_is_tried() -> None:
    assert {type(event) for event in EVENTS} == {*EVENT_KINDS}


def test_rows_that_follow_each_other_take_a_few_bytes() -> None:
    many = dataclasses.replace(BASE, rows=np.arange(10**6, dtype=np.uint32))
    body = encode(many).body
    assert len(body) < 200
    assert claimed(body) == 10**6
    # 100 of 1,000 items: two bytes each.
    some = np.random.default_rng(0).permutation(1000)[:100].astype(np.uint16)
    body = encode(dataclasses.replace(BASE, rows=some)).body
    assert len(body) < 300
    assert claimed(body) == 0


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_other_bytes_are_an_event_or_a_value_error(event: Event) -> None:
    record, chance = encode(event), random.Random(0)
    for _ in range(40):
        body = bytearray(record.body)
        for _ in range(chance.randint(1, 3)):
            body[chance.randrange(len(body))] = chance.randrange(256)
        kept = bytes(body[: chance.choice([len(body), chance.randrange(len(body))])])
        with suppress(ValueError):
            if record.kind == EVENT_KINDS[Decided] and claimed(kept) > 10**5:
                continue  # whoever reads strangers' bytes asks first
            decode(Record(chance.choice([record.kind, record.kind, 99]), record.id, kept))


def test_the_checksum_is_of_everything() -> None:
    record = encode(Told("id", 3.0, 1.0))
    sums = {
        checksum(5, record),
        checksum(6, record),
        checksum(5, record._replace(kind=7)),
        checksum(5, record._replace(id="ie")),
        checksum(5, record._replace(id=None)),
        checksum(5, record._replace(body=record.body[:-1] + b"\1")),
    }
    assert len(sums) == 6
