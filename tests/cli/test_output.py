"""Tables on a terminal."""

import pytest

import projbandits as pb
from tests.commands import SMALL, call


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
