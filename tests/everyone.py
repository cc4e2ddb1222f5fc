"""The strategies of the library, discovered: one that is added is tested with the others."""

import dataclasses
from collections.abc import Callable
from typing import Any

import projbandits as pb
from projbandits import specs
from projbandits.strategies import LinearStrategy

NEEDED: dict[str, Any] = {"horizon": 150}
"""Values for parameters without a default, by their names."""


def everyone(**options: Any) -> list[LinearStrategy]:
    """Return each strategy once, with its defaults but for these options."""
    return _made(lambda maker: True, options)


def anywhere(**options: Any) -> list[LinearStrategy]:
    """Return each that takes any decision set, and effects of arms."""
    return _made(lambda maker: not maker.same_arms, options)


def _made(suits: Callable[[Any], bool], options: dict[str, Any]) -> list[LinearStrategy]:
    made: list[LinearStrategy] = []
    for maker in filter(suits, specs.STRATEGIES.values()):
        fields = dataclasses.fields(maker)  # type: ignore[arg-type]
        needed = {f.name: NEEDED[f.name] for f in fields if f.default is dataclasses.MISSING}
        made.append(maker(**needed, **options))
    return made


WITH_EFFECTS: list[LinearStrategy] = [
    *anywhere(arm_effects="auto"),
    pb.EIIDS(arm_effects=0.4, noise=0.5),
    pb.EIIDS(arm_effects=0.4),
    pb.EIIDS(arm_effects="auto", noise=0.5),
    pb.REGRET(arm_effects=0.4),
    pb.ProjectedTS(arm_effects=0.4),
]
