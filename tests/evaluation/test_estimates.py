"""The estimates by name: what is noted of those that rest on the linear model."""

import numpy as np
import pytest

from projbandits.evaluation.estimates import Found, with_effects
from projbandits.evaluation.lackoffit import LackOfFit


@pytest.mark.parametrize(("times", "marked"), [(2.9, False), (3.1, True)])
def test_effects_that_would_not_show_are_noted_from_three_times_the_interval_on(
    times: float, marked: bool
) -> None:
    fit = LackOfFit(True, "pure error", 1.0, 0.5, "", between=10, unseen=times / 1.959964)
    found = with_effects(Found(0.0, 1.0), fit, np.array([1.0, 0.0]), 0.95)
    assert found.note.startswith("UNPROVEN: effects of arms up to a size") == marked
    assert found.half == 1.0
