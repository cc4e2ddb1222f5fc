"""Results of other trials, put together."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import projbandits as pb
from tests.simulation.test_engines import Varied
from tests.worlds import CONVEX, Recorder, run, same


@cache
def part(first: int, end: int) -> pb.Result:
    return run(trials=range(first, end))


def test_parts_of_a_run_come_to_the_whole_in_any_order() -> None:
    assert same(pb.Result.concat([part(0, 4), part(4, 7)]), run(trials=7))
    assert same(pb.Result.concat(iter([part(4, 7), part(0, 4)])), run(trials=7))
    turned = part(4, 7).only(*reversed(part(4, 7).strategies))
    assert same(pb.Result.concat([part(0, 4), turned]), run(trials=7))
    assert same(pb.Result.concat([part(0, 4)]), part(0, 4))
    gap = pb.Result.concat([part(9, 11), part(0, 4)])
    assert gap.trial_numbers.tolist() == [0, 1, 2, 3, 9, 10]
    assert gap.to_frame()["trial"].unique().tolist() == [0, 1, 2, 3, 9, 10]
    assert same(pb.Result.concat([gap, run(trials=range(4, 9))]), run(trials=11))


def test_a_whole_that_was_put_together_is_saved_with_its_trials(tmp_path: Any) -> None:
    gap = pb.Result.concat([part(0, 4), part(9, 11)])
    gap.save(tmp_path / "gap")
    assert same(pb.Result.load(tmp_path / "gap"), gap)


def test_curves_without_shares_and_worlds_of_several_sizes_are_put_together() -> None:
    problems: list[tuple[Any, Any]] = [(CONVEX["ball"], pb.GENTRY()), (Varied(), Recorder())]
    for problem, strategy in problems:
        parts = [run(problem, strategy, trials=trials) for trials in (range(1), range(1, 20))]
        whole, once = pb.Result.concat(parts), run(problem, strategy, trials=20)
        for name in ("regret", "best_share", "found_best", "pulls"):
            assert np.array_equal(getattr(whole, name), getattr(once, name))
    assert pb.Result.concat([part(0, 4), replace(part(4, 7), pulls=None)]).pulls is None


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"trials": range(3, 5)}, "in common, results 0 and 1 both have trial 3: .*range"),
        ({"trials": range(4)}, "no trial in common, results 0 and 1 both have trial 0"),
        ({"seed": 1}, "results 0 and 1 differ in seed: 0 and 1"),
        ({"horizon": 61}, "results 0 and 1 differ in horizon: 60 and 61"),
        ({"checkpoints": [60]}, "results 0 and 1 differ in steps"),
        ({"engine": "compiled"}, "results 0 and 1 differ in engines"),
        ({"strategies": pb.UE()}, "results 0 and 1 differ in strategies"),
        ({"problem": Varied()}, "results 0 and 1 differ in problem: .RandomArms"),
        (lambda: replace(part(4, 7), identities=()), "result 1 does not say of which it is"),
        (
            lambda: replace(part(4, 7), identities=("other", *part(4, 7).identities[1:])),
            "results 0 and 1 differ in problem: the same label, but other numbers",
        ),
        (
            lambda: replace(part(4, 7), identities=(*part(4, 7).identities[:2], "other")),
            r"results 0 and 1 differ in UE\(\): the same label, but other numbers",
        ),
    ],
)
def test_what_is_not_of_one_simulation_is_refused_by_name(
    other: dict[str, Any] | Callable[[], pb.Result], said: str
) -> None:
    found = run(**{"trials": range(4, 6), **other}) if isinstance(other, dict) else other()
    with pytest.raises(ValueError, match=f"results must .*{said}"):
        pb.Result.concat([part(0, 4), found])


def test_what_is_no_result_is_refused() -> None:
    with pytest.raises(ValueError, match="results must hold at least one result, got none"):
        pb.Result.concat([])
    with pytest.raises(TypeError, match="results must hold results only, got 3"):
        pb.Result.concat([part(0, 4), 3])  # type: ignore[list-item]
