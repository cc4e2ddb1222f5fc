"""Files and stores from before arms had names and outcomes faded: they open as they are."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import projbandits as pb

BEFORE = Path(__file__).parent.parent / "data" / "format2"
THETAS = json.loads((BEFORE / "thetas.json").read_text())


def opened(name: str, folder: Path) -> pb.Decider:
    if name != "store":
        return pb.Decider.load(BEFORE / f"{name}.decider")
    shutil.copy(BEFORE / "store.db", folder)
    return pb.Decider.open(f"sqlite:///{folder}/store.db", "films")


@pytest.mark.parametrize("name", ["logged", "plain", "store"])
def test_what_was_written_before_opens_and_goes_on(name: str, tmp_path: Path) -> None:
    decider = opened(name, tmp_path)
    np.testing.assert_allclose(decider.ridge.theta, THETAS[name], rtol=1e-12)
    assert (decider.half_life, decider.features, decider.ridge.forgotten) == (None, None, 0.0)
    assert [decision.label for decision in decider.pending] == [None] * 4
    for decision in decider.pending:
        decider.tell(decision, 1.0)
    named = decider.ask(np.eye(3), ids=["a", "b", "c"])
    assert named.label in ("a", "b", "c")
    decider.tell(named, 1.0)
    decider.change(half_life=5)
    decider.decay(0.5)
    assert 0.0 < decider.ridge.forgotten < decider.ridge.n
    if name != "plain":
        assert decider.log()["label"].tolist() == [None] * 12 + [named.label]
        reader = decider._logged()
        for chunk in decider._ledger.decisions():
            for held in chunk:
                # Other versions of NumPy and LAPACK round differently.
                again = reader.again(held).probability
                assert again == pytest.approx(held.decision.propensity, rel=1e-12)
        decider.change(strategy=pb.EIIDS(arm_effects="auto"))
        assert decider.ask(np.eye(3), ids=["a", "b", "new"]).label is not None
    decider.close()
