"""Simulation: one entry, several engines with one meaning."""

from projbandits.simulation.simulate import prepare, simulate
from projbandits.strategies import CompiledRule

__all__ = ["CompiledRule", "prepare", "simulate"]
