"""The command line: what it prints, what it writes, and what it says when something is wrong."""

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

import projbandits as pb
from projbandits import theory
from projbandits.cli.app import app
from projbandits.simulation import workers
from projbandits.simulation.store import Store
from projbandits.simulation.streams import stream

PLAN = """
trials = 40
horizon = 50
problem = "random_arms(d=3, arms=6, u=1)"
strategies = ["GENTRY(alpha=2)", "CURSE"]
"""
SMALL = ["--trials", "20", "--horizon", "50"]


def call(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def refused(*arguments: str | Path, code: int = 2) -> str:
    """Run a command that must fail, and return its one line."""
    result = call(*arguments)
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("projbandits: ")
    assert result.stderr.count("\n") == 1
    return str(result.stderr)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Console, "is_terminal", True)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "40")


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


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


def test_an_edited_plan_with_the_same_label_is_another_one(plan: Path) -> None:
    text = """
trials = 4
horizon = 20
strategies = ["GENTRY"]
problem = {name="random_theta", u=1, arms={name="FiniteArms", X=[[1, 0], [0, 2], [1, 1]]}}
"""
    plan.write_text(text)
    out = plan.parent / "out"
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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("trials = 40", "trails = 40"), "got 'trails': did you mean 'trials'?"),
        (("trials = 40", "trials = 'many'"), "trials must be a whole number, got 'many'"),
        (("horizon = 50", "horizon = 5e1"), "horizon must be a whole number, got 50.0"),
        (("horizon = 50", "engine = 'event'"), "engine must be one of 'auto', 'events'"),
        (("horizon = 50", "checkpoints = 'all'"), "checkpoints must be a list of steps"),
        (("alpha=2", "alpha='2'"), "strategy 1 GENTRY: alpha must be a number, got '2'"),
        (("u=1", "u=9"), "u must be at most 3, got 9"),
    ],
)
def test_a_wrong_plan_is_refused(plan: Path, change: tuple[str, str], said: str) -> None:
    plan.write_text(PLAN.replace(*change))
    assert said in refused("simulate", plan, "--out", plan.parent / "out")


def test_with_too_little_disk_what_was_finished_stays(
    plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = plan.parent / "out"
    keep = Store.keep

    def full(self: Store, chunk: range, records: Any) -> None:
        if list(out.glob("store/part-*")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(out))
        keep(self, chunk, records)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "keep", full)
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
    result = pb.simulate(
        pb.problems.random_arms(d=4, u=2),
        [pb.GENTRY(), pb.CURSE()],
        trials=20,
        horizon=50,
        seed=3,
        progress=False,
    )
    better, base = json.loads(printed.stdout)
    row: Any = result.paired("CURSE()").loc["GENTRY()"]
    names = ("difference", "difference_low", "difference_high", "better")
    assert [better[name] for name in names] == row.tolist()
    assert [base[name] for name in names] == [None] * 4
    assert base["p90"] == result.summary()["p90"].iloc[1]


def test_compare_refuses_what_it_cannot_run() -> None:
    assert "did you mean 'GENTRY'" in refused("compare", "random_arms", "GENTRI")
    assert "did you mean 'random_arms'" in refused("compare", "randomarms", "GENTRY")
    said = refused("compare", "random_arms", "GENTRY", "--baseline", "UE")
    assert "baseline must be one of 'GENTRY()', got 'UE()'" in said
    assert "distinct labels" in refused("compare", "random_arms", "UE", "UE()")
    assert "trials must be at least 1" in refused("compare", "random_arms", "UE", "--trials", "0")
    assert "No such option" in call("compare", "random_arms", "UE", "--trails", "3").stderr
    assert "path must be the file" in refused("compare", "wine(path='/nowhere')", "UE")


def test_reproduce_tells_the_verdicts_and_where_the_report_is(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = call("reproduce", "fig-a", *SMALL, "--out", out, "--threads", "1")
    assert done.exit_code == 0
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert rows[0] == ["claim", "verdict", "text"]
    assert {row[1] for row in rows[1:]} == {"undecided at this size"}
    assert done.stderr == f"report: {out / 'report.html'}\n"
    again = call("reproduce", "fig-a", *SMALL, "--out", out, "--json")
    records = json.loads(again.stdout, parse_constant=pytest.fail)
    assert [record["claim"] for record in records] == [row[0] for row in rows[1:]]
    assert {"what", "value", "low", "high", "asked_for"} <= set(records[0]["numbers"][0])


def test_reproduce_refuses_what_it_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "did you mean 'fig-wine'" in refused("reproduce", "fig-win", "--out", tmp_path / "o")
    (tmp_path / "file").write_text("")
    at = tmp_path / "file" / "out"
    assert "must be a folder that can be written to" in refused("reproduce", "--out", at)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("")
    assert "holds other files; nothing was changed" in refused("reproduce", "--out", mine)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1))
    assert "MB are needed" in refused("reproduce", "--out", tmp_path / "full", code=1)


def test_theory_shows_the_constants_of_the_simulated_world() -> None:
    shown = call("theory", "random_arms", "--trial", "2", "--seed", "5", "--json").stdout
    values = {row["quantity"]: row["value"] for row in json.loads(shown)}
    c = theory.constants(pb.problems.random_arms().world(stream(5, 2, "world")))
    assert values["gap"] == c.gap
    assert values["alpha_threshold"] == c.alpha_threshold
    assert values["alpha_exceeds"] is False
    assert values["theorem_1"] == pytest.approx(theory.theorem_1(10_000, 45))
    assert "theorem_2" not in values
    assert "misspecified" in refused("theory", "wine")


def test_theory_over_many_worlds() -> None:
    shown = call("theory", "random_arms", "--trials", "21", "--alpha", "20000", "--json").stdout
    rows = {row["quantity"]: row for row in json.loads(shown)}
    worlds = [pb.problems.random_arms().world(stream(0, i, "world")) for i in range(21)]
    thresholds = sorted(theory.constants(world).alpha_threshold for world in worlds)
    expected = (thresholds[2], thresholds[10], thresholds[18])
    assert tuple(rows["alpha_threshold"][q] for q in ("p10", "median", "p90")) == expected
    share = sum(threshold < 20_000 for threshold in thresholds) / 21
    assert 0 < share < 1
    assert rows["alpha_exceeds"]["mean"] == share
    infinite = call("theory", "entropy_ball", "--trials", "3").stdout
    assert "alpha_threshold\tinf\tinf\tinf\tinf\t" in infinite


def test_list_names_everything_with_its_parameters() -> None:
    rows = json.loads(call("list", "--json").stdout)
    assert {row["kind"] for row in rows} == {"problems", "strategies", "figures"}
    (gentry,) = (row for row in rows if row["name"] == "GENTRY")
    assert "alpha=1.0" in gentry["parameters"]
    assert gentry["about"].startswith("The greedy projection strategy")
    only = call("list", "problems").stdout.splitlines()
    assert only[0].split("\t") == ["kind", "name", "parameters", "about"]
    assert {line.split("\t")[0] for line in only[1:]} == {"problems"}
    assert "did you mean 'figures'" in refused("list", "figure")


@pytest.mark.usefixtures("terminal")
def test_a_narrow_terminal_cuts_no_number_short() -> None:
    command = ["compare", "random_arms", "GENTRY", "CURSE", *SMALL]
    shown = call(*command).stdout
    assert "…" not in shown
    result = pb.simulate(
        pb.problems.random_arms(), [pb.GENTRY(), pb.CURSE()], trials=20, horizon=50, progress=False
    )
    mean, low, high = (result.summary()[name].iloc[1] for name in ("mean", "low", "high"))
    assert f"{mean:.3g} ({low:.3g} to {high:.3g})" in shown
    assert call("list").exit_code == 0


def test_help_and_version() -> None:
    assert call("--version").stdout == f"projbandits {pb.__version__}\n"
    assert call("--help").exit_code == 0
    for command in ("simulate", "compare", "theory", "list"):
        assert command in call("--help").stdout
        assert call(command, "--help").exit_code == 0
    wrong = call("comparr")
    assert wrong.exit_code == 2
    assert "Did you mean 'compare'" in wrong.stderr


def test_faults_of_the_program_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **options: Any) -> None:
        raise AttributeError("a fault")

    monkeypatch.setattr(theory, "constants", broken)
    with pytest.raises(AttributeError, match="a fault"):
        call("theory", "random_arms")


START = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
from projbandits.cli import main
main()
"""


def test_control_c_says_how_to_go_on(plan: Path) -> None:
    plan.write_text('problem = "random_arms"\nstrategies = ["UE"]\ntrials=4000\nhorizon=20_000\n')
    out = plan.parent / "out"
    process = subprocess.Popen(
        [sys.executable, "-c", START, "simulate", plan, "--out", out, "--threads", "1"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not list(out.glob("store/part-*")) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert printed == ""
    assert said.startswith("projbandits: stopped after ")
    assert "run the same again to continue" in said


def test_the_installed_command_ends_quietly_when_its_reader_has_seen_enough() -> None:
    command = Path(sys.executable).with_name("projbandits")
    process = subprocess.Popen(
        [command, "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait()


def test_asking_for_help_loads_nothing_slow() -> None:
    code = "import sys, projbandits.cli; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"matplotlib", "numba", "pandas", "pyarrow", "distributed"} & set(
        done.stdout.split()
    )
