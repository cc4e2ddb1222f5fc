"""The catalogue: each row once, found again by its bits."""

import numpy as np
import pytest

from projbandits._validation import Array
from projbandits.ledger.catalogue import Catalogue


def numbered(catalogue: Catalogue, X: Array) -> list[int]:
    rows, new = catalogue.numbered(X)
    catalogue.extend(new)
    np.testing.assert_array_equal(catalogue.vectors[rows], X)
    return [int(row) for row in rows]


@pytest.mark.parametrize("collide", [False, True])
def test_rows_have_the_numbers_of_their_first_coming(
    collide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if collide:  # all rows have one of two hashes
        monkeypatch.setattr(Catalogue, "_hashes", lambda _, X, names: [int(x[0] > 0) for x in X])
    rng = np.random.default_rng(0)
    pool = rng.integers(-3, 4, size=(200, 3)).astype(float)
    catalogue, naive = Catalogue(3), dict[bytes, int]()
    for _ in range(30):
        X = pool[rng.integers(200, size=rng.integers(1, 40))]
        expected = [naive.setdefault(x.tobytes(), len(naive)) for x in X]
        assert numbered(catalogue, X) == expected
    assert len(catalogue) == len(naive)


def test_zero_has_two_signs_and_any_layout_will_do() -> None:
    catalogue = Catalogue(2)
    X = np.array([[0.0, 1.0], [-0.0, 1.0]])
    assert numbered(catalogue, X) == [0, 1]
    assert numbered(catalogue, np.asfortranarray(X)) == [0, 1]
    assert numbered(catalogue, np.repeat(X, 2, axis=0)[::2]) == [0, 1]
    assert np.signbit(catalogue.vectors[1, 0])


def test_numbers_take_as_little_room_as_they_can() -> None:
    catalogue = Catalogue(1)
    for size, kind in ((256, np.uint8), (257, np.uint16), (65_537, np.uint32)):
        rows, new = catalogue.numbered(np.arange(float(size))[:, None])
        catalogue.extend(new)
        assert rows.dtype == kind


def test_an_extension_that_was_interrupted_is_completed_by_the_same_again() -> None:
    catalogue, X = Catalogue(2), np.arange(20.0).reshape(10, 2)

    def interrupted(vectors: object, labels: object = None) -> list[int]:
        found = Catalogue._hashes(catalogue, X)
        catalogue._found.update({found[0]: 0, found[1]: 1})  # and then a signal struck
        raise KeyboardInterrupt

    catalogue._hashes = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        catalogue.extend(X)
    del catalogue._hashes
    assert len(catalogue) == 0
    catalogue.extend(X)
    assert numbered(catalogue, X[::-1]) == [*range(9, -1, -1)]


def test_no_rows_have_no_numbers() -> None:
    numbers, new = Catalogue(3).numbered(np.empty((0, 3)))
    assert len(numbers) == 0
    assert len(new) == 0
