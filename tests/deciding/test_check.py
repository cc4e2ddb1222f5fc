"""What a check of a ledger finds: nothing where all is well, and what is wrong where it is not."""

import math
from pathlib import Path

import numpy as np
import pytest

import projbandits as pb
from projbandits.deciding.check import check_promises
from tests.worlds import U3


def played(half_life: float | str | None, folder: Path) -> pb.Decider:
    """Let everything happen that an outcome's weight depends on."""
    url = f"sqlite:///{folder}/films.db"
    decider = pb.Decider(
        pb.GENTRY(), subspace=U3, seed=0, half_life=half_life, store=url, name="films"
    )
    rng = np.random.default_rng(0)
    for turn in range(4):
        made = [decider.ask(rng.normal(size=(4, 3))) for _ in range(6)]
        decider.tell_many([(decision, float(rng.normal())) for decision in made[:4]])
        decider.learn(np.eye(3), rng.normal(size=3))
        decider.amend(made[0], 3.0)
        decider.withdraw(made[1])
        decider.withdraw(made[5])
        decider.amend(made[5], -1.0)
        decider.decay(0.0 if turn == 0 else 0.7)
        if turn == 1:
            decider.reconfigure(half_life="1s")  # what happens here takes milliseconds
        if turn == 2:
            decider.reconfigure(half_life=math.inf)
    return decider


@pytest.mark.parametrize("half_life", [None, 5, "2s"])
def test_a_belief_that_forgets_is_that_of_the_outcomes(
    half_life: float | str | None, tmp_path: Path
) -> None:
    decider = played(half_life, tmp_path)
    findings = check_promises(decider.history())
    assert [finding.kept for finding in findings] == [True] * 7, findings


def test_what_others_add_meanwhile_is_no_fault(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/films.db"
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, store=url, name="films")
    made = [decider.ask(np.eye(3)) for _ in range(6)]
    decider.tell_many([(decision, 1.0) for decision in made[:4]])
    busy = [True]

    def meanwhile(done: int, total: int) -> None:
        if busy.pop():
            decider.tell(made[4], 2.0)
            decider.amend(made[0], 3.0)
            decider.withdraw(made[1])
            decider.tell(decider.ask(np.eye(3)), 4.0)
        busy.append(False)

    findings = check_promises(decider.history(), progress=meanwhile)
    assert [finding.kept for finding in findings] == [True] * 7, findings
    assert findings[4].found.startswith("4 observations")
