"""The strategies: each is three answers over shared parts."""

from projbandits.strategies.base import Choice, LinearStrategy, State, Strategy
from projbandits.strategies.compiled import CompiledRule
from projbandits.strategies.directed import DirectedIDS
from projbandits.strategies.elimination import ProjectedElimination
from projbandits.strategies.ellipsoid import UE, ProjectedUE
from projbandits.strategies.greedy import CURSE, GENTRY, REGRET
from projbandits.strategies.improvement import EIIDS, EIRatio
from projbandits.strategies.thompson import ProjectedTS

__all__: list[str] = [
    "CURSE",
    "EIIDS",
    "GENTRY",
    "REGRET",
    "UE",
    "Choice",
    "CompiledRule",
    "DirectedIDS",
    "EIRatio",
    "LinearStrategy",
    "ProjectedElimination",
    "ProjectedTS",
    "ProjectedUE",
    "State",
    "Strategy",
]
