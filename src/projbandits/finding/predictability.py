"""How well attributes can still be predicted from what is kept, by models that have not seen them.

Rows are cut into parts. For each part, U is found and the models are fitted on the other parts, and
the part is predicted. So nobody has seen the rows that are predicted, and the models know as many
labels as the finder of U.

Somebody else may have labels of their own. So there is a harder question, too: U is found on one
half of the rows, and a linear model is fitted and tested on the other half. That shows how far the
error of U lets a linear model through; on the rows U was found from, cov(P_U x, z) = 0 hides it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from projbandits._blas import single_threaded
from projbandits._validation import Array
from projbandits.finding.attributes import Labelled
from projbandits.finding.sums import Folded

if TYPE_CHECKING:
    import pandas as pd

HELD_OUT_PARTS = 3
"""Into how many parts rows are cut."""
ROWS_EACH = 5
"""Rows needed in a part for each feature and each category; with fewer nothing can be told."""
MOST_PREDICTED = 5_000
"""How many rows are used; boosting more of them takes long."""
PREDICTED_SHARES = (
    "linear before",
    "linear after",
    "linear fresh",
    "boosting before",
    "boosting after",
)
COLUMNS = ("measure", "chance", *PREDICTED_SHARES, "rows")

Mask = NDArray[np.bool_]


def predictable(side: Labelled | None, leave_out: int) -> pd.DataFrame:
    """Return the table of `SubspaceEstimate.predictable`."""
    import pandas as pd

    if side is None:
        return pd.DataFrame(columns=list(COLUMNS), index=pd.Index([], name="attribute"))
    learners = _learners()
    X, Z = side.kept.X[:MOST_PREDICTED], side.kept.Z[:MOST_PREDICTED]
    rows = {}
    for a, name in enumerate(side.attributes.names):
        columns = side.attributes.columns_of(a)
        category = not side.attributes.numbers[a]
        target = Z[:, columns].argmax(axis=1) if category else Z[:, columns[0]]
        fewest = np.bincount(target, minlength=len(columns)).min() if category else len(X)
        shares = dict.fromkeys(PREDICTED_SHARES, np.nan)
        if min(len(X) / X.shape[1], fewest) >= 2 * HELD_OUT_PARTS * ROWS_EACH:
            # One thread: they would wait for each other on a machine that is busy.
            with single_threaded():
                said = _said(side, X, target, leave_out, category, learners)
            shares = {kind: _share(values, target, category) for kind, values in said.items()}
        rows[name] = {
            "measure": "balanced accuracy" if category else "R^2",
            "chance": 1 / len(columns) if category else 0.0,
            **shares,
            "rows": len(X),
        }
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS))
    return table.rename_axis("attribute")


def _said(
    side: Labelled, X: Array, target: Any, leave_out: int, category: bool, learners: Any
) -> dict[str, Array]:
    """Return what each model says of each row."""
    said = {kind: np.empty(len(X)) for kind in PREDICTED_SHARES}
    everything = np.eye(X.shape[1])
    for test in _parts(len(X), HELD_OUT_PARTS):
        kept = _projection(side, ~test, leave_out)
        for model, learner in learners.items():
            for when, P in (("before", everything), ("after", kept)):
                fitted = learner[category]().fit(X[~test] @ P, target[~test])
                said[f"{model} {when}"][test] = fitted.predict(X[test] @ P)
    for here in _parts(len(X), 2):
        seen, there = X @ _projection(side, ~here, leave_out), np.flatnonzero(here)
        for part in _parts(len(there), HELD_OUT_PARTS):
            at, others = there[part], there[~part]
            fitted = learners["linear"][category]().fit(seen[others], target[others])
            said["linear fresh"][at] = fitted.predict(seen[at])
    return said


def _parts(n: int, count: int) -> list[Mask]:
    return [np.arange(n) % count == k for k in range(count)]


def _projection(side: Labelled, rows: Mask, leave_out: int) -> Array:
    """Return P_U as found from some of the rows."""
    W = np.hstack([side.kept.X[:MOST_PREDICTED], side.kept.Z[:MOST_PREDICTED]])[rows]
    basis, _ = replace(side, folded=Folded.of(W)).directions(leave_out)
    return np.asarray(np.eye(side.d) - basis @ basis.T)


def _share(said: Array, target: Any, category: bool) -> float:
    if category:
        hits = [(said[target == k] == k).mean() for k in np.unique(target)]
        return float(np.mean(hits))
    return float(1 - ((said - target) ** 2).mean() / target.var())


def _learners() -> dict[str, dict[bool, Any]]:
    """Return what makes a linear model and a boosted one, for categories and for numbers."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        from sklearn.linear_model import LogisticRegression, Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError as error:
        raise ImportError(
            "predictable needs scikit-learn: pip install 'projbandits[sklearn]'"
        ) from error
    return {
        "linear": {
            True: lambda: make_pipeline(
                StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=1000)
            ),
            False: lambda: make_pipeline(StandardScaler(), Ridge()),
        },
        "boosting": {
            True: lambda: HistGradientBoostingClassifier(
                class_weight="balanced", random_state=0, early_stopping=False, max_leaf_nodes=15
            ),
            False: lambda: HistGradientBoostingRegressor(
                random_state=0, early_stopping=False, max_leaf_nodes=15
            ),
        },
    }
