"""What is asked of `simulate`, complete and checked."""

from typing import Any

import numpy as np
import pytest

import projbandits as pb
from tests.worlds import Unnamed, run


def test_default_checkpoints_cover_both_axes() -> None:
    steps = run(horizon=1000, trials=1).steps
    assert steps[0] == 1
    assert steps[-1] == 1000
    assert (np.diff(steps) > 0).all()
    assert np.diff(steps).max() <= 10
    assert set(range(1, 8)) <= set(steps.tolist())
    assert run(horizon=1, trials=1).steps.tolist() == [1]


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"trials": 0}, ValueError, "trials must be at least 1, got 0"),
    ({"horizon": 0}, ValueError, "horizon must be at least 1, got 0"),
    ({"horizon": 2**53 + 1}, ValueError, "horizon must be at most 9007199254740992, as larger"),
    ({"seed": 2**128}, ValueError, "seed must be at most 340282366920938463463374607431768211455"),
    ({"checkpoints": [1, 1e300]}, ValueError, r"1 to the horizon 60, got 1\.0*1?e\+300"),
    ({"checkpoints": [[1], [1, 2]]}, ValueError, "checkpoints must be a list of steps"),
    ({"horizon": 10.5}, TypeError, r"horizon must be a whole number, got 10\.5"),
    ({"seed": -1}, ValueError, "seed must be at least 0, got -1"),
    ({"strategies": None}, TypeError, "strategies must be a strategy or several, got None"),
    ({"trials": True}, TypeError, "trials must be a whole number, got True"),
    ({"executor": 4}, TypeError, r"executor must be a concurrent\.futures\.Executor, got 4"),
    ({"problem": pb.problems.RandomArms}, TypeError, "problem must be a problem"),
    ({"strategies": [Unnamed()]}, ValueError, "labels that last"),
    ({"engine": "referense"}, ValueError, "engine must be one of .* did you mean 'reference'"),
    ({"checkpoints": [0, 10]}, ValueError, "1 to the horizon 60, got 0"),
    ({"checkpoints": [10, 61]}, ValueError, "1 to the horizon 60, got 61"),
    ({"checkpoints": [20, 10]}, ValueError, "must increase, got 20 before 10"),
    ({"checkpoints": [10, 10]}, ValueError, "must increase, got 10 before 10"),
    ({"checkpoints": [1.5]}, ValueError, r"whole steps, got 1\.5"),
    ({"checkpoints": [1, np.nan]}, ValueError, "whole steps, got nan"),
    ({"checkpoints": []}, ValueError, "checkpoints must be a list of steps"),
    ({"strategies": []}, ValueError, "at least one strategy"),
    ({"strategies": [pb.UE(), pb.UE()]}, ValueError, r"distinct labels, got 'UE\(\)' twice"),
    ({"strategies": [pb.UE]}, TypeError, "did you forget the brackets"),
    ({"strategies": ["UE"]}, TypeError, "strategies only, got 'UE'"),
    ({"problem": "setting a"}, TypeError, "problem must be a problem"),
]


@pytest.mark.parametrize(("options", "error", "message"), BAD)
def test_bad_input_is_named(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run(**options)
