"""What fooled the audit once is found, or said; what is honest is let pass."""

from typing import Any

import numpy as np
import pytest

import projbandits as pb
from tests.accounts import fooled


@pytest.mark.parametrize("binary", [False, True])
def test_a_kept_product_of_a_protected_column_is_seen_by_exposure(binary: bool) -> None:
    decider = fooled.product(binary=binary)
    whole = decider.audit()
    assert not whole.scores.found
    assert not whole.leak.found  # nothing moved: the product is kept
    assert whole.exposure.found
    assert whole.role is None
    assert "in opposite directions" in whole.exposure.verdict
    apart = decider.audit(by="viewer")
    assert apart.role is None
    table = apart.exposure.table.query("attribute == 'age'").set_index(["segment", "group"])
    oldest = table.groupby(level="segment").tail(1).droplevel("group")
    difference = oldest["difference"].to_dict()
    assert difference["1"] > 0.3
    assert difference["-1"] < -0.2
    assert (oldest.loc[["1", "-1"], "z"].abs() > apart.exposure.critical).all()
    assert "'viewer'" in apart.verdict


@pytest.mark.parametrize(
    "made", [fooled.units, lambda: fooled.units(scale=1.0, noise=0.1, ridge=300.0), fooled.filled]
)
@pytest.mark.filterwarnings("ignore:column .* has entries of about")  # which is the other remedy
def test_an_effect_that_moved_into_a_kept_feature_is_found(made: Any) -> None:
    decider = made()
    audit = decider.audit()
    stars = audit.leak.table.loc["stars"]
    assert stars["believed"] > 0.03  # the truth is 0
    assert abs(stars["least_squares"]) < 0.05
    assert stars["z"] > audit.leak.critical
    assert 0 < audit.leak.size.low < audit.leak.size.value
    assert 0.0025 < audit.leak.share.low < audit.leak.share.value
    assert audit.leak.found
    assert audit.role is True
    assert "moved into the kept part" in audit.verdict
    assert not audit.scores.found  # which were all that was looked at once


@pytest.mark.parametrize("strategy", [fooled.Oldest(), fooled.Silent()])
def test_a_strategy_is_judged_by_what_it_selects(strategy: Any) -> None:
    audit = fooled.honest(strategy, steps=60).audit()
    assert not audit.scores.found
    assert audit.choices.share.low > 0.5
    assert audit.choices.settled.low > 0.5
    assert audit.role is True
    assert "choices change" in audit.verdict


def test_a_strategy_that_never_stops_to_choose_at_random_is_not_cleared() -> None:
    audit = fooled.honest(fooled.OneOfTheOldest(), steps=60).audit()
    assert audit.role is None
    assert audit.choices.wandering > 0.5
    assert any("of the choices change with the protected part" in said for said in audit.warnings)


def test_optimism_about_whole_arms_is_said_to_move_choices() -> None:
    audit = fooled.honest(pb.ProjectedUE()).audit()
    assert audit.choices.share.low > 0.1
    share = f"{100 * audit.choices.share.value:.1f} % ("
    assert share in audit.verdict
    assert any(share in said for said in audit.warnings)
    assert audit.choices.settled.value == 0  # it is exploring, however it is called


@pytest.mark.parametrize("seed", range(1, 5))
def test_noise_is_no_accusation(seed: int) -> None:
    audit = fooled.honest(pb.CURSE(), seed, effect=0.0).audit()
    assert audit.scores.found is None
    assert audit.scores.beyond > 0.001
    assert audit.scores.size.low == 0.0
    assert audit.role is None
    assert "noise alone" in audit.verdict
    assert "aims at the return" in audit.warnings[0]


def test_a_true_effect_is_one() -> None:
    audit = fooled.honest(pb.CURSE()).audit()
    assert audit.scores.found
    assert audit.choices.found
    assert audit.scores.size.low > 0.1
    assert audit.role is True


STRATEGIES = [pb.GENTRY(), pb.EIIDS(), pb.ProjectedUE(), pb.ProjectedTS(), pb.DirectedIDS()]
WORLDS: list[dict[str, Any]] = [
    {},
    {"effect": 3.0, "noise": 1.0},
    {"catalogue": 30, "arms": 10},
    {"history": 200, "noise": 0.5},
    {"noise": 0.1, "d": 6, "arms": 12},
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_honest_logs_are_let_pass(strategy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty logs at a level of 0.1 % for each question: one false alarm in all is likely at 10 %.

    The seeds are 0 and 1 for every strategy and world.
    """
    monkeypatch.setattr("projbandits.accounts.proxies.LEAST_BOOSTED", 10**9)  # takes most time
    for number, world in enumerate(WORLDS):
        for seed in (0, 1):
            audit = fooled.honest(strategy, 10 * seed + number, steps=60, **world).audit()
            assert audit.leak.found is False
            assert audit.leak.table["z"].abs().max() < audit.leak.critical
            assert audit.role is False, audit.verdict
            assert np.isfinite(audit.leak.table["found_from"]).all()
