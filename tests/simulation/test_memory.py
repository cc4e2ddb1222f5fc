"""What would not fit into memory is refused before anything is run."""

import pytest

import projbandits as pb
from projbandits.simulation import memory
from tests.worlds import run


def test_what_no_memory_can_hold_is_refused_before_it_is_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert memory.physical() > 1e8
    monkeypatch.setattr(memory, "physical", lambda: 1e9)
    with pytest.raises(ValueError, match="2,000,000 would take 2 GB and this machine has 1 GB"):
        run(strategies=pb.UE(), trials=2_000_000, checkpoints=[1])
    with pytest.raises(ValueError, match="300,000 would take 2 GB"):
        run(strategies=pb.UE(), trials=300_000, checkpoints=range(1, 100), horizon=100)
    for engine, steps in (("compiled", 150_000_000), ("reference", 25_000_000)):
        with pytest.raises(ValueError, match=f"engine '{engine}' would take 1 GB for GENTRY"):
            run(strategies=pb.GENTRY(), trials=1, horizon=steps, engine=engine)
    assert run(strategies=pb.GENTRY(), trials=1, horizon=2**53).steps[-1] == 2**53
