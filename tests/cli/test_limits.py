"""What no machine can do, and texts nobody types: refused at once, in one line that names it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from projbandits.simulation import memory
from tests.commands import app

DIGITS = "1" * 4000
DEEP = 5000
NO_NUMBER = "alpha must be a number, a text in quotes" if sys.version_info >= (3, 13) else ""
"""What is said of deep signs and sums from Python 3.13 on, whose parser reads them."""
COMPARE = ["compare", "random_arms", "GENTRY"]
FIG_A = ["reproduce", "fig-a"]
INSTANCE = "instance(arms=[[1, 0], [0, 1]], theta=[1, 1], subspace={})"


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have the same machine everywhere, and an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(memory, "physical", lambda: 16e9)


def refused(*arguments: str | Path) -> str:
    """Return the one line of a command that is refused."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    said: str = result.stderr
    assert (result.exit_code, result.stdout) == (2, "")
    assert said.startswith("projbandits: ")
    assert said.endswith("\n")
    assert said[:-1].isprintable()
    assert len(said) < 300
    return said


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        (f"GENTRY(alpha={'-' * DEEP}1)", NO_NUMBER or "must be a name, or a call such as"),
        (f"GENTRY(alpha={'-' * 90_000}1)", "must be a name, or a call such as"),
        (f"GENTRY(alpha={'[' * DEEP}{']' * DEEP})", "must be a name, or a call such as"),
        (f"GENTRY(alpha=1{'+1' * DEEP})", NO_NUMBER or "got 'GENTRY(alpha=1+1+1"),
        (f"GENTRY(alpha={'GENTRY(alpha=' * 150}1{')' * 151}", "alpha must be a number, got"),
        (f"GENTRY(alpha={DIGITS})", "alpha must fit a float, got 111"),
        (f"GENTRY(alpha={DIGITS * 2})", "must be a name, or a call such as"),
        (f"GENTRY(alpha=0x{'f' * 9000})", "alpha must fit a float, got what is too long to print"),
        (f"GENTRY(alpha=[0x{'f' * 9000}])", "alpha must be a number, got what is too long"),
        (f"GENTRY(alpha=[{'1,' * 40_000}])", "alpha must be a number, got [1, 1,"),
        (f"EIRatio(horizon={DIGITS})", "horizon must be at most 9007199254740992, as larger"),
        ("GENTRY(alpha=1e400)", "alpha must be finite, got inf"),
        ("GENTRY(alpha=nan)", "alpha must be a number, a text in quotes, a list or None, got nan"),
        ("GENTRY(alpha={[]: 1})", "got {[]: 1}"),
        ("GENTRY(alpha=1, alpha=1)", "each parameter once"),
        ("GENTRY(basis='\\d')", "basis must be one of"),
        ("GENTRY\0", "got 'GENTRY\\x00'"),
        ("GENTRY\n\n\nUE", "got 'GENTRY\\n\\n\\nUE'"),
        ("\udcff\x1b[31m", "got '\\udcff\\x1b[31m'"),
        ("", "got ''"),
        ("x" * 10**5, "got 'xxx"),
        ("x" * 10**7, "must have at most 100,000 characters, got 10,000,000"),
    ],
    ids=lambda text: text[:30].encode("unicode_escape").decode(),
)
def test_a_strategy_that_is_none(strategy: str, said: str) -> None:
    assert said in refused("compare", "random_arms", strategy)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([*COMPARE, "--trials", DIGITS], "trials must be at most 9007199254740992"),
        ([*COMPARE, "--trials", DIGITS * 2], "--trials"),
        ([*COMPARE, "--trials", "2000000000"], "the results of 2,000,000,000 would take 21,008 GB"),
        ([*COMPARE, "--trials", "many\n"], "--trials"),
        ([*COMPARE, "--horizon", DIGITS], "horizon must be at most 9007199254740992, as larger"),
        ([*COMPARE, "--horizon", str(2**62)], "counts are not exact, got 4611686018427387904"),
        ([*COMPARE, "--horizon", str(2**63)], "horizon must be at most"),
        ([*COMPARE, "--horizon", str(2**40), "--engine", "compiled"], "8,796 GB for GENTRY()"),
        ([*COMPARE, "--horizon", str(2**40), "--engine", "reference"], "52,777 GB for GENTRY()"),
        (
            ["compare", "random_arms", "EIIDS", "--horizon", str(2**40)],
            "engine 'compiled' would take",
        ),
        ([*COMPARE, "--seed", DIGITS], "seed must be at most 340282366920938463463374607431768211"),
        ([*COMPARE, "--seed=-" + DIGITS], "seed must be at least 0, got -111"),
        ([*COMPARE, "--threads", "1000000"], "threads must be at most 1024"),
        ([*COMPARE, "--engine", "x" * 10**7], "engine must be one of"),
        ([*COMPARE, "--baseline", "x" * 10**5], "strategy must be one of"),
        ([*COMPARE, "--" + "x" * 10**5], "No such option"),
        (["x" * 10**5], "No such command"),
        (["--" + "x" * 10**5], "No such option"),
        (["list", "x" * 10**7], "what to list must be one of"),
        (["simulate", "x" * 10**5], "SPEC.toml"),
        (["simulate", "/dev/zero"], "zero must have at most 1,000,000"),
        (["theory", "random_arms", "--trials", "2000000000"], "trials must be at most 1000000"),
        (["theory", "random_arms", "--trial", DIGITS], "trial must be at most"),
        (["theory", "random_arms", "--horizon", DIGITS], "horizon must be at most"),
        (["theory", "random_arms", "--seed", DIGITS], "seed must be at most"),
        (["theory", "random_arms", "--alpha", "1e400"], "alpha must be finite"),
        (["reproduce", "x" * 10**7], "figure must be one of"),
        ([*FIG_A, "--trials", "2000000000"], "the results of 1,000,000,000 would take"),
        ([*FIG_A, "--trials", DIGITS], "trials must be at most"),
        ([*FIG_A, "--horizon", str(2**62)], "horizon must be at most"),
        (["reproduce", "fig-c", "--horizon", str(2**40)], "engine 'compiled' would take"),
        (["reproduce", "fig-long", "--horizon", str(2**40)], "horizon of long must be at most"),
        ([*FIG_A, "--seed", DIGITS], "seed must be at most"),
        ([*FIG_A, "--out", "x" * 10**5], "File name too long"),
        (["compare", f"random_arms(d={DIGITS})", "UE"], "d must be at most"),
        (["compare", "random_arms(arms=10**9)", "UE"], "arms must be a number"),
        (["compare", "random_arms(arms=100000000000000)", "UE"], "not enough memory: ask for less"),
        (["compare", INSTANCE.format("coordinates(keep=[0], d=100000000)"), "UE"], "memory"),
        (["compare", INSTANCE.format(f"span(A=[[{DIGITS}], [1]])"), "UE"], "A must hold numbers"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_a_size_that_is_none(arguments: list[str], said: str) -> None:
    assert said in refused(*arguments)


GOOD = 'problem = "random_arms"\nstrategies = ["UE"]\n'


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (f"{GOOD}trials = 2000000000", "the results of 2,000,000,000 would take"),
        (f"{GOOD}trials = {DIGITS}", "trials must be at most"),
        (f"{GOOD}trials = {DIGITS * 2}", "plan.toml must be a TOML file"),
        (f"{GOOD}horizon = {2**62}", "horizon must be at most"),
        (f"{GOOD}seed = {DIGITS}", "seed must be at most"),
        (f"{GOOD}checkpoints = [{DIGITS}]", "checkpoints must be a list of steps"),
        (f"{GOOD}checkpoints = [1e300]", "checkpoints must lie in 1 to the horizon 10000, got 1"),
        (f"{GOOD}checkpoints = [[1], [1, 2]]", "checkpoints must be a list of steps"),
        (f"{GOOD}checkpoints = {'[' * DEEP}{']' * DEEP}", "plan.toml must be a TOML file"),
        (f"{GOOD}engine = '{'x' * 500_000}'", "engine must be one of"),
        (f"{GOOD}{'x' * 500_000} = 1", "plan.toml takes problem, strategies"),
        (
            GOOD.replace("UE", f"GENTRY(alpha={'-' * DEEP}1)"),
            NO_NUMBER or "strategy 1 must be a name",
        ),
        (GOOD.replace('["UE"]', f"'{'x' * 500_000}'"), "strategies must be a list"),
        (GOOD.replace('"UE"', f"{{x = '{'x' * 500_000}'}}"), "strategy 1 must be a text"),
        (f"{GOOD}#{'x' * 10**7}", "plan.toml must have at most 1,000,000 bytes: put many arms"),
    ],
    ids=lambda text: text.removeprefix(GOOD)[:60],
)
def test_a_plan_that_is_none(plan: str, said: str) -> None:
    Path("plan.toml").write_text(plan)
    assert said in refused("simulate", "plan.toml")


def test_the_process_itself_ends_with_one_line() -> None:
    command: list[Any] = [sys.executable, "-m", "projbandits.cli", *COMPARE, "--horizon", DIGITS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
