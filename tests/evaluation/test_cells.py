"""Rows that are alike, put together: the same sums as row by row, wherever they are cut."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.evaluation import cells, grouping, judging
from projbandits.evaluation import sources as pieces
from projbandits.evaluation.cells import Alike, Cells
from projbandits.evaluation.counting import FOLDS
from projbandits.evaluation.estimators import ESTIMATE_NAMES
from tests import naive
from tests.evaluation.tables import ARMS, LOGGED, OTHER, U, by_segment, log, other, table


def test_cells_have_the_rows_that_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """By fold, arm, context and propensity, from chunks that are put together afterwards."""
    rows = table(600)
    rows["p"] = np.where(rows["minute"] < 300, rows["p"], 0.5)
    rows["day"] = rows["segment"].map({0: "monday", 1: "friday"})
    monkeypatch.setattr(pieces, "BATCH_ROWS", 37)
    parts = []
    for chunk in log(rows, context=["segment", "day"]).chunks():
        alike = Alike.of(chunk, None)
        assert alike is not None
        parts.append(alike.cells(chunk, alike.tally(chunk)))
    found = Cells.joined(parts)
    keys = [np.arange(600) % FOLDS, rows["item"], rows["p"], rows["segment"], rows["day"]]
    expected = rows.groupby(keys)["click"]
    chunk = found.chunk
    shown = pd.DataFrame(
        {"n": found.size, "mean": chunk.outcome, "squares": found.squares},
        index=pd.MultiIndex.from_arrays(
            [
                found.fold,
                ARMS.index[chunk.action],
                np.asarray(chunk.propensity),
                chunk.context["segment"],
                chunk.context["day"],
            ]
        ),
    ).sort_index()
    assert len(shown) == expected.ngroups < 600
    np.testing.assert_array_equal(shown["n"], expected.count())
    np.testing.assert_allclose(shown["mean"], expected.mean(), rtol=1e-12, atol=1e-14)
    squares = expected.var(ddof=0) * expected.count()
    np.testing.assert_allclose(shown["squares"], squares, rtol=1e-9, atol=1e-13)


CASES: dict[str, tuple[dict[str, Any], Any, bool]] = {
    "by arm": ({}, other, True),
    "by context": ({"context": "segment"}, by_segment, True),
    "by two": ({"context": ["segment", "day"]}, by_segment, True),
    "propensities of all arms": ({"propensity": [f"p_{a}" for a in ARMS.index]}, other, True),
    "each row its own": ({"context": ["segment", "minute"]}, by_segment, False),
    "propensities of each row": ({"propensity": "own"}, other, False),
}


@pytest.mark.parametrize("case", CASES)
def test_one_reading_tells_the_same_as_two(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the judgement row by row, for values, intervals and the test of the model."""
    given, policy, once = CASES[case]
    rows = table(800)
    rows["day"] = rows["segment"].map({0: "monday", 1: "friday"})
    rows["own"] = rows["p"] * np.random.default_rng(5).uniform(0.9, 1.0, 800)
    judged = log(rows, **given)
    if not once:
        monkeypatch.setattr(cells, "FEW_CELLS", 1)
    reading = Counted(judged._rows)
    judged._rows = reading
    for value in ("return", "projection"):
        reading.times = 0
        found = pb.replay(judged, policy, value=value, subspace=U, clip=1.5)
        estimates, even = found.estimates(), pb.replay(judged, uniform, value=value, subspace=U)
        assert reading.times == 2 if once else reading.times > 2
        away = found.versus(even)
        with monkeypatch.context() as patched:
            patched.setattr(Alike, "of", lambda *given: None)
            slow = pb.replay(judged, policy, value=value, subspace=U, clip=1.5)
            again = pb.replay(judged, uniform, value=value, subspace=U)
            pd.testing.assert_frame_equal(estimates, slow.estimates(), rtol=1e-10, atol=1e-12)
            pd.testing.assert_frame_equal(away, slow.versus(again), rtol=1e-9, atol=1e-11)
        assert found.lack_of_fit().p_value == pytest.approx(slow.lack_of_fit().p_value, abs=1e-12)


def uniform(arms: Any, context: Any) -> Any:
    return np.full(len(arms), 1 / len(arms))


class Counted:
    """Rows of a log that know how often they were read."""

    def __init__(self, rows: Any) -> None:
        self._rows, self.names, self.rows, self.times = rows, rows.names, rows.rows, 0

    def pieces(self) -> Any:
        self.times += 1
        return self._rows.pieces()


@pytest.mark.parametrize("room", [1, 1000])
def test_progress_adds_up_to_two_readings(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "FEW_CELLS", room)
    monkeypatch.setattr(pieces, "BATCH_ROWS", 37)
    done: list[int] = []
    judged = log(table(300), context=["segment", "minute"])
    pb.replay(judged, by_segment, value="return", progress=done.append)
    assert sum(done) == 600


def test_with_many_cells_a_log_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table(2000)
    judged = log(rows, context="segment")
    one = pb.replay(judged, by_segment, value="return").estimates()
    monkeypatch.setattr(pieces, "BATCH_ROWS", 100)
    monkeypatch.setattr(grouping, "MOST_CELLS", 10)
    monkeypatch.setattr(grouping, "MOST_PARTS", 2)
    found = pb.replay(judged, by_segment, value="return")
    assert found.look.cells is None
    pd.testing.assert_frame_equal(found.estimates(), one, rtol=1e-10)


@pytest.mark.parametrize("policy", ["function", "column", "columns", "strategy", "vectors"])
def test_rows_are_judged_some_at_a_time(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where arms are many, the probabilities of all rows would not fit into memory."""
    rows = table(90)
    given: dict[str, Any] = {"context": ["segment", "minute"], "time": "minute"}
    if policy == "vectors":
        mixed = [LOGGED if t % 2 else np.full(6, 1 / 6) for t in range(90)]
        rows["p"] = pd.Series(mixed)
    judged = {
        "column": "pi",
        "columns": [f"p_{label}" for label in ARMS.index],
        "strategy": pb.GENTRY(),
    }.get(policy, by_segment)
    source = log(rows, **given)
    one = pb.replay(source, judged, value="return").estimates()
    monkeypatch.setattr(judging, "MOMENT_ROOM", 40)
    two = pb.replay(source, judged, value="return").estimates()
    pd.testing.assert_frame_equal(one, two, rtol=1e-11)


def test_propensities_that_change_between_chunks_are_kept_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = table(400)
    later = np.array([0.2, 0.2, 0.2, 0.2, 0.1, 0.1])
    action = ARMS.index.get_indexer(pd.Index(rows["item"]))
    p = np.where(np.arange(400) < 200, LOGGED[action], later[action])
    rows["p"] = p
    monkeypatch.setattr(pieces, "BATCH_ROWS", 100)
    found = pb.replay(log(rows), other, value="return", clip=1.5)
    assert found.look.cells is not None
    chances, nothing = np.tile(OTHER, (400, 1)), np.zeros((400, 6))
    r = rows["click"].to_numpy()
    expected = naive.policy_value(action, r, p, chances, nothing, 1.5)
    for name in ESTIMATE_NAMES[2:5]:
        assert found.estimates().loc[name, "value"] == pytest.approx(expected[name], abs=1e-12)
