"""Commands as tests give them."""

from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from projbandits.cli.app import app as app

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


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
