"""Comparisons: every estimate where it belongs."""

from typing import Any

import numpy as np

from projbandits import plots
from projbandits.statistics import Estimate


def test_each_estimate_is_a_mark_with_a_bar_in_its_row() -> None:
    rows: dict[str, list[Estimate | None]] = {
        "mine": [Estimate(3, 2, 4), None],
        "theirs": [Estimate(30, 20, 50), Estimate(9, 8, 10)],
    }
    figure = plots.comparison({"one": rows, "two": rows}, ["given", "tuned"], title="t")
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["one", "two"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["given", "tuned"]
    for ax in figure.axes:
        assert [text.get_text() for text in ax.get_yticklabels()] == ["mine", "theirs"]
        bars: Any = ax.containers
        given, tuned = (container.lines[0] for container in bars)
        assert list(given.get_xdata()) == [3, 30]
        assert list(tuned.get_xdata()) == [9]
        np.testing.assert_array_equal(np.rint(np.array(given.get_ydata(), float)), [0, 1])
        np.testing.assert_array_equal(np.rint(np.array(tuned.get_ydata(), float)), [1])
        segments = bars[0].lines[2][0].get_segments()
        np.testing.assert_allclose([s[:, 0] for s in segments], [[2, 4], [20, 50]])
    plots.close(figure)


def test_a_verdict_stands_at_the_right_of_its_group() -> None:
    rows = {"mine": [Estimate(3, 2, 4)]}
    figure = plots.comparison({"here": rows, "there": rows}, ["given"], notes={"there": "mixed"})
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["here", "there"]
    assert [ax.get_title(loc="right") for ax in figure.axes] == ["", "mixed"]
