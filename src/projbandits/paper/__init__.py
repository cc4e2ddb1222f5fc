"""The paper's evaluation as code: each experiment a problem, strategies and what is shown."""

from projbandits.paper.experiments import FIG_A, Experiment

__all__ = ["FIG_A", "Experiment"]
