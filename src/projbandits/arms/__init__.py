"""Decision sets: what may be chosen, and the support points every strategy asks them for."""

from projbandits.arms.base import Arm, ConvexFunction, DecisionSet
from projbandits.arms.convex import Ball, Box, ConvexSet, Ellipsoid
from projbandits.arms.entropy import EntropyBall
from projbandits.arms.finite import FiniteArms
from projbandits.arms.polytope import Polytope

__all__: list[str] = [
    "Arm",
    "Ball",
    "Box",
    "ConvexFunction",
    "ConvexSet",
    "DecisionSet",
    "Ellipsoid",
    "EntropyBall",
    "FiniteArms",
    "Polytope",
]
