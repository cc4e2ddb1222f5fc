"""Draw what `results` computed; the only place that imports matplotlib."""

from projbandits.plots.accounts import audit
from projbandits.plots.results import (
    against,
    figure_pair,
    found_best,
    panels,
    regret,
    runs,
    survival,
    thresholds,
)
from projbandits.plots.style import COLOURS, COLUMN_WIDTH, LINES, MARKERS, close, finish, look

__all__ = [
    "COLOURS",
    "COLUMN_WIDTH",
    "LINES",
    "MARKERS",
    "against",
    "audit",
    "close",
    "figure_pair",
    "finish",
    "found_best",
    "look",
    "panels",
    "regret",
    "runs",
    "survival",
    "thresholds",
]
