"""How much memory a simulation needs, checked before the work rather than after hours of it."""

from __future__ import annotations

import os

from projbandits.simulation.plan import Spec
from projbandits.simulation.records import MOST_PULLED_ARMS

NUMBER = 8
RECORD = 1000
"""About what one strategy in one trial takes beside its curves: small arrays and their owners."""
CURVES = 6
"""Three curves, while they are gathered both by trial and in one array."""
PULLS_COPIES = 2
"""The pulls of each arm, gathered in the same way."""
STEP = {"reference": 48, "compiled": NUMBER, "events": 0}
"""What an engine keeps of each step of a trial: its costs, or the value of a schedule."""


def check_memory(spec: Spec, arms: float) -> None:
    """Raise unless the results, and what engines keep for each step, fit into this machine.

    Parameters
    ----------
    spec : Spec
        What is asked for.
    arms : float
        How many arms a world has.
    """
    present = physical()
    records = spec.trials * len(spec.strategies)
    pulls = arms if arms <= MOST_PULLED_ARMS else 0
    needed = records * (RECORD + CURVES * NUMBER * len(spec.steps) + PULLS_COPIES * NUMBER * pulls)
    if needed > present:
        raise ValueError(
            f"trials must be fewer: the results of {spec.trials:,} would take "
            f"{_size(needed)} and this machine has {_size(present)}; ask for fewer trials or "
            "checkpoints"
        )
    for strategy, engine in zip(spec.strategies, spec.engines, strict=True):
        needed = spec.horizon * STEP[engine]
        if needed > present:
            raise ValueError(
                f"horizon must be smaller: engine {engine!r} would take {_size(needed)} for "
                f"{strategy!r} over {spec.horizon:,} steps and this machine has {_size(present)}"
            )


def physical() -> float:
    """Return the bytes of memory that this machine has, infinitely many where it does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError):  # on Windows, and where the name is unknown
        return float("inf")


def _size(count: float) -> str:
    return f"{count / 1e9:,.0f} GB"
