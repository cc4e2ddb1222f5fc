import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projbandits.ledger.packing import pack, unpack, unpack_at, unpack_many

numbers = st.lists(st.integers(0, 2**32 - 1) | st.integers(0, 9), max_size=40)


@given(st.lists(numbers | numbers.map(lambda values: sorted(set(values))), max_size=5))
def test_numbers_come_back_in_their_order(lists: list[list[int]]) -> None:
    packed = [pack(values) for values in lists]
    assert [found.tolist() for found in unpack_many(packed)] == lists
    for values, content in zip(lists, packed, strict=True):
        assert unpack(content).tolist() == values
        assert [unpack_at(content, i) for i in range(len(values))] == values


def test_a_subset_takes_few_bytes_and_a_whole_catalogue_next_to_none() -> None:
    rows = np.random.default_rng(0).permutation(1000)[:100]
    assert len(pack(rows)) == 127
    assert len(pack(np.sort(rows))) < 100
    assert len(pack(np.arange(10**6))) < 10


def test_bytes_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="bytes for"):
        unpack(pack([7, 3, 900])[:-1])
    with pytest.raises(IndexError, match="place 3 among 3"):
        unpack_at(pack([7, 3, 900]), 3)
