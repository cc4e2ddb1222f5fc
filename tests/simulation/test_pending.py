"""What is there of a simulation and what is left, against a set of pairs."""

import numpy as np

from projbandits.simulation.pending import TRIALS_PER_CHUNK, Pieces
from projbandits.simulation.plan import Spec
from projbandits.simulation.records import Records
from tests.worlds import GREEDY, SETTING_A


def numbered(trials: range) -> Records:
    """Records that have the number of the trial wherever they have something."""
    numbers = np.array(trials, dtype=float)[:, None]
    return Records(numbers, numbers, None, None, np.array(trials)[:, None])


def test_what_comes_in_any_order_and_twice_is_the_whole_with_every_trial_once() -> None:
    rng = np.random.default_rng(0)
    for first in (0, 5, TRIALS_PER_CHUNK, 3 * TRIALS_PER_CHUNK - 1):
        engines = ("events",) * len(GREEDY)
        spec = Spec(SETTING_A, tuple(GREEDY), engines, 40, 1, 0, np.array([1]), first)
        pieces = Pieces(spec)
        there: set[tuple[int, int]] = set()
        for _ in range(12):  # beyond both ends, and overlapping
            start = int(rng.integers(0, first + 45))
            trials = range(start, start + int(rng.integers(1, 12)))
            players = [i for i in range(3) if rng.random() < 0.5]
            new = {(i, t) for i in players for t in trials if t in spec.numbers} - there
            assert pieces.add(trials, {i: numbered(trials) for i in players}) == len(new)
            there |= new
        jobs = list(pieces.left())
        left = [(i, trial) for job in jobs for i in job.players for trial in job.trials]
        assert len(left) == len(set(left))
        assert set(left) == {(i, t) for i in range(3) for t in spec.numbers} - there
        assert all(
            job.trials[0] // TRIALS_PER_CHUNK == job.trials[-1] // TRIALS_PER_CHUNK for job in jobs
        )
        assert set(pieces.unfinished()) == {i for i, _ in left}
        assert pieces.finished() == len({*spec.numbers} - {t for _, t in left})
        for at in rng.permutation(len(jobs)):
            job = jobs[at]
            pieces.add(job.trials, {i: numbered(job.trials) for i in job.players})
        assert not list(pieces.left())
        for records in pieces.records():
            assert records.regret[:, 0].tolist() == list(spec.numbers)
            assert records.pulls is not None
            assert records.pulls[:, 0].tolist() == list(spec.numbers)


def test_few_long_trials_are_spread_over_many_chunks() -> None:
    def sizes(trials: int, horizon: int) -> list[int]:
        spec = Spec(SETTING_A, (GREEDY[0],), ("events",), trials, horizon, 0, np.array([1]))
        return [len(job.trials) for job in Pieces(spec).left()]

    assert sizes(20, 10**6) == [1] * 20
    assert sizes(80, 10**5) == [4] * 20
    assert sizes(2000, 10**9) == [TRIALS_PER_CHUNK] * 125
    assert sizes(20, 100) == [16, 4]
