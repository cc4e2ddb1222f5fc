"""Simulation: one entry, several engines with one meaning."""

from projbandits.simulation.rules import CompiledRule
from projbandits.simulation.simulate import prepare, simulate

__all__ = ["CompiledRule", "prepare", "simulate"]
