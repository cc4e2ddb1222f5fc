"""Exposure: shares by group, their intervals, attributes that the decider never saw."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.accounts.exposure import followed, tilt
from tests.accounts import fooled
from tests.films import COLUMNS, played


def test_shares_are_counted_given_what_was_on_offer() -> None:
    decider = played(steps=100)
    table = decider.audit().exposure.table
    shares = table.set_index(["attribute", "group"])
    log = decider.log()
    offered = [np.asarray(x).reshape(-1, 4)[:, 2].mean() for x in log["offered"]]
    assert shares.loc[("group", "1"), "offered"] == pytest.approx(np.mean(offered))
    assert shares.loc[("group", "1"), "chosen"] == pytest.approx(log["x[group]"].mean())
    for part in ("offered", "best guess", "explored", "chosen"):
        np.testing.assert_allclose(table.groupby("attribute")[part].sum(), 1.0)
    assert (table["attribute"] == "age").sum() == 3


def test_the_variance_of_a_difference_is_that_of_attributes_dealt_anew() -> None:
    rng = np.random.default_rng(0)
    offered = rng.uniform(0.5, 2.0, size=40)
    chosen = rng.poisson(offered).astype(float)
    inside = rng.random(40) < 0.4
    found = tilt(offered, chosen, inside, np.full(40, True))
    drawn = []
    for _ in range(4000):
        dealt = rng.permutation(inside)
        one = tilt(offered, chosen, dealt, np.full(40, True))
        drawn.append(one.chosen - one.offered)
    assert np.std(drawn) == pytest.approx(found.error, rel=0.05)  # its error is 1.1 %
    assert abs(np.mean(drawn)) < 4 * found.error / np.sqrt(4000)


def test_a_few_items_that_never_change_tell_nothing() -> None:
    audit = fooled.honest(pb.EIIDS(), steps=200, catalogue=8).audit()
    assert audit.exposure.table["z"].isna().all()
    assert audit.exposure.found is None
    assert audit.role is False
    assert "too few items were chosen" in audit.exposure.verdict


def catalogued(seed: int = 0) -> tuple[pb.Decider, pd.DataFrame]:
    """A decider among 200 items; makers whom it never saw have all the good ones."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "race"])
    table["maker"] = np.where(table["a"] + 0.5 * rng.normal(size=200) > 0, "big", "small")
    subspace = pb.Subspace.without("race", columns=["a", "b", "race"])
    decider = pb.Decider(pb.GENTRY(), subspace=subspace, seed=seed, log=True)
    for t in range(150):
        some = table[["a", "b", "race"]].iloc[rng.permutation(200)[:10]].reset_index(drop=True)
        decision = decider.ask(some, meta={"segment": "xy"[t % 2], "<b>": 1})
        mean = decision.arm @ [1.0, 0.3, 0.5]
        decider.tell(decision.id, float(mean + 0.3 * rng.normal()))
    return decider, table


def test_attributes_that_the_decider_never_saw_are_matched_by_features() -> None:
    decider, table = catalogued()
    assert decider.audit().role is False
    audit = decider.audit(attributes=table)
    assert audit.role is None
    shares = audit.exposure.table.set_index(["attribute", "group"])
    log = decider.log()
    chosen = log.rename(columns=lambda c: c[2:-1] if c.startswith("x[") else c)
    made_by = chosen.merge(table, on=["a", "b", "race"])["maker"]
    assert shares.loc[("maker", "big"), "chosen"] == pytest.approx((made_by == "big").mean())
    assert shares["difference"].to_dict()["maker", "big"] > 0.2
    assert "'maker'" in audit.verdict
    apart = decider.audit(attributes=table, by="segment").exposure.table
    assert {*apart["segment"]} == {"all", "x", "y"}
    assert (apart.query("segment == 'x'")["decisions"] == 75).all()


def test_several_attributes_are_looked_at_together() -> None:
    decider, table = catalogued()
    table = table.assign(year=np.arange(len(table)) % 7)
    shown = decider.audit(attributes=table.iloc[:150]).exposure.table["attribute"]
    assert {"maker", "year"} <= {*shown}


def test_items_without_attributes_are_counted() -> None:
    decider, table = catalogued()
    audit = decider.audit(attributes=table.iloc[:150])
    assert 0.2 < audit.exposure.unmatched < 0.3
    share = f"{100 * audit.exposure.unmatched:.0f} %"
    assert any(f"attributes are unknown of {share}" in said for said in audit.warnings)
    assert audit.exposure.table.query("attribute == 'maker'")["chosen"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        (pd.DataFrame({"maker": ["a"]}, index=["nobody"]), "attributes must have labels of items"),
        (pd.DataFrame(np.ones((1, 3)), columns=["a", "b", "race"]), "that is no feature"),
        (pd.DataFrame(np.ones((1, 4)), columns=["a", "b", "race", "z"]), "got none of them"),
    ],
)
def test_attributes_that_do_not_fit_are_refused(attributes: Any, says: str) -> None:
    decider, _ = catalogued()
    with pytest.raises(ValueError, match=says):
        decider.audit(attributes=attributes)


def test_chance_is_taken_off_what_scores_follow() -> None:
    audit = fooled.honest(pb.GENTRY(), steps=150, d=4).audit()
    assert (audit.exposure.followed["r2"].abs() < 0.05).all()
    assert followed(np.ones((4, 1)), ["age"], 1000).isna().all(axis=None)


def test_everything_is_said_of_every_column() -> None:
    audit = played(steps=40).audit()
    assert [*audit.exposure.followed.index] == COLUMNS[2:]
    assert json.loads(audit.to_json())["exposure"]["table"][0]["attribute"] == "group"
