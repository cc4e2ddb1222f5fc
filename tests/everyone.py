"""The strategies of the library, discovered: one that is added is tested with the others."""

import dataclasses
from typing import Any

import projbandits as pb
from projbandits import specs
from projbandits.strategies import LinearStrategy

NEEDED: dict[str, Any] = {"horizon": 150}
"""Values for parameters without a default, by their names."""


def everyone(**options: Any) -> list[LinearStrategy]:
    """Return each strategy once, with its defaults but for these options."""
    made = []
    for maker in specs.STRATEGIES.values():
        fields = dataclasses.fields(maker)  # type: ignore[arg-type]
        needed = {f.name: NEEDED[f.name] for f in fields if f.default is dataclasses.MISSING}
        made.append(maker(**needed, **options))
    return made


WITH_EFFECTS: list[LinearStrategy] = [
    *everyone(arm_effects="auto"),
    pb.EIIDS(arm_effects=0.4, noise=0.5),
    pb.EIIDS(arm_effects=0.4),
    pb.EIIDS(arm_effects="auto", noise=0.5),
    pb.REGRET(arm_effects=0.4),
    pb.ProjectedTS(arm_effects=0.4),
]
