"""Every Python block and command in the documents runs, and every link leads somewhere."""

import re
import shlex
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from tests.commands import app

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page", [p for p in PAGES if BLOCK.search(p.read_text())], ids=lambda p: p.name
)
def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "page"}
    for block in BLOCK.findall(page.read_text()):
        exec(compile(block, str(page), "exec"), namespace)
    plt.close("all")


@pytest.mark.parametrize(
    "page", [p for p in PAGES if LINK.search(p.read_text())], ids=lambda p: p.name
)
def test_links_to_files_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_command_that_a_page_names_is_there() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    known = {*typer.main.get_command(app).commands}  # type: ignore[attr-defined]
    for page in PAGES:
        text = page.read_text()
        assert set(re.findall(r"`make ([a-z]+)`", text)) <= targets, page.name
        assert set(re.findall(r"`projbandits ([a-z]+)", text)) <= known, page.name
        for module in re.findall(r"`python\s-m\s((?:benchmarks|tests)\.\w+)", text):
            path = ROOT.joinpath(*module.split("."))
            assert path.with_suffix(".py").exists() or path.is_dir(), module
        for script in re.findall(r"python (examples/\w+\.py)", text):
            assert (ROOT / script).exists(), script


COMMANDS = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILES = re.compile(r"^```toml\n# (\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_commands_of_a_page_print_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Console, "is_terminal", True)
    for name, value in {"TERM": "dumb", "COLUMNS": "88", "LINES": "40"}.items():
        monkeypatch.setenv(name, value)
    page = (ROOT / "docs" / "command-line.md").read_text()
    for name, content in FILES.findall(page):
        Path(name).write_text(content)
    Path("films.csv").write_text("length,comedy,lead_age\n1.6,1,0.3\n2.1,0,0.6\n1.8,1,0.7\n")
    runs = [block.split("\n", 1) for block in COMMANDS.findall(page)]
    assert len(runs) == 4
    for command, expected in [*runs, ["$ projbandits simulate films.toml", None]]:
        arguments = shlex.split(command.removeprefix("$ projbandits "))
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.stderr
        if expected is not None:
            assert _lines(result.stdout) == _lines(expected)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]
