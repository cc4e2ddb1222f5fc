"""Exposure: shares by group, their intervals, attributes that the decider never saw."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.audit.exposure import Counts, exposure, followed, segmented, tilt
from tests.audit import fooled
from tests.films import played


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
    counts = np.array([offered, chosen])
    found = tilt(counts, inside, np.full(40, True))
    drawn = []
    for _ in range(4000):
        dealt = rng.permutation(inside)
        one = tilt(counts, dealt, np.full(40, True))
        drawn.append(one.chosen - one.offered)
    assert np.std(drawn) == pytest.approx(found.error, rel=0.05)  # its error is 1.1 %
    assert abs(np.mean(drawn)) < 4 * found.error / np.sqrt(4000)


@pytest.mark.parametrize(("young", "found"), [(110, False), (114, None), (120, True)])
def test_what_noise_makes_in_one_to_fifty_of_a_thousand_logs_is_left_open(
    young: int, found: bool | None
) -> None:
    # In 200 decisions between a young and an old item, all of them different, z is a tenth of how
    # many more young ones were chosen: 2, 2.8 and 4. Of two groups, noise explains 2.24 at a level
    # of 5 %, and 3.48 at 0.1 %.
    counts = Counts(400)
    for i in range(200):
        counts.add(np.array([2 * i, 2 * i + 1]), int(i >= young), None, "best guess")
    first, everyone = np.arange(400) % 2 == 0, np.full(400, True)
    groups = {"age": ([("young", first), ("old", ~first)], everyone)}
    nothing = followed(np.zeros((4, 0)), [], 400)
    answer = exposure(counts, groups, np.zeros(400), nothing)
    assert answer.table["z"].tolist() == pytest.approx(
        [(2 * young - 200) / 10, (200 - 2 * young) / 10], rel=0.01
    )
    assert answer.found is found


def test_a_few_items_that_never_change_tell_nothing() -> None:
    audit = fooled.honest(pb.EIIDS(), steps=200, catalogue=8).audit()
    assert audit.exposure.table["z"].isna().all()
    assert audit.exposure.found is None
    assert audit.influence == "unclear"
    assert audit.exposure.untold == ["x[2]", "x[3]"]


def catalogued(seed: int = 0) -> tuple[pb.Decider, pd.DataFrame]:
    """A decider among 200 items; makers whom it never saw have all the good ones."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "race"])
    table["maker"] = np.where(table["a"] + 0.5 * rng.normal(size=200) > 0, "big", "small")
    subspace = pb.Subspace.without("race", columns=["a", "b", "race"])
    decider = pb.Decider(pb.GENTRY(), subspace=subspace, seed=seed)
    for t in range(150):
        some = table[["a", "b", "race"]].iloc[rng.permutation(200)[:10]].reset_index(drop=True)
        decision = decider.ask(some, meta={"segment": "xy"[t % 2], "<b>": 1})
        mean = decision.arm @ [1.0, 0.3, 0.5]
        decider.tell(decision.id, float(mean + 0.3 * rng.normal()))
    return decider, table


def test_attributes_that_the_decider_never_saw_are_matched_by_features() -> None:
    decider, table = catalogued()
    assert decider.audit().exposure.found is False
    audit = decider.audit(attributes=table)
    assert audit.exposure.found is True
    assert audit.influence == "unclear"
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


def test_an_attribute_that_is_called_like_a_protected_column_stands_beside_it() -> None:
    decider = in_contexts()
    given = pd.DataFrame({"age": [*"ab"] * 15}, index=CATALOGUE.index)
    table = decider.audit(attributes=given).exposure.table
    assert [*table["attribute"].unique()] == ["age", "age (given)"]
    assert [*table.query("attribute == 'age (given)'")["group"]] == ["a", "b"]


def test_several_attributes_are_looked_at_together() -> None:
    decider, table = catalogued()
    made = pd.to_datetime([f"{2001 + i % 3}-0{1 + i % 9}-01" for i in range(len(table))])
    table = table.assign(year=np.arange(len(table)) % 7, made=made)
    shown = decider.audit(attributes=table.iloc[:150]).exposure.table
    assert {"maker", "year"} <= {*shown["attribute"]}
    assert [*shown.query("attribute == 'made'")["group"]] == ["2001", "2002", "2003"]


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


CATALOGUE = pd.DataFrame(
    {
        "length": np.random.default_rng(1).normal(size=30),
        "age": np.random.default_rng(2).normal(size=30),
    },
    index=[f"film {i}" for i in range(30)],
)


def in_contexts(*, names: bool = True, **options: Any) -> pb.Decider:
    """A decider among 30 items, each with another vector at every hour."""
    features = pb.Features(
        numeric={"length": (0.0, 1.0), "age": (0.0, 1.0), "hour": (12.0, 7.0)},
        context=["hour"],
        interactions=[("hour", "length")],
        protected=["age"],
    ).fit()
    decider = pb.Decider(pb.GENTRY(), features=features, seed=0, **options)
    rng = np.random.default_rng(0)
    for _ in range(200):
        some = CATALOGUE.iloc[rng.permutation(30)[:10]]
        hour = float(rng.uniform(0, 24))
        decision = decider.ask(
            some if names else some.reset_index(drop=True), context={"hour": hour}
        )
        decider.tell(decision, float(decision.arm[1] + 0.5 * rng.normal()))
    return decider


@pytest.mark.parametrize("names", [True, False])
def test_an_item_counts_once_however_many_contexts_it_was_offered_in(names: bool) -> None:
    decider = in_contexts(names=names)
    rng = np.random.default_rng(0)
    dealt = pd.DataFrame(rng.integers(2, size=(30, 40)), index=CATALOGUE.index).rename(columns=str)
    table = dealt if names else pd.concat([CATALOGUE, dealt], axis=1)
    audit = decider.audit(attributes=table)
    one = audit.exposure.table.query("attribute in @dealt.columns and group == '1'")
    z = one["difference"] / ((one["high"] - one["low"]) / (2 * 1.96))
    # 40 dealt at random: the standard deviation of their z-scores is 1, up to 4 times its error.
    assert 0.5 < z.std() < 1.5
    assert one["z"].isna().all()  # thirty items, of which few are chosen, tell nothing
    assert audit.proxies["arms"].tolist() == [30]
    counts = audit.exposure.table.query("attribute == '0' and group == '1'").iloc[0]
    log = decider.log()
    if names:
        assert counts["chosen"] == pytest.approx(dealt["0"].reindex(log["label"]).mean())


def test_raw_columns_and_labels_tell_the_same_of_attributes() -> None:
    decider = in_contexts()
    maker = pd.Series(np.where(np.arange(30) % 3, "big", "small"), CATALOGUE.index, name="maker")
    by_label = decider.audit(attributes=maker).exposure.table
    raw = CATALOGUE.assign(maker=maker, hour=3.0).reset_index(drop=True)
    pd.testing.assert_frame_equal(decider.audit(attributes=raw).exposure.table, by_label)


def test_segments_are_what_came_with_the_call_and_keep_their_names() -> None:
    numbers = in_contexts().audit(by="hour").exposure.table
    first, low, middle, high = numbers["segment"].unique()  # terciles of the hours, in order
    assert first == "all"
    assert (low[:5], high[:5]) == ("up to", "above")
    assert middle == f"{low[6:]} to {high[6:]}"
    values = [1, "all", "others", 1.0, True, "not said", *"abcdefghijklmnopq", "z", None]
    segments, order = segmented("page", values)
    assert segments[0] == segments[3] == "1"
    assert segments[4] == "True"
    assert [segments[1], segments[5]] == ["'all'", "'not said'"]
    assert segments[-2:] == order[-2:] == ["others", "not said"]
    assert segments[2] == "'others'"


def test_protected_numbers_are_grouped_in_the_units_of_their_columns() -> None:
    rng = np.random.default_rng(0)
    films = pd.DataFrame(
        {
            "length": rng.normal(size=60),
            "age": 20.0 + np.arange(60.0),
            "old": rng.permutation([0.0, 1.0] * 30),
        }
    )
    features = pb.Features(protected=["age", "old"]).fit(films)
    decider = pb.Decider(features=features, seed=0)
    for _ in range(20):
        decision = decider.ask(films)
        decider.tell(decision, float(rng.normal()))
    table = decider.audit().exposure.table
    groups = {name: part["group"].tolist() for name, part in table.groupby("attribute")}
    assert groups["age"] == ["up to 39.7", "39.7 to 59.3", "above 59.3"]
    assert groups["old"] == ["0", "1"]


def test_levels_of_a_protected_category_are_groups_of_one_attribute() -> None:
    rng = np.random.default_rng(0)
    items = pd.DataFrame(
        {"length": rng.normal(size=40), "country": rng.choice(["DE", "FR", "US"], 40)}
    )
    features = pb.Features(
        numeric=["length"],
        categorical=["country"],
        interactions=[("length", "country")],
        protected=["country"],
    )
    decider = pb.Decider(pb.GENTRY(), features=features.fit(items), seed=0)
    for _ in range(60):
        some = items.iloc[rng.permutation(40)[:8]]
        decider.tell(decider.ask(some), float(rng.normal()))
    audit = decider.audit()
    table = audit.exposure.table
    assert table["attribute"].tolist() == ["country"] * 3
    assert table["group"].tolist() == ["DE", "FR", "US"]
    assert table["offered"].sum() == pytest.approx(1.0)
    chosen = items["country"].iloc[[int(label) for label in decider.log()["label"]]]
    expected = chosen.value_counts(normalize=True).sort_index().tolist()
    assert table["chosen"].tolist() == pytest.approx(expected)
    # Nobody is of another country; that is nothing to warn of.
    assert "country=other" in audit.about.protected
    assert not any("never varied" in said for said in audit.warnings)
