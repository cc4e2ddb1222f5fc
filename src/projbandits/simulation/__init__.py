"""Simulation: one entry, several engines with one meaning."""

from projbandits.simulation.simulate import simulate
from projbandits.strategies import CompiledRule

__all__ = ["CompiledRule", "simulate"]
