"""Simulation: one entry, several engines with one meaning."""

from projbandits.simulation.compiled import CompiledRule
from projbandits.simulation.simulate import simulate

__all__ = ["CompiledRule", "simulate"]
