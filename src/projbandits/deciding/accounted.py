"""What a decider says of itself: its log, explanations, audits, and its file."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits._validation import Array, integer, positive
from projbandits.deciding.recorded import Recorded
from projbandits.features.features import Features
from projbandits.ledger.decision import Decision
from projbandits.ledger.fold import Known
from projbandits.ledger.history import History
from projbandits.ledger.labels import Label, read_label
from projbandits.ledger.protocol import EVENTS_AT_ONCE
from projbandits.strategies import LinearStrategy

if TYPE_CHECKING:
    from typing import Self

    import pandas as pd

    from projbandits.audit.audit import Audit
    from projbandits.deciding.explain import Explanation


class Accounted(Recorded):
    """The readings of a decider's ledger."""

    def explain(self, decision: str | Decision, arms: Any = None) -> Explanation:
        """Say why an arm was chosen: each arm's score, what counted in it and what was ignored.

        Parameters
        ----------
        decision : Decision or str
            A decision, or its id if the log is kept.
        arms : optional
            What was on offer, all of it, where that was not kept.
        """
        from projbandits.deciding.explain import explain

        if isinstance(decision, str):
            decision = self.history().find(decision).decision
        elif not isinstance(decision, Decision):
            raise TypeError(f"decision must be a Decision or its id, got {decision!r}")
        elif decision.grounds is None and self._ledger.whole:
            decision = self.history().find(decision.id).decision
        return explain(self._now(), decision, arms)

    def coefficients(self) -> pd.DataFrame:
        """Return what is believed of each feature, in the units of its columns.

        The table has a row for each feature: `estimate`, what one more in its column is worth (for
        a level, a constant or a product of them, what it adds), its `standard_error`, and whether
        it `counts`, wholly or in part. The first row, `intercept`, is the level that all outcomes
        share, where it is learnt: what an item brings whose columns are all 0, or no level. The
        error allows for the penalty, which draws estimates to 0; it is NaN where the outcomes told
        say nothing of a feature, and large where a feature nearly repeats another.
        """
        import pandas as pd

        known = self._now()
        state, features = known.state, known.features
        ridge = state.ridge if state.effects is None else state.effects.linear
        units = 1.0 if features is None else features.units
        names = known.columns or [f"x[{j}]" for j in range(ridge.d)]
        kept = known.subspace.matrix.diagonal() > 1e-9
        designed, noise = features is not None, ridge.noise
        if state.effects is not None and not ridge.equal:
            noise = state.effects.noise
        errors = ridge.errors(np.eye(ridge.d), designed, noise)
        if ridge.intercept and features is not None and features.constant and not ridge.equal:
            errors[0] = 0.0  # what it might have is the level's
        columns = {
            "estimate": ridge.theta / units,
            "standard_error": errors / units,
            "counts": kept,
        }
        table = pd.DataFrame(columns, index=pd.Index(names, name="feature"))
        if not ridge.intercept:
            return table
        zeros = np.zeros(ridge.d) if features is None else _of_zeros(features)
        away = float(ridge.errors(zeros - ridge.centre, designed, noise))
        mean = noise / math.sqrt(ridge.mass) if ridge.mass else math.nan
        level = pd.DataFrame(
            {
                "estimate": ridge.level + zeros @ ridge.theta,
                "standard_error": math.hypot(mean, away),
                "counts": False,
            },
            index=pd.Index(["intercept"], name="feature"),
        )
        return pd.concat([level, table])

    def audit(self, attributes: Any = None, by: str | None = None) -> Audit:
        """Show from the log whether the part that must not count had an influence.

        Four questions are answered apart, each with numbers, intervals and a verdict in words:
        `scores`, `choices`, `leak` and `exposure`; see `docs/audit.md`.

        Parameters
        ----------
        attributes : table, optional
            Attributes of the items that the decider never saw. Its index has the items' labels, or
            it has the columns of the features too, or the raw ones, by which rows are matched.
        by : str, optional
            A column of the context, or a key of what was noted with decisions (`meta`): exposure is
            counted apart for each of its values, such as the segment of the viewer. Numbers of many
            values are cut at their terciles.
        """
        from projbandits.audit.audit import audit

        if by is not None and not isinstance(by, str):
            raise TypeError(f"by must be a column of the context or a key of meta, got {by!r}")
        return audit(self.history(), attributes, by)

    def log(self) -> pd.DataFrame:
        """Return the decisions as a table, a row each; see `docs/deciding.md` for its columns.

        It has the arms and the belief of every decision: `iter_log` and `export` go through many
        decisions without holding all of them in memory.
        """
        import pandas as pd

        from projbandits.deciding.log_table import ATTRIBUTE, about, frame

        pieces = [piece for piece in self.iter_log() if len(piece)]
        empty = frame([], self._now())
        table = pd.concat(pieces, ignore_index=True) if pieces else empty
        table = table.sort_values("step", kind="stable", ignore_index=True)
        table.attrs = {ATTRIBUTE: about(self.history())}
        return table

    def iter_log(self, chunk: int = EVENTS_AT_ONCE) -> Iterator[pd.DataFrame]:
        """Yield the log piece by piece, in the order in which decisions were recorded.

        Parameters
        ----------
        chunk : int
            About how many events are read at a time.
        """
        from projbandits.deciding.log_table import frame

        history = self.history()
        for records in history.chunks(size=integer("chunk", chunk, least=1)):
            yield frame(records, history.belief())

    def export(self, path: str | os.PathLike[str]) -> int:
        """Write the log to a Parquet file, piece by piece, and return how many decisions it has.

        `replay` reads it, and so does anything else that reads Parquet.
        """
        from projbandits.deciding import log_file

        return log_file.write(Path(path), *self._exported())

    def iter_export(self, file: Any) -> Iterator[int]:
        """Write the log to an open binary file, as `export` does, and yield the rows of each piece.

        The file is complete when nothing more is yielded.
        """
        from projbandits.deciding import log_file

        return log_file.written(file, *self._exported())

    def belief(self) -> Known:
        """Return what the decider believes now: its strategy, subspace, columns and state."""
        return self._now()

    def _exported(self) -> tuple[Iterator[pd.DataFrame], str, Iterator[Label | None]]:
        """Return the log piece by piece, an empty one last, its description, and all labels."""
        from projbandits.deciding.log_table import about, frame

        history = self.history()
        arms = history.arms()
        labels = (arms.label(row) for row in range(len(arms)))
        read = (None if label is None else read_label(label) for label in labels)
        return chain(self.iter_log(), [frame([], history.belief())]), about(history), read

    def history(self) -> History:
        """Return the decisions up to now, each with its outcome, what was offered and believed."""
        if not self._ledger.whole:
            raise ValueError("this decider keeps no log: make it with Decider(..., log=True)")
        return History(self._ledger, self._given, self._now().position)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, which appears whole or not at all.

        It holds plain arrays and JSON, no pickle.
        """
        from projbandits.deciding import saving

        with self._lock:
            saving.save(self, Path(path))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        strategy: LinearStrategy | Sequence[LinearStrategy] | None = None,
        *,
        resume: bool = False,
        largest: float = 2.0**32,
    ) -> Self:
        """Read a decider that `save` wrote.

        It knows what that one knew, and goes on with randomness and ids of its own. So any number
        of copies may be loaded from one file. A file that `save` cannot have written is refused,
        whoever wrote it.

        Parameters
        ----------
        path : path
            The file.
        strategy : LinearStrategy or list of them, optional
            The strategies it had, where they are not of the library with plain parameters.
        resume : bool
            Whether to go on exactly, with the randomness that the saved one would have drawn next.
            Only one copy may do so: a second one, or the saved one going on itself, would draw the
            same again.
        largest : float
            How many bytes of memory the log in files beside it may take: a small file can hold
            very much.
        """
        from projbandits.deciding import saving

        return saving.load(cls, Path(path), strategy, resume, positive("largest", largest))


def _of_zeros(features: Features) -> Array:
    """Return the features of an item whose columns are 0, and at no level of a category."""
    parts = dict[str, Array]()
    for name, encoding in features.encodings_.items():
        mean, scale = getattr(encoding, "mean", 0.0), getattr(encoding, "scale", 1.0) or 1.0
        parts[name] = np.broadcast_to(-np.asarray(mean) / scale, len(encoding.names))
    constant = [np.ones(int(features.constant))]
    products = [np.outer(parts[a], parts[b]).ravel() for a, b in features.interactions]
    return np.concatenate([*constant, *parts.values(), *products]) + 0.0
