"""The paper's evaluation as code: each experiment a problem, strategies and what is shown."""

from projbandits.paper.experiments import FIG_A, FIGURES, Experiment

__all__ = ["FIGURES", "FIG_A", "Experiment"]
