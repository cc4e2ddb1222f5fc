"""The strategies: each is three answers over shared parts."""

from projbandits.strategies.base import Choice, LinearStrategy, State, Strategy
from projbandits.strategies.ellipsoid import UE, ProjectedUE
from projbandits.strategies.greedy import CURSE, GENTRY, REGRET

__all__ = [
    "CURSE",
    "GENTRY",
    "REGRET",
    "UE",
    "Choice",
    "LinearStrategy",
    "ProjectedUE",
    "State",
    "Strategy",
]
