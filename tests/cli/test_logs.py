"""`projbandits replay` and `projbandits fit`: logs in files, policies as text."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from tests.commands import call, refused
from tests.evaluation.tables import ARMS, U, log, other, table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table(200).to_parquet(tmp_path / "log.parquet")
    ARMS.reset_index(names="item").to_csv(tmp_path / "arms.csv", index=False)
    return tmp_path


def given(folder: Path) -> list[str]:
    arms = ["--arms", str(folder / "arms.csv"), "--action", "item", "--outcome", "click"]
    return [*arms, "--protected", "race"]


def test_a_policy_in_a_column_is_judged(folder: Path) -> None:
    done = call(
        "replay", folder / "log.parquet", "pi", *given(folder), "--propensity", "p",
        "--value", "return", "--json",
    )  # fmt: skip
    assert done.exit_code == 0
    found = {row["estimate"]: row for row in json.loads(done.stdout)}
    expected = pb.replay(log(table(200)), other, value="return").estimates()
    for name in ("arm by arm", "arm by arm, self-normalised"):
        assert found[name]["value"] == pytest.approx(expected.loc[name, "value"])
    assert found["model"]["value"] is None
    assert "No lack of fit was found" in done.stderr


def test_a_strategy_and_a_saved_decider_are_judged(folder: Path) -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    decider.learn(ARMS, np.arange(6.0))
    decider.save(folder / "decider.pb")
    for policy in ("GENTRY(alpha=2)", folder / "decider.pb"):
        done = call(
            "replay", folder / "log.parquet", policy, *given(folder), "--propensity", "p", "--json"
        )
        assert done.exit_code == 0
        found = {row["estimate"]: row for row in json.loads(done.stdout)}
        assert np.isfinite(found["linear weights, doubly robust"]["value"])


def test_the_log_of_a_decider_is_recognised(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    for _ in range(20):
        decider.tell(decider.ask(ARMS), rng.normal())
    decider.export(tmp_path / "log.parquet")
    done = call("replay", tmp_path / "log.parquet", "CURSE", "--json")
    expected = pb.replay(decider, pb.CURSE()).estimates()["value"]
    found = {row["estimate"]: row["value"] for row in json.loads(done.stdout)}
    assert found["model"] == pytest.approx(expected["model"])


def test_a_whole_log_is_fitted(folder: Path) -> None:
    done = call("fit", folder / "log.parquet", *given(folder), "--penalty", "2", "--json")
    assert done.exit_code == 0
    found = pd.DataFrame(json.loads(done.stdout)).set_index("feature")
    pd.testing.assert_frame_equal(found, log(table(200)).fit(U, 2.0).table(), rtol=1e-9)


def test_what_a_log_lacks_is_said_in_one_line(folder: Path) -> None:
    said = refused("fit", folder / "log.parquet", "--features", "a,b")
    assert "log must have a column 'outcome', it is missing" in said
    said = refused("replay", folder / "log.parquet", "GENTRI", *given(folder), "--propensity", "p")
    assert "a column of the log, got 'GENTRI': did you mean 'GENTRY'?" in said
    said = refused("replay", folder / "log.parquet", "clik", *given(folder), "--propensity", "p")
    assert "got 'clik': did you mean 'click'?" in said
    assert "exclude each other" in refused(
        "fit", folder / "log.parquet", *given(folder), "--threads", "2", "--cluster", "tcp://a:1"
    )
