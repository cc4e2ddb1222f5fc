"""The command itself: help, faults, Ctrl-C, and a reader who has seen enough."""

import runpy
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import projbandits as pb
from projbandits import theory
from tests.commands import call
from tests.worlds import until


def test_help_and_version() -> None:
    assert call("--version").stdout == f"projbandits {pb.__version__}\n"
    assert call("--help").exit_code == 0
    for command in ("simulate", "compare", "theory", "list"):
        assert command in call("--help").stdout
        assert call(command, "--help").exit_code == 0
    wrong = call("comparr")
    assert wrong.exit_code == 2
    assert "Did you mean 'compare'" in wrong.stderr


def test_python_runs_the_package_as_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["projbandits", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("projbandits", run_name="__main__")
    assert not ended.value.code
    assert capsys.readouterr().out == f"projbandits {pb.__version__}\n"


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
    until(lambda: list(out.glob("store/part-*")), process)
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
    assert process.wait() == 1  # it did meet the closed pipe


HELP = """
import contextlib, io, sys
from projbandits.cli import main
sys.argv = ["projbandits", "--help"]
with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
    main()
assert "compare" in said.getvalue()
print(*sorted(sys.modules))
"""


def test_asking_for_help_loads_nothing_slow() -> None:
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "projbandits.cli.app" in loaded
    assert not {"matplotlib", "numba", "pandas", "pyarrow", "distributed"} & loaded
