"""Several results as one: what must be the same, and how arrays of trials are put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from projbandits._validation import short

Pulls = NDArray[np.int64]
SAME = ("problem", "seed", "horizon", "steps", "strategies", "engines")
"""The fields that parts of one simulation have in common, identities apart."""
BY_TRIAL = ("regret", "return_regret", "best_share", "found_best")
"""The fields whose second axis is that of trials, pulls apart."""


def join_pulls(parts: Sequence[Pulls], axis: int = 0, absent: int = 0) -> Pulls:
    """Return the pulls of several parts along the axis of trials.

    Arms that only some of the parts have count as `absent` in the others.
    """
    widest = max(part.shape[-1] for part in parts)
    same = list(parts)
    for n, part in enumerate(parts):
        if part.shape[-1] < widest:
            missing = np.full((*part.shape[:-1], widest - part.shape[-1]), absent, np.int64)
            same[n] = np.concatenate([part, missing], axis=-1)
    return np.concatenate(same, axis)


def joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields by trial of several results of one simulation, given by their fields.

    Raises
    ------
    ValueError
        If they are of several simulations, or have trials in common.
    """
    for n, part in enumerate(parts):
        _check_same(parts[0], part, n)
    numbers = np.concatenate([part["trial_numbers"] for part in parts])
    order = np.argsort(numbers, kind="stable")
    twice = np.flatnonzero(np.diff(numbers[order]) == 0)
    if twice.size:
        trial = int(numbers[order][twice[0]])
        one, other, *_ = (n for n, part in enumerate(parts) if trial in part["trial_numbers"])
        raise ValueError(
            f"results must have no trial in common, results {one} and {other} both have trial "
            f"{trial}: simulate others, such as trials=range({numbers.max() + 1}, ...)"
        )
    together: dict[str, Any] = {"trial_numbers": numbers[order], "pulls": None}
    for name in BY_TRIAL:
        arrays = [part[name] for part in parts]
        none = any(array is None for array in arrays)
        together[name] = None if none else np.concatenate(arrays, axis=1)[:, order]
    pulls = [part["pulls"] for part in parts]
    if not any(one is None for one in pulls):
        together["pulls"] = join_pulls(pulls, axis=1)[:, order]
    return together


def _check_same(first: Mapping[str, Any], other: Mapping[str, Any], n: int) -> None:
    """Raise unless a result is of the same simulation as the first."""
    for name in SAME:
        one, two = (np.asarray(part[name]).tolist() for part in (first, other))
        if one != two:
            raise ValueError(
                f"results must be of one simulation, results 0 and {n} differ in {name}: "
                f"{short(one, 200)} and {short(two, 200)}"
            )
    if not first["identities"] or not other["identities"]:
        known = n if not other["identities"] else 0
        raise ValueError(
            f"results must be of one simulation, and result {known} does not say of which it is: "
            "it has no identities; simulate it again"
        )
    labels = ["problem", *first["strategies"]]
    for label, one, two in zip(labels, first["identities"], other["identities"], strict=True):
        if one != two:
            raise ValueError(
                f"results must be of one simulation, results 0 and {n} differ in {label}: the same "
                "label, but other numbers or other code"
            )
