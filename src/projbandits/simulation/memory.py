"""What a simulation needs of memory, told before the work rather than after hours of it."""

from __future__ import annotations

import os

from projbandits.simulation import rules
from projbandits.simulation.spec import Spec

NUMBER = 8
RECORD = 1000
"""About what one strategy in one trial takes beside its curves: small arrays and their owners."""
CURVES = 6
"""Three curves, while they are gathered both by trial and in one array."""
REFERENCE_STEP = 48
"""What the reference engine keeps of each step until a trial is over."""


def check_memory(spec: Spec) -> None:
    """Raise unless the results, and what engines keep for each step, fit into this machine."""
    present = physical()
    records = spec.trials * len(spec.strategies)
    needed = records * (RECORD + CURVES * NUMBER * len(spec.steps))
    if needed > present:
        raise ValueError(
            f"trials must be fewer: the results of {spec.trials:,} would take "
            f"{_size(needed)} and this machine has {_size(present)}; ask for fewer trials or "
            "checkpoints"
        )
    for strategy, engine in zip(spec.strategies, spec.engines, strict=True):
        step = REFERENCE_STEP if engine == "reference" else 0
        if engine == "compiled" and rules.looks_up_steps(strategy):
            step = NUMBER
        if spec.horizon * step > present:
            raise ValueError(
                f"horizon must be smaller: engine {engine!r} would take "
                f"{_size(spec.horizon * step)} for {strategy!r} over {spec.horizon:,} steps and "
                f"this machine has {_size(present)}"
            )


def physical() -> float:
    """Return the bytes of memory that this machine has, infinitely many where it does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError):  # on Windows, and where the name is unknown
        return float("inf")


def _size(count: float) -> str:
    return f"{count / 1e9:,.0f} GB"
