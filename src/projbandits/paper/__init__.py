"""The paper's evaluation as code: experiments and figures as data, claims as checks, a report."""

from projbandits.paper.claims import CLAIMS
from projbandits.paper.experiments import Experiment
from projbandits.paper.figures import FIGURES, Figure
from projbandits.paper.run import QUICK, Reproduction, reproduce
from projbandits.paper.verdicts import Claim, Condition, Origin, Outcome, Reading, Verdict

__all__ = [
    "CLAIMS",
    "FIGURES",
    "QUICK",
    "Claim",
    "Condition",
    "Experiment",
    "Figure",
    "Origin",
    "Outcome",
    "Reading",
    "Reproduction",
    "Verdict",
    "reproduce",
]
