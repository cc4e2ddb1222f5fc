"""Pieces of a log are sent to workers in bundles."""

from projbandits.evaluation.spreading import bundles


def test_bundles_have_all_pieces_in_order_and_the_last_are_small() -> None:
    for many in (0, 1, 5, 10, 100):
        sent = list(bundles(iter(range(many)), 4, 4))
        assert [piece for bundle in sent for piece in bundle] == list(range(many))
        assert all(len(bundle) <= 4 for bundle in sent)
        assert not sent or len(sent[-1]) == 1
    assert [len(bundle) for bundle in bundles(range(10), 4, 4)] == [3, 2, 2, 1, 1, 1]
    assert [len(bundle) for bundle in bundles(range(10), 1, 4)] == [1] * 10
    assert [len(bundle) for bundle in bundles(range(10), 4, 16)] == [1] * 10
