"""The estimates by name: what those that rest on the linear model allow for."""

import numpy as np
import pytest

from projbandits.evaluation.estimators import PolicyEstimate, with_effects
from projbandits.evaluation.lack_of_fit import LackOfFit
from projbandits.statistics import normal_quantile


@pytest.mark.parametrize("between", [1, 10])
def test_effects_that_do_not_show_make_intervals_longer(between: int) -> None:
    fit = LackOfFit(
        True, "pure error", 1.0, 0.5, "", between=between, unseen=9.0, apart=0.5, noise=0.5
    )
    found = with_effects(PolicyEstimate(0.0, 1.0), fit, np.array([0.6, 0.8]), 0.95)
    t, z = {1: 12.7062, 10: 2.22814}[between], normal_quantile(0.95)
    assert found.half == pytest.approx(np.sqrt(1 + 0.5 * (t**2 - z**2)), rel=1e-4)
    assert found.note == ""


def test_where_means_are_nearer_than_noise_nothing_is_added() -> None:
    fit = LackOfFit(True, "pure error", 0.1, 0.9, "", between=10, unseen=1.0, apart=0.1, noise=0.5)
    assert with_effects(PolicyEstimate(0.0, 1.0), fit, np.array([1.0, 0.0]), 0.95).half == 1.0
