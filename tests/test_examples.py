"""The examples run, and show what they say."""

import importlib
import importlib.util
import operator
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from tests.service.processes import free_port

SHOWN = re.compile(r"^(.+?): \D*([\d.]+)", re.MULTILINE)
"""What is compared, and the first number that is printed of it."""


@pytest.mark.parametrize(
    ("name", "sizes", "compares", "learnt"),
    [
        ("movies", {"viewers": 200, "runs": 3}, operator.lt, 200),  # enjoyment that is missed
        ("doses", {"patients": 60, "trials": 3}, operator.gt, 50),  # ten patients wait
        ("first_names", {"labels": 1000, "visits": 100, "runs": 2}, operator.gt, 100),
        ("wines", {"days": 30, "history": 100, "runs": 2}, operator.lt, 100 + 16),  # then closed
    ],
)
def test_an_example_shows_what_it_says(
    name: str,
    sizes: dict[str, int],
    compares: Callable[[float, float], bool],
    learnt: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "new" / "folder"
    decider = importlib.import_module(f"examples.{name}").main(out, **sizes)
    plt.close("all")
    assert (out / f"{name}.png").stat().st_size > 10_000
    one, other = (float(number) for _, number in SHOWN.findall(capsys.readouterr().out)[:2])
    assert compares(one, other)
    assert decider.ridge.n == learnt


@pytest.mark.skipif(importlib.util.find_spec("obp") is None, reason="obp brings the data")
def test_few_clicks_of_a_public_log_show_little(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decider = importlib.import_module("examples.fashion").main(tmp_path, days=2, calls=150)
    plt.close("all")
    assert (tmp_path / "fashion.png").stat().st_size > 10_000
    said = capsys.readouterr().out
    assert re.search(r"clicks in \d+ rows of history: \d+\n", said)
    assert "Not cleared" in said  # of so few clicks, nor of a leak
    assert decider.steps == 150 + 34
    unknown = {"size": 0.0, "kind": "new", "season": "new"}
    context = {"viewer": "new", "position": "1"}
    with pytest.warns(UserWarning, match="that fit did not see"):
        assert decider.ask([unknown], labels=["new"], context=context).label == "new"


def test_the_demo_serves_until_it_is_stopped_and_leaves_nothing_running(tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "examples/service_demo.py", str(tmp_path)]
    environment = {**os.environ, "PORT": str(port)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        printed = [demo.stdout.readline() for _ in range(3)]
        assert printed[0] == f"dashboard: http://127.0.0.1:{port}/\n"
        assert printed[1].startswith("token: pb_")
        demo.send_signal(signal.SIGTERM)
        assert demo.stdout.read() == "stopped\n"
        assert demo.wait(30) == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
