"""Logs as they are read: from tables and files, with names matched, or refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import projbandits as pb
from tests.logs import U, logged, named


def test_a_log_is_read_from_parquet(tmp_path: Path) -> None:
    log = logged(5, steps=30)
    log.to_parquet(tmp_path / "log.parquet")
    one = pb.replay(log, pb.GENTRY(), subspace=U).estimates()
    for same in (log, tmp_path / "log.parquet", pd.concat([log[:9], log[9:]])):
        pd.testing.assert_frame_equal(pb.replay(same, pb.GENTRY()).estimates(), one)


def test_a_polars_table_is_replayed() -> None:
    log = logged(5, steps=30)
    one = pb.replay(log, pb.GENTRY()).estimates()
    two = pb.replay(pl.from_pandas(log), pb.GENTRY(), subspace=U).estimates()
    pd.testing.assert_frame_equal(one, two)


def test_the_subspace_is_matched_by_name() -> None:
    log = named(["a", "b", "race"]).log()
    one = pb.replay(log, pb.GENTRY())
    other = pb.Subspace.without("race", columns=["race", "a", "b"])
    two = pb.replay(log, pb.GENTRY(), subspace=other)
    np.testing.assert_array_equal(one.features, two.features)
    pd.testing.assert_frame_equal(one.estimates(), two.estimates())
    wrong = pb.Subspace.without("race", columns=["a", "bb", "race"])
    with pytest.raises(ValueError, match=r"subspace must have the columns \['b'\].*'bb'"):
        pb.replay(log, pb.GENTRY(), subspace=wrong)
    nameless = pb.replay(log, pb.GENTRY(), subspace=U).estimates()
    pd.testing.assert_frame_equal(nameless, one.estimates())


def test_columns_out_of_order_are_noticed() -> None:
    log = named(["a", "b", "race"]).log()
    log = log[[*reversed(log.columns)]]
    with pytest.raises(ValueError, match="leave the columns in their order"):
        pb.replay(log, pb.GENTRY())


def test_names_that_come_later_are_those_of_the_whole_log() -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    decider.tell(decider.ask(np.eye(3)).id, 1.0)
    decider.tell(decider.ask(pd.DataFrame(np.eye(3), columns=["p", "q", "r"])).id, 2.0)
    log = decider.log()
    features = [name for name in log.columns if name.startswith("x[")]
    assert features == ["x[p]", "x[q]", "x[r]"]
    assert log[features].notna().all(axis=None)
    assert len(pb.replay(log, pb.GENTRY()).outcomes) == 2
    assert decider.audit().about.looked_at == 2


def test_logs_that_cannot_be_replayed_are_named() -> None:
    decider = pb.Decider(subspace=U, seed=0)
    decision = decider.ask(pb.Ball(d=3))
    with pytest.raises(ValueError, match="at least one decision whose outcome was told"):
        pb.replay(decider.log(), pb.GENTRY(), subspace=U)
    decider.tell(decision.id, 1.0)
    with pytest.raises(ValueError, match=f"decision '{decision.id}' lacks it"):
        pb.replay(decider.log(), pb.GENTRY(), subspace=U)
    with pytest.raises(ValueError, match="arms must have 2 features"):
        pb.replay(logged(0, steps=2), pb.GENTRY(), subspace=pb.Subspace.coordinates([0], d=2))
    log = logged(0, steps=3)
    for bad, error, message in (
        (log.drop(columns=["belief", "position"]), ValueError, r"\['position', 'belief'\], they"),
        (pd.DataFrame({"a": [1.0]}), ValueError, r"'belief', 'x\[\.\.\.\]'\], they are missing"),
        (pl.DataFrame({"a": [1.0]}), ValueError, "they are missing"),
        (pd.concat([log, log]), ValueError, "each decision once"),
        ([1.0], TypeError, "log must be what Decider.log returned"),
        (pl.from_pandas(log), ValueError, r"pass replay\(log, strategy, subspace=\.\.\.\)"),
        (log.drop(columns="x[2]"), ValueError, "arms must have 3 features"),
    ):
        with pytest.raises(error, match=message):
            pb.replay(bad, pb.GENTRY())
    with pytest.raises(TypeError, match="subspace must be a Subspace, got 3"):
        pb.replay(log, pb.GENTRY(), subspace=3)  # type: ignore[arg-type]


def test_names_that_look_like_numbers_are_names() -> None:
    rng = np.random.default_rng(0)
    U = pb.Subspace.without("2", columns=["0", "1", "2"])
    decider = pb.Decider(pb.GENTRY(alpha=0.5), subspace=U, seed=0)
    for _ in range(40):
        decision = decider.ask(pd.DataFrame(rng.normal(size=(4, 3))))
        decider.tell(decision, float(decision.arm @ [1.0, 0.5, 2.0]))
    turned = pb.Subspace.without("2", columns=["2", "0", "1"])
    plain = pb.replay(decider.log(), pb.GENTRY()).estimates()
    for log in (decider.log(), pl.from_pandas(decider.log())):
        again = pb.replay(log, pb.GENTRY(), subspace=turned).estimates()
        pd.testing.assert_frame_equal(again, plain)


def test_logs_put_together_are_refused_where_beliefs_do_not_serve() -> None:
    U = pb.Subspace.coordinates([0, 1], d=3)
    logs = []
    for seed in range(2):
        decider = pb.Decider(pb.REGRET(), subspace=U, seed=seed)
        for _ in range(5):
            decider.tell(decider.ask(np.eye(3)), 1.0)
        logs.append(decider.log())
    with pytest.raises(ValueError, match="that of one decider, got 2 put together"):
        pb.replay(pd.concat(logs, ignore_index=True), pb.GENTRY())
