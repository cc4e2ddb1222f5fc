"""What was found: U, how far it may be off, and what is still predictable."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from projbandits._validation import Array
from projbandits.finding.chance import CHANCE_LEVEL, Tested
from projbandits.finding.sums import degrees
from projbandits.subspace import Subspace

if TYPE_CHECKING:
    import pandas as pd

    from projbandits.finding.attributes import Labelled
    from projbandits.finding.groups import Panel
    from projbandits.finding.pairs import Twins

ANGLE_LEVEL = 0.95
"""The share of resamples that are within `SubspaceEstimate.angle`."""
FAR = 30.0
"""From this angle on the report says that U is a guess."""
SIZE_TEXTS = {
    "attributes": "correlation {:.3g}, by chance up to {:.3g}",
    "pairs": "length {:.3g}, by chance up to {:.3g}",
    "groups": "log-likelihood {:+.3g}, its price {:.3g}",
}
SIDE_TITLES = {
    "attributes": "items with attributes",
    "pairs": "pairs",
    "groups": "returns of groups",
}


@dataclass(frozen=True, eq=False)
class SubspaceEstimate:
    """A subspace that was found from side information; see `find_subspace`.

    Parameters
    ----------
    kind : {"attributes", "pairs", "groups"}
        What it was found from.
    subspace : Subspace
        U, the part that counts.
    left_out : Subspace
        The rest: what goes with the attributes, what twins differ in, where groups disagree.
    angle : float
        How far U may be off: in 95 % of resamples the largest angle to what was found is below
        this many degrees. It is nan if nothing is left out.
    resampled : ndarray of shape (resamples, d, r)
        What each resample would leave out, as orthonormal columns.
    tested : Tested
        The size of each direction, and how far chance goes.
    chosen : bool
        Whether the number of directions was chosen here.
    rows : int
        How many items, pairs or returns it was found from.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> found = pb.find_subspace(attributes=(X, X[:, 0] + 0.1 * rng.normal(size=500)))
    >>> found.kind, found.rows, found.subspace
    ('attributes', 500, Subspace(dim=2, ambient=3))
    >>> bool(abs(found.left_out.basis[0, 0]) > 0.99), found.angle < 10
    (True, True)
    """

    kind: str
    subspace: Subspace
    left_out: Subspace
    angle: float
    resampled: Array = field(repr=False)
    tested: Tested = field(repr=False)
    chosen: bool
    rows: int
    _side: Labelled | Twins | Panel = field(repr=False)

    @property
    def angles(self) -> Array:
        """The angle of each resample to what was found, in degrees."""
        return np.array([degrees(self.left_out.basis, other) for other in self.resampled])

    @cached_property
    def predictable(self) -> pd.DataFrame:
        """How well each attribute can be predicted, held out, from all features and from the kept.

        A row per attribute, with `measure`, `chance`, and `before` and `after` for a linear model
        and for gradient boosting. U is found, and the models are fitted, on other rows than those
        that are predicted. `linear fresh` is a linear model with labels that U was not found from
        (and U with half of the labels): it shows what the error of U lets through. Categories are
        measured by balanced accuracy (the mean over categories of the share that is recognised),
        numbers by the share of variance explained (R^2). A share is nan if there are too few rows.
        There is no row if U was found from pairs or groups. It needs scikit-learn (extra
        `sklearn`).
        """
        from projbandits.finding.attributes import Labelled
        from projbandits.finding.predictability import predictable

        if not isinstance(self._side, Labelled):
            return predictable(None, 0)
        return predictable(self._side, self.left_out.dim)

    def report(self) -> str:
        """Return what was found in words.

        Examples
        --------
        >>> import numpy as np, projbandits as pb
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(500, 3))
        >>> print(pb.find_subspace(attributes=(X, X[:, 0] + 0.1 * rng.normal(size=500))).report())
        U keeps 2 of 3 dimensions, found from 500 items with attributes.
        Left out: 1 x[0] ... (correlation 0.995, by chance up to 0.12...).
        Resampled, it lies within ... degrees in 95 % of cases.
        """
        d, r = self.subspace.ambient, self.left_out.dim
        lines = [
            f"U keeps {d - r} of {d} dimensions, found from {self.rows:,} {SIDE_TITLES[self.kind]}."
        ]
        for j in range(r):
            size = SIZE_TEXTS[self.kind].format(self.tested.sizes[j], self.tested.limits[j])
            lines.append(f"Left out: {self._said(self.left_out.basis[:, j])} ({size}).")
        if r == 0:
            lines.append("No direction goes further than chance, so nothing is left out.")
            return "\n".join(lines)
        lines.append(f"Resampled, it lies within {self.angle:.3g} degrees in 95 % of cases.")
        if self.angle > FAR:
            lines.append("That is far: this U is a guess, and more side information is needed.")
        beyond = np.flatnonzero(self.tested.p_values > CHANCE_LEVEL)
        if not self.chosen and len(beyond) and beyond[0] < r:
            lines.append(
                f"Only {beyond[0]} of them go further than chance: "
                "with leave_out=None no others are left out."
            )
        return "\n".join(lines)

    def _said(self, direction: Array) -> str:
        largest = np.abs(direction).argmax()
        return self.subspace.describe(direction if direction[largest] > 0 else -direction)

    def plot(self) -> Any:
        """Draw the sizes of directions beside chance, the angles, and what is predictable.

        Returns the matplotlib Figure.
        """
        # By name and only now: finding must not depend on plots, nor load matplotlib early.
        return importlib.import_module("projbandits.plots").found(self)
