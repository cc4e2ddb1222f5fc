"""Random streams by seed, session and draw; ids that nobody else has."""

import numpy as np
from scipy import stats

from projbandits.ledger.streams import SESSIONS, Streams, new_id, new_session


def test_a_stream_is_that_of_its_place_whatever_was_drawn_before() -> None:
    one, other = Streams(3), Streams(3)
    places = [(0, 0), (0, 1), (1, 0), (2**62, 5), (0, 2**63)]
    first = {place: one.at(*place).random(7).tolist() for place in places}
    other.at(9, 9).integers(5, size=3)  # leaves half a number behind
    for place in reversed(places):
        assert other.at(*place).random(7).tolist() == first[place]
    assert len({tuple(drawn) for drawn in first.values()}) == len(places)
    assert Streams(4).at(0, 0).random() != one.at(0, 0).random()


def test_first_numbers_of_many_streams_are_uniform_and_not_correlated() -> None:
    # Fixed seed; each fails with probability 1e-4 if streams are independent.
    streams = Streams(0)
    drawn = np.array([[streams.at(s, d).random() for d in range(50)] for s in range(60)])
    assert stats.kstest(drawn.ravel(), "uniform").pvalue > 1e-4
    for a, b in ((drawn[:, :-1], drawn[:, 1:]), (drawn[:-1], drawn[1:])):
        assert stats.pearsonr(a.ravel(), b.ravel()).pvalue > 1e-4


def test_ids_and_sessions_are_fresh_and_ids_sort_by_time() -> None:
    ids = [new_id() for _ in range(2000)]
    assert len(set(ids)) == 2000
    assert [id[:12] for id in ids] == sorted(id[:12] for id in ids)
    sessions = {new_session() for _ in range(100)}
    assert len(sessions) == 100
    assert all(0 < session < SESSIONS for session in sessions)
