"""The figure of a subspace that was found."""

import numpy as np
import pytest

import projbandits as pb
from tests.finding.test_attributes import side
from tests.finding.test_groups import panel


def test_the_figure_shows_what_was_found() -> None:
    X, z, _ = side(200, seed=0)
    found = pb.find_subspace(attributes=(X, z))
    figure = found.plot()
    sizes, angles, predicted = figure.axes
    heights = sorted((bar.get_height() for bar in sizes.patches), reverse=True)
    np.testing.assert_allclose(heights, found.tested.sizes)
    assert f"{found.angle:.3g} degrees" in angles.get_legend().get_texts()[0].get_text()
    shown = predicted.lines[0].get_ydata()
    np.testing.assert_allclose(shown, found.predictable["linear before"])


@pytest.mark.parametrize("leave_out", [None, 1])
def test_groups_have_no_attributes_to_predict(leave_out: int | None) -> None:
    X, _, group, _ = panel(60, seed=0)
    found = pb.find_subspace(groups=(X, X[:, 0], group), leave_out=leave_out)
    figure = found.plot()
    assert len(figure.axes) == 2


def test_an_axis_is_as_long_as_its_angles() -> None:
    X, z, _ = side(5000, seed=0, noise=0.1)
    found = pb.find_subspace(attributes=(X, z[:, 0]))
    figure = found.plot()
    sizes, angles, _ = figure.axes
    assert found.angles.max() < angles.get_xlim()[1] < 10
    # Of one attribute there is one direction, so no kept one is in the legend.
    shown = [text.get_text() for text in sizes.get_legend().get_texts()]
    assert sorted(shown) == ["chance (95 %)", "left out"]
