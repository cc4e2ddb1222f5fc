"""Short forms of `python -m tests.oracles`, and the oracles themselves."""

import math
from pathlib import Path

import pytest

from tests.oracles import __main__ as command
from tests.oracles import adapter, comparing, deciders, simulations


@pytest.mark.parametrize("name", deciders.CORPORA)
def test_deciders_decide_and_report_as_they_did(name: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/oracles.db" if name in deciders.SHARED else None
    found = deciders.play(name, deciders.Place(tmp_path, url))
    differing = [*comparing.differences(comparing.read(name), found)]
    assert not differing, comparing.report(name, differing)


def test_strategies_play_as_they_did() -> None:
    assert command.check_simulations(short=True) == 0


def test_every_strategy_is_simulated() -> None:
    assert {*simulations.STRATEGIES} == adapter.strategy_names() | {"SeekingGENTRY"}


def test_what_was_frozen_is_equal_to_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparing, "FROZEN", tmp_path)
    value = {"b": [[1.0, math.pi, 1e-300], [2, None, "inf", True]], "a": {"c": -1 / 3}}
    comparing.write("some", value)
    assert comparing.equal(comparing.read("some"), value)
    assert comparing.read("other") is None


@pytest.mark.parametrize(
    ("expected", "found", "said"),
    [
        ({"a": [1.0, 2.0]}, {"a": [1.0, 2.00001]}, "a[1]: expected 2.0, found 2.00001, relative "),
        ({"index": 3}, {"index": 4}, "index: expected 3, found 4"),
        ({"found": None}, {"found": False}, "found: expected None, found False"),
        ({"found": True}, {"found": 1}, "found: expected True, found 1"),
        ({"a": 1.0}, {"a": None}, "a: expected 1.0, found None"),
        ({"a": [1]}, {"a": [1, 2]}, "a[1]: expected nothing, found 2"),
        ({"a": {"b": 1}}, {"a": {}}, "a.b: expected 1, found nothing"),
        ({"a": 1.0}, {}, "a: expected 1.0, found nothing"),
        ({"a": "x"}, {"a": "y"}, "a: expected 'x', found 'y'"),
        ({"a": 1.0}, {"a": "inf"}, "a: expected 1.0, found 'inf'"),
    ],
)
def test_a_difference_is_said_with_its_path(expected: object, found: object, said: str) -> None:
    differing = [*comparing.differences(expected, found)]
    assert said in comparing.report("some", differing)


def test_the_last_digits_of_floats_do_not_count() -> None:
    assert comparing.equal([1.0, 1e-15, 5e10], [1.0 + 9e-10, -1e-15, 5e10 + 1])
    assert not comparing.equal(1.0, 1.0 + 2e-9)
    assert comparing.equal(1.0, 1)


def test_freezing_needs_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    for given in (["freeze"], ["freeze", "--why", "because"]):
        with pytest.raises(SystemExit):
            command.main(given)
    assert "which change of the code changes which numbers" in capsys.readouterr().err


def test_freezing_says_why_in_the_changelog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changelog = tmp_path / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\nSome words.\n\n## [0.1.0] - 2020-01-01\n\n- Begun.\n")
    monkeypatch.setattr(comparing, "FROZEN", tmp_path / "frozen")
    monkeypatch.setattr(command, "CHANGELOG", changelog)
    given = ["freeze", "--only", "amended", "decayed", "--why"]
    assert command.main([*given, "The penalty is counted once"]) == 0
    assert command.main([*given, "Nothing differs any more."]) == 0
    assert changelog.read_text().splitlines() == [
        "# Changelog",
        "",
        "Some words.",
        "",
        "## [Unreleased]",
        "",
        "- Oracles frozen again (amended, decayed): The penalty is counted once.",
        "",
        "## [0.1.0] - 2020-01-01",
        "",
        "- Begun.",
    ]
    before = changelog.read_text()
    command.noted(changelog, ["logs"], "Another reason.")
    line = "- Oracles frozen again (logs): Another reason."
    assert changelog.read_text() == before.replace("once.\n", f"once.\n{line}\n")


def test_a_difference_is_found_and_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    frozen = comparing.read("decayed")
    frozen["belief"]["theta"][1] *= 1 + 1e-6
    monkeypatch.setattr(comparing, "read", lambda name: frozen)
    given = ["--only", "decayed", "--store", "memory"]
    assert command.main(given) == 1
    assert "decayed, memory: 1 values differ\n    belief.theta[1]: " in capsys.readouterr().out
