"""Draw what `results` computed; the only place that imports matplotlib."""

from projbandits.plots.audit import audit
from projbandits.plots.comparison import comparison, runs, spread, thresholds
from projbandits.plots.results import (
    against,
    figure_pair,
    found_best,
    panels,
    regret,
    survival,
)
from projbandits.plots.style import (
    COLOURS,
    COLUMN_WIDTH,
    LINES,
    MARKERS,
    close,
    finish,
    look,
    offscreen,
)
from projbandits.plots.subspaces import found

__all__ = [
    "COLOURS",
    "COLUMN_WIDTH",
    "LINES",
    "MARKERS",
    "against",
    "audit",
    "close",
    "comparison",
    "figure_pair",
    "finish",
    "found",
    "found_best",
    "look",
    "offscreen",
    "panels",
    "regret",
    "runs",
    "spread",
    "survival",
    "thresholds",
]
