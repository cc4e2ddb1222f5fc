import numpy as np
import pytest

from projbandits.ledger import columns
from projbandits.ledger.events import Decided, Told
from projbandits.ledger.packing import pack


def test_what_was_offered_to_many_is_packed_once_and_each_row_is_as_if_it_were_packed_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared, other = np.array([3, 1, 9], dtype=np.uint8), np.array([3, 1, 9], dtype=np.uint8)
    events = [
        Decided(f"id{i}", 1.0, 1, 1, 0, i, 0, 0.5, 0.0, 1.0, rows)
        for i, rows in enumerate((shared, other, shared, None, np.array([], dtype=np.uint8)))
    ]
    alone = [columns.encode(event, 7) for event in events]
    calls = list[object]()

    def counted(rows: np.ndarray) -> bytes:
        calls.append(rows)
        return pack(rows)

    monkeypatch.setattr(columns, "pack", counted)
    packed = columns.offers_packed([*events, Told("id0", 2.0, 1.0)])
    assert len(calls) == 3
    assert [columns.encode(event, 7, packed=packed) for event in events] == alone
