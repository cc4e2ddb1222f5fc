"""What a decider must believe after what happened to it: a plain list, and a solution from scratch.

Nothing here is folded, remembered or stored. An outcome has a place in the list from its first
report on, and a decision is pending, told or gone.
"""

import math
from dataclasses import dataclass, field

import numpy as np

import projbandits as pb


@dataclass
class Observed:
    """An outcome, and how often weights had been halved when it was first reported."""

    arm: np.ndarray
    outcome: float | None
    halvings: float


@dataclass
class Made:
    """A decision: its arm, what was believed, and what became of it."""

    arm: np.ndarray
    theta: np.ndarray
    became: str = "pending"
    observed: Observed | None = None


@dataclass
class Twin:
    """The decider's obvious twin."""

    strategy: pb.LinearStrategy
    subspace: pb.Subspace
    half_life: float = math.inf
    halvings: float = 0.0
    made: dict[str, Made] = field(default_factory=dict)
    observed: list[Observed] = field(default_factory=list)

    def those(self, *became: str) -> list[str]:
        return [id for id, made in self.made.items() if made.became in became]

    def ask(self, decisions: list[pb.Decision]) -> None:
        for decision in decisions:
            self.made[decision.id] = Made(decision.arm, self.theta())
            self.halvings += 1.0 / self.half_life

    def tell(self, id: str, outcome: float) -> None:
        made = self.made[id]
        made.became = "told"
        if made.observed is None:
            made.observed = self.learn(made.arm, outcome)
        made.observed.outcome = outcome

    def withdraw(self, id: str) -> None:
        made = self.made[id]
        made.became = "gone"
        if made.observed is not None:
            made.observed.outcome = None

    def learn(self, arm: np.ndarray, outcome: float) -> Observed:
        self.observed.append(Observed(arm, outcome, self.halvings))
        return self.observed[-1]

    def decay(self, factor: float) -> None:
        self.halvings -= math.log2(factor)

    @property
    def n(self) -> int:
        return sum(one.outcome is not None for one in self.observed)

    def theta(self) -> np.ndarray:
        """Return the ridge solution of the outcomes in force, each with its weight, and a level."""
        d = self.subspace.ambient
        A, b = self.strategy.penalty * np.eye(1 + d), np.zeros(1 + d)
        A[0, 0] = 0.0
        for one in self.observed:
            if one.outcome is not None:
                on_projection = self.strategy.learns_on == "projection"
                x = one.arm @ self.subspace.matrix if on_projection else one.arm
                weight = 2.0 ** (one.halvings - self.halvings)
                row = np.append(1.0, x)
                A += weight * np.outer(row, row)
                b += weight * one.outcome * row
        return np.linalg.solve(A, b)[1:] if A[0, 0] else b[1:]
