"""`simulate` and `compare`: what they print, what they write, and what they refuse."""

import errno
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import projbandits as pb
from projbandits.simulation import workers
from tests.commands import PLAN, SMALL, call, contents, refused
from tests.worlds import run


def test_simulate_writes_table_curves_and_figure_and_can_be_repeated(plan: Path) -> None:
    out = plan.parent / "new" / "out"
    first = call("simulate", plan, "--out", out, "--json")
    assert first.exit_code == 0
    assert {p.name for p in out.iterdir()} == {
        "summary.csv",
        "curves.parquet",
        "regret.png",
        "regret.pdf",
        "store",
    }
    result = pb.Result.load(out / "curves.parquet")
    problem = pb.problems.random_arms(d=3, arms=6, u=1)
    strategies = [pb.GENTRY(alpha=2), pb.CURSE()]
    same = pb.simulate(problem, strategies, trials=40, horizon=50, progress=False)
    assert (result.regret == same.regret).all()
    assert json.loads(first.stdout) == same.summary().reset_index().to_dict("records")
    table = pd.read_csv(out / "summary.csv", index_col="strategy")
    assert table["mean"].to_numpy() == pytest.approx(same.summary()["mean"].to_numpy())
    assert str(out / "regret.pdf") in first.stderr
    parts = {n: b for n, b in contents(out).items() if n.startswith("store")}
    assert call("simulate", plan, "--out", out, "--json", "--threads", "2").stdout == first.stdout
    assert {n: b for n, b in contents(out).items() if n.startswith("store")} == parts


def test_the_default_folder_has_the_name_of_the_plan(
    plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plan.parent)
    assert call("simulate", "plan.toml").exit_code == 0
    assert (plan.parent / "out" / "plan" / "summary.csv").exists()


def test_a_folder_that_holds_something_else_is_refused_and_stays_as_it_is(plan: Path) -> None:
    out = plan.parent / "out"
    call("simulate", plan, "--out", out)
    before = contents(out)
    plan.write_text(PLAN.replace("horizon = 50", "horizon = 60"))
    assert "holds another simulation: its horizon is 50, not 60" in refused(
        "simulate", plan, "--out", out
    )
    assert contents(out) == before
    thesis = plan.parent / "thesis"
    thesis.mkdir()
    (thesis / "summary.csv").write_text("mine")
    said = refused("simulate", plan, "--out", thesis)
    assert "holds 'summary.csv'; nothing was changed" in said
    assert contents(thesis) == {"summary.csv": b"mine"}


def test_an_edited_plan_with_the_same_label_is_another_one(
    plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plan.parent)  # of a message with a long path the middle is left out
    text = """
trials = 4
horizon = 20
strategies = ["GENTRY"]
problem = {name="random_theta", u=1, arms={name="FiniteArms", X=[[1, 0], [0, 2], [1, 1]]}}
"""
    plan.write_text(text)
    out = Path("out")
    assert call("simulate", plan, "--out", out).exit_code == 0
    before = contents(out)
    plan.write_text(text.replace("[0, 2]", "[0, 20]"))
    said = refused("simulate", plan, "--out", out)
    assert "its problem has the same label, but other numbers" in said
    assert contents(out) == before


def test_a_folder_that_cannot_be_written_to_is_refused(plan: Path) -> None:
    # Below a file: not even the superuser can make a folder there.
    said = refused("simulate", plan, "--out", plan / "out")
    assert "out must be a folder that can be written to" in said
    assert "out must be a folder" in refused("simulate", plan, "--out", plan)


def test_with_too_little_disk_what_was_finished_stays(
    plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = plan.parent / "out"
    write = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if list(out.glob("store/part-*")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write(path, content)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        said = refused("simulate", plan, "--out", out, code=1)
    assert "No space left on device" in said
    assert "make room and run the same again; what was finished is kept" in said
    kept = contents(out)
    assert len(kept) == 2
    assert call("simulate", plan, "--out", out).exit_code == 0
    assert kept.items() <= contents(out).items()


def test_a_cluster_that_does_not_answer_is_a_failure(
    plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "TIMEOUT", 0.5)
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{door.getsockname()[1]}"
        for command in (["simulate", plan, "--out", plan.parent / "o"], ["compare", "wine", "UE"]):
            assert "did not answer" in refused(*command, "--cluster", address, code=1)


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = refused("compare", "random_arms", "UE", "--cluster", "tcp://127.0.0.1:1", code=1)
    assert "pip install 'projbandits[dask]'" in said


def test_compare_joins_the_summary_and_the_paired_differences() -> None:
    options = [*SMALL, "--seed", "3", "--baseline", "CURSE"]
    printed = call("compare", "random_arms(d=4, u=2)", "GENTRY", "CURSE", *options, "--json")
    problem = pb.problems.random_arms(d=4, u=2)
    result = run(problem, [pb.GENTRY(), pb.CURSE()], trials=20, horizon=50, seed=3)
    better, base = json.loads(printed.stdout)
    row: Any = result.paired("CURSE()").loc["GENTRY()"]
    names = ("difference", "difference_low", "difference_high", "better")
    assert [better[name] for name in names] == row.tolist()
    assert [base[name] for name in names] == [None] * 4
    assert base["p90"] == result.summary()["p90"].iloc[1]


def test_compare_keeps_its_trials_and_may_ask_for_more_of_them(tmp_path: Path) -> None:
    out = tmp_path / "out"
    small = ["compare", "random_arms(d=4, u=2)", "GENTRY", "--horizon", "50", "--json"]
    call(*small, "--trials", "20", "--out", out)
    before = contents(out / "store")
    grown = call(*small, "CURSE", "--trials", "30", "--out", out)
    assert grown.stdout == call(*small, "CURSE", "--trials", "30").stdout
    assert str(out / "regret.png") in grown.stderr
    del before["manifest.json"]
    assert before.items() < contents(out / "store").items()
    assert pb.Result.load(out / "curves.parquet").trials == 30
    said = refused(*small[:-1], "--trials", "30", "--seed", "1", "--out", out)
    assert "holds another simulation: its seed is 0, not 1" in said


def test_compare_refuses_what_it_cannot_run() -> None:
    said = refused("compare", "random_arms", "GENTRY", "--baseline", "UE")
    assert "baseline must be one of 'GENTRY()', got 'UE()'" in said
    assert "No such option" in call("compare", "random_arms", "UE", "--trails", "3").stderr
    assert "path must be the file" in refused("compare", "wine(path='/nowhere')", "UE")


@pytest.mark.usefixtures("terminal")
def test_a_narrow_terminal_cuts_no_number_short() -> None:
    command = ["compare", "random_arms", "GENTRY", "CURSE", *SMALL]
    shown = call(*command).stdout
    assert "…" not in shown
    problem, strategies = pb.problems.random_arms(), [pb.GENTRY(), pb.CURSE()]
    result = run(problem, strategies, trials=20, horizon=50)
    mean, low, high = (result.summary()[name].iloc[1] for name in ("mean", "low", "high"))
    assert f"{mean:.3g} ({low:.3g} to {high:.3g})" in shown
    assert call("list").exit_code == 0
