"""Claims and verdicts: an interval decides or does not."""

import dataclasses

import numpy as np
import pytest

import projbandits as pb
from projbandits.paper import Claim, Condition, Outcome, Reading, Verdict
from projbandits.statistics import Estimate
from tests.paper.made_up import A, made_up

HOLDS, FAILS, MIXED, UNDECIDED = Outcome.HOLDS, Outcome.FAILS, Outcome.MIXED, Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("interval", "outcome"),
    [
        ((1.0, 2.0), HOLDS),
        ((0.0, 3.0), HOLDS),
        ((-1.0, 1.0), UNDECIDED),
        ((2.0, 4.0), UNDECIDED),
        ((-2.0, -1.0), FAILS),
        ((3.5, 4.0), FAILS),
        ((float("nan"), float("nan")), UNDECIDED),
    ],
)
def test_an_interval_decides_or_does_not(interval: tuple[float, float], outcome: str) -> None:
    condition = Condition("number", Estimate(sum(interval) / 2, *interval), least=0.0, most=3.0)
    assert condition.outcome == outcome


def test_a_claim_holds_only_if_all_of_it_does() -> None:
    good = Condition("good", Estimate(1, 1, 1), least=0.0)
    wide = Condition("wide", Estimate(1, -1, 2), least=0.0)
    bad = Condition("bad", Estimate(-1, -1, -1), least=0.0)
    results = {"x": made_up((pb.GENTRY(), pb.UE()), np.ones((2, 3, 2)))}

    def outcome(*conditions: Condition) -> str:
        readings = (("", lambda _: conditions),)
        claim = Claim(name="n", text="t", source="s", experiments=(A,), readings=readings)
        return claim.check(results).outcome

    assert outcome(good, good) == HOLDS
    assert outcome(good, wide) == UNDECIDED
    assert outcome(good, wide, bad) == FAILS
    results["x"] = dataclasses.replace(results["x"], horizon=9999)
    assert outcome(good) == UNDECIDED  # the claim is about a longer horizon


def test_each_reading_has_a_verdict_of_its_own() -> None:
    good = Condition("good", Estimate(1, 1, 1), least=0.0, brief="GENTRY 1")
    bad = Condition("bad", Estimate(-1, -1, -1), least=0.0, brief="UE -1")
    readings = (("given", lambda _: [good, good]), ("tuned", lambda _: [good, bad]))
    claim = Claim(name="n", text="t", source="s", experiments=(A,), readings=readings)
    verdict = claim.check({"x": made_up(A.strategies, np.ones((2, 3, 2)))})
    assert (verdict.given, verdict.tuned) == (HOLDS, FAILS)
    assert [reading.brief for reading in verdict.readings] == ["GENTRY 1", "GENTRY 1, UE -1"]


@pytest.mark.parametrize(
    ("given", "tuned", "together"),
    [
        (HOLDS, HOLDS, HOLDS),
        (HOLDS, FAILS, MIXED),
        (FAILS, HOLDS, MIXED),
        (FAILS, FAILS, FAILS),
        (HOLDS, UNDECIDED, UNDECIDED),
        (FAILS, UNDECIDED, UNDECIDED),
    ],
)
def test_what_holds_in_one_reading_and_not_in_the_other_is_mixed(
    given: Outcome, tuned: Outcome, together: Outcome
) -> None:
    assert Verdict((Reading("given", given, ()), Reading("tuned", tuned, ()))).outcome is together
    assert Verdict((Reading("", given, ()),)).outcome is given
