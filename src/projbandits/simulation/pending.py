"""The records of a simulation as they come in, and what is left to run.

They come from a store or from the engines, in any order, some strategies in some trials at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits.simulation.plan import Spec
from projbandits.simulation.records import Records

TRIALS_PER_CHUNK = 16
"""How many trials are run, and kept, together: if they are few and long, a half, a quarter ..."""
STEPS_PER_CHUNK = 200_000
"""Chunks with fewer steps, over all strategies, are not worth dividing."""


class Job(NamedTuple):
    """Work to be done: some strategies, by their positions, in some trials."""

    trials: range
    players: tuple[int, ...]


class Pieces:
    """What is there of a simulation.

    Parameters
    ----------
    spec : Spec
        What is simulated.

    Examples
    --------
    >>> import projbandits as pb
    >>> from projbandits.simulation.pending import Pieces
    >>> from projbandits.simulation.simulate import prepare
    >>> spec = prepare(pb.problems.random_arms(), pb.UE(), trials=20, horizon=1)
    >>> list(Pieces(spec).left())
    [Job(trials=range(0, 16), players=(0,)), Job(trials=range(16, 20), players=(0,))]
    """

    def __init__(self, spec: Spec) -> None:
        self._trials = spec.numbers
        self._chunk = _chunk(spec)
        self._there = np.zeros((len(spec.strategies), len(spec.numbers)), np.bool_)
        self._pieces: list[list[tuple[int, Records]]] = [[] for _ in spec.strategies]

    def add(self, trials: range, records: Mapping[int, Records]) -> int:
        """Add some strategies in some trials; return how many records of them were missing.

        What is not asked for, or is there already, is left out.
        """
        first, last = self._trials.start, self._trials.stop
        asked = range(max(trials.start, first), min(trials.stop, last))
        added = 0
        if not asked:
            return added
        for player, of_one in records.items():
            there = self._there[player, asked.start - first : asked.stop - first]
            for run in _runs(~there):
                at = asked[run.start : run.stop]
                rows = slice(at.start - trials.start, at.stop - trials.start)
                self._pieces[player].append((at.start, of_one.rows(rows)))
                added += len(at)
            there[:] = True
        return added

    def left(self) -> Iterator[Job]:
        """Yield what is missing: chunk by chunk, all strategies that lack the same trials."""
        first, last = self._trials.start, self._trials.stop
        for start in range(first - first % self._chunk, last, self._chunk):
            chunk = range(max(start, first), min(start + self._chunk, last))
            missing = ~self._there[:, chunk.start - first : chunk.stop - first]
            changes = (missing[:, 1:] != missing[:, :-1]).any(axis=0)
            ends = [0, *(1 + np.flatnonzero(changes)).tolist(), len(chunk)]
            for one, other in pairwise(ends):
                if missing[:, one].any():
                    players = tuple(np.flatnonzero(missing[:, one]).tolist())
                    yield Job(chunk[one:other], players)

    def unfinished(self) -> tuple[int, ...]:
        """Return the positions of the strategies that lack trials."""
        return tuple(np.flatnonzero(~self._there.all(axis=1)).tolist())

    def finished(self) -> int:
        """Return how many trials have been played by all strategies."""
        return int(self._there.all(axis=0).sum())

    def records(self) -> list[Records]:
        """Return the records of every strategy, with all its trials in order."""
        assert self._there.all()
        ordered = (sorted(pieces, key=lambda piece: piece[0]) for pieces in self._pieces)
        return [Records.concat([records for _, records in pieces]) for pieces in ordered]


def _chunk(spec: Spec) -> int:
    """Return how many trials are run together, so that no thread waits long for the last one."""
    size, steps = TRIALS_PER_CHUNK, spec.horizon * len(spec.strategies)
    while (
        size > 1 and len(spec.numbers) < TRIALS_PER_CHUNK * size and size * steps > STEPS_PER_CHUNK
    ):
        size //= 2
    return size


def _runs(mask: NDArray[np.bool_]) -> Iterator[range]:
    """Yield where a mask is true, as ranges that are as long as possible."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]])))
    for start, stop in edges.reshape(-1, 2).tolist():
        yield range(start, stop)
