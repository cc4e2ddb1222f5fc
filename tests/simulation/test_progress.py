"""The progress bar."""

import io

import pytest

from tests.worlds import run


def test_the_bar_is_silent_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    run(progress=True)
    assert capfd.readouterr() == ("", "")


def test_the_bar_shows_rate_and_time_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    import rich.console

    screen = io.StringIO()
    terminal = rich.console.Console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr(rich.console, "Console", lambda **_: terminal)
    run(progress=True)
    assert "100%" in screen.getvalue()
    assert "steps/s" in screen.getvalue()
