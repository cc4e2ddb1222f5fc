"""The paper's experiments as data."""

from __future__ import annotations

from dataclasses import dataclass

from projbandits.problems import Problem, random_arms
from projbandits.strategies import CURSE, GENTRY, REGRET, UE, ProjectedUE, Strategy


@dataclass(frozen=True)
class Experiment:
    """A figure of the paper: a problem and the strategies shown in it."""

    name: str
    title: str
    problem: Problem
    strategies: tuple[Strategy, ...]


FIG_A = Experiment(
    name="fig-a",
    title="Setting a: 45 random arms in 10 dimensions, U of dimension 5",
    problem=random_arms(d=10, arms=45, u=5, noise=0.5, subspace="random"),
    strategies=(
        GENTRY(alpha=1.0),
        GENTRY(alpha=1.0, basis="first"),
        CURSE(alpha=1.0),
        REGRET(alpha=1.0),
        UE(alpha=0.1),
        ProjectedUE(alpha=0.1),
    ),
)

FIGURES = {figure.name: figure for figure in (FIG_A,)}
