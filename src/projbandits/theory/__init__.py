"""What is to be expected: the paper's constants and orders, and the constant of log n."""

from projbandits.theory.asymptotics import AsymptoticConstant, asymptotic_constant
from projbandits.theory.theorems import (
    Assumption1,
    Constants,
    check_assumption_1,
    constants,
    theorem_1,
    theorem_2,
    theorem_3,
)

__all__ = [
    "Assumption1",
    "AsymptoticConstant",
    "Constants",
    "asymptotic_constant",
    "check_assumption_1",
    "constants",
    "theorem_1",
    "theorem_2",
    "theorem_3",
]
