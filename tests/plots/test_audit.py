"""The figure of an audit."""

import itertools
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from tests.films import played


def texts(ax: Any) -> list[str]:
    return [text.get_text().strip() for text in ax.texts]


def test_an_audit_is_drawn() -> None:
    audit = played().audit()
    figure = audit.plot()
    assert " ".join(figure.get_suptitle().split()) == audit.verdict
    changes, leaks, costs, carried, shares = figure.axes
    assert texts(changes)[:2] == ["0 %", "0 %"]
    z = audit.leak.table["z"].sort_values(key=abs, ascending=False)
    np.testing.assert_array_equal(leaks.lines[1].get_xdata(), z)
    bars = [bar.get_width() for bar in costs.patches]
    assert sum(bars) == pytest.approx(audit.given_up.total)
    assert [label.get_text() for label in carried.get_yticklabels()] == ["group", "age"]
    labels = [label.get_text() for label in shares.get_yticklabels()]
    assert labels[:4] == ["group", "0", "1", "age"]
    bottom, top = shares.get_ylim()
    assert bottom > top  # the first group stands on top
    for i, part in enumerate(("offered", "best guess", "explored", "chosen")):
        assert shares.lines[i].get_label() == part
        np.testing.assert_array_equal(shares.lines[i].get_xdata(), audit.exposure.table[part])


def test_what_is_unknown_is_drawn_as_unknown() -> None:
    audit = played(pb.ProjectedTS(), steps=5).audit()
    figure = audit.plot()
    assert texts(figure.axes[0])[-1] == "unknown"
    assert texts(figure.axes[1]) == ["cannot be told"]
    assert "probabilities are unknown" in audit.choices.verdict


LONG = "a feature with quite a long name {} which is told in more words than there is room for"


@pytest.mark.parametrize("name", ["feature_{}", "a feature with quite a long name {}", LONG])
@pytest.mark.parametrize("protected", [1, 6])
def test_many_columns_have_room(name: str, protected: int) -> None:
    names = [name.format(j) for j in range(8)]
    U = pb.Subspace.without(names[:protected], columns=names)
    decider, rng = pb.Decider(subspace=U, seed=0), np.random.default_rng(0)
    for _ in range(40):
        decider.tell(decider.ask(rng.normal(size=(40, 8))).id, float(rng.normal()))
    figure = decider.audit().plot()
    figure.draw_without_rendering()
    for ax in figure.axes:
        boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
        assert all(a.y0 >= b.y1 for a, b in itertools.pairwise(boxes))
    title = figure._suptitle.get_window_extent()
    assert title.x1 <= figure.bbox.x1
    assert title.y0 >= max(ax.get_tightbbox().y1 for ax in figure.axes)
