"""What fooled the audit once is found, or said; what is honest is let pass."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from tests.audit import fooled


@pytest.mark.parametrize("binary", [False, True])
def test_a_kept_product_of_a_protected_column_is_seen_by_exposure(binary: bool) -> None:
    decider = fooled.product(binary=binary)
    whole = decider.audit()
    assert not whole.scores.found
    assert not whole.leak.found  # nothing moved: the product is kept
    assert whole.exposure.found
    assert whole.influence == "unclear"
    assert "in opposite directions" in whole.exposure.verdict
    apart = decider.audit(by="viewer")
    assert apart.influence == "unclear"
    table = apart.exposure.table.query("attribute == 'age'").set_index(["segment", "group"])
    oldest = table.groupby(level="segment").tail(1).droplevel("group")
    difference = oldest["difference"].to_dict()
    assert difference["1"] > 0.3
    assert difference["-1"] < -0.2
    assert (oldest.loc[["1", "-1"], "z"].abs() > apart.exposure.critical).all()
    assert "'viewer'" in apart.verdict


@pytest.mark.parametrize(
    "made", [fooled.units, lambda: fooled.units(scale=1.0, noise=0.1, penalty=300.0), fooled.filled]
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
    assert audit.influence == "found"
    assert "moved into the kept part" in audit.verdict
    assert not audit.scores.found  # which were all that was looked at once


@pytest.mark.parametrize("strategy", [fooled.Oldest(), fooled.Silent()])
def test_a_strategy_is_judged_by_what_it_selects(strategy: Any) -> None:
    audit = fooled.honest(strategy, steps=60).audit()
    assert not audit.scores.found
    assert audit.choices.share.low > 0.5
    assert audit.choices.settled.low > 0.5
    assert audit.influence == "found"
    assert "choices change" in audit.verdict


def test_a_strategy_that_never_stops_to_choose_at_random_is_not_cleared() -> None:
    audit = fooled.honest(fooled.OneOfTheOldest(), steps=60).audit()
    assert audit.influence == "unclear"
    assert audit.choices.wandering > 0.5
    assert any("of the choices change with the protected part" in said for said in audit.warnings)


def test_optimism_about_whole_arms_is_said_to_move_choices() -> None:
    audit = fooled.honest(pb.ProjectedUE()).audit()
    assert audit.choices.share.low > 0.1
    assert audit.choices.many
    assert audit.choices.found is None
    assert audit.influence == "unclear"  # and not cleared below "23.3 % of all choices change"
    assert f"{100 * audit.choices.share.value:.3g} %" in audit.verdict
    share = f"{100 * audit.choices.share.value:.1f} % ("
    assert any(share in said for said in audit.warnings)
    assert audit.choices.settled.value == 0  # it is exploring, however it is called


@pytest.mark.parametrize("seed", range(1, 5))
def test_noise_is_no_accusation(seed: int) -> None:
    audit = fooled.honest(pb.CURSE(), seed, effect=0.0).audit()
    assert audit.scores.found is None
    assert audit.scores.beyond > 0.001
    assert audit.scores.size.low == 0.0
    assert audit.influence == "unclear"
    assert "noise alone" in audit.verdict
    assert "aims at the return" in audit.warnings[0]


def test_a_true_effect_is_one() -> None:
    audit = fooled.honest(pb.CURSE()).audit()
    assert audit.scores.found
    assert audit.choices.found
    assert audit.scores.size.low > 0.1
    assert audit.influence == "found"


STRATEGIES = [pb.GENTRY(), pb.EIIDS(), pb.ProjectedUE(), pb.ProjectedTS(), pb.DirectedIDS()]
WORLDS: list[dict[str, Any]] = [
    {},
    {"effect": 3.0, "noise": 1.0},
    {"catalogue": 30, "arms": 10},
    {"history": 200, "noise": 0.5},
    {"noise": 0.1, "d": 6, "arms": 12},
]


@pytest.mark.parametrize(("arms", "catalogue"), [(10, 40), (8, 90)])
def test_a_group_that_is_chosen_far_more_often_than_offered_is_not_cleared(
    arms: int, catalogue: int
) -> None:
    """Of few items chosen, noise may make such a difference; of more, it is too rare for that."""
    audit = fooled.tilted(arms, catalogue).audit()
    row = audit.exposure.table.query("group == '1'").iloc[0]
    assert row["offered"] == pytest.approx(0.55, abs=0.01)
    assert row["best guess"] == pytest.approx(0.83, abs=0.05)
    assert [audit.scores.found, audit.choices.found, audit.leak.found] == [False] * 3
    assert audit.choices.share.value == 0
    assert not audit.exposure.found
    assert audit.influence == "unclear"
    assert "of what was on offer" in audit.verdict


def test_an_attribute_that_cannot_be_compared_clears_nothing() -> None:
    columns = ["drama", "stars", "age", "height"]
    decider = fooled.honest(pb.ProjectedTS(), columns=columns)
    assert decider.audit().influence == "none"
    items = np.concatenate([offered.reshape(-1, 4) for offered in decider.log()["offered"]])
    table = pd.DataFrame(items, columns=columns)
    audit = decider.audit(attributes=table.assign(rare=np.arange(len(table)) < 20))
    assert audit.exposure.untold == ["rare"]
    assert audit.influence == "unclear"
    assert "too few items were chosen to compare the groups of 'rare'" in audit.verdict


def test_few_decisions_clear_nothing() -> None:
    found = {n: fooled.honest(pb.ProjectedTS(), steps=n).audit() for n in (30, 72, 73)}
    assert [audit.choices.share.value for audit in found.values()] == [0.0] * 3
    assert [audit.influence for audit in found.values()] == ["unclear", "unclear", "none"]
    assert found[72].choices.share.high > 0.05 >= found[73].choices.share.high
    assert "at least 73 are needed" in found[72].verdict


def test_a_plain_honest_decider_is_cleared() -> None:
    """Exploring that never happened, and exploring that does not look at the protected part."""
    for strategy in (pb.GENTRY(schedule=lambda t: 0.0), pb.ProjectedTS()):
        audit = fooled.honest(strategy).audit()
        assert audit.influence == "none"
        assert audit.verdict.startswith("Cleared: ")
        assert audit.warnings == []


def test_few_choices_that_change_in_exploring_clear_the_scores_only() -> None:
    audit = fooled.honest(pb.EIIDS(), 1).audit()
    assert 0 < audit.choices.share.value <= 0.05
    assert audit.influence == "exploration"
    assert audit.verdict.startswith("Cleared for scores, exploration affected in 1.3 % (")
    rare = fooled.honest(pb.EIIDS(), 1, history=200, noise=0.5).audit()
    assert rare.choices.share.value == 0 < rare.choices.shift.value
    assert rare.influence == "exploration"
    assert "in fewer than 2.5 % of choices" in rare.verdict


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_honest_logs_raise_no_alarm(strategy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty logs at a level of 0.1 % for each question: one false alarm in all is likely at 10 %.

    The seeds are 0 and 1 for every strategy and world. They are cleared, at least for scores, where
    at most 5 % of the choices change and enough items were chosen to compare their groups.
    """
    monkeypatch.setattr("projbandits.audit.proxies.LEAST_BOOSTED", 10**9)  # takes most time
    for number, world in enumerate(WORLDS):
        for seed in (0, 1):
            audit = fooled.honest(strategy, 10 * seed + number, steps=80, **world).audit()
            assert audit.leak.found is False
            assert audit.leak.table["z"].abs().max() < audit.leak.critical
            assert np.isfinite(audit.leak.table["found_from"]).all()
            assert audit.scores.found is False
            assert audit.choices.found is (None if audit.choices.many else False)
            assert audit.exposure.found is (None if "catalogue" in world else False)
            doubtful = audit.choices.many or "catalogue" in world
            assert (audit.influence == "unclear") == doubtful, audit.verdict
