"""Who the arms are: names of items, and what each has of its own."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet as pq

import projbandits as pb
from projbandits.ledger.labels import read_label, write_label
from projbandits.strategies.effects import Effects
from tests.worlds import U3

THETA = np.array([1.0, -0.5, 0.3])
WITH_EFFECTS = [
    pb.EIIDS(arm_effects="auto"),
    pb.GENTRY(arm_effects=0.5),
    pb.REGRET(arm_effects="auto"),
    pb.ProjectedUE(arm_effects=0.5),
    pb.ProjectedTS(arm_effects=0.5, noise=0.3),
]


def played(decider: pb.Decider, steps: int = 60) -> list[pb.Decision]:
    """Ask among six of twelve items, shown with other features every time; outcomes come late."""
    rng, quality = np.random.default_rng(0), np.linspace(-1.0, 1.0, 12)
    made = list[pb.Decision]()
    for t in range(steps):
        there = rng.choice(12, 6, replace=False)
        names = [f"film {i}" for i in there]
        made.append(decider.ask(rng.normal(size=(6, 3)), labels=names))
        if t % 2:
            for decision in made[-2:]:
                own = quality[int(str(decision.label).split()[1])]
                decider.tell(decision, float(decision.arm @ THETA + own + 0.3 * rng.normal()))
    return made


@pytest.mark.parametrize("label", ["film", "17", 17, -3, '"17"', "", "-", "0x", "ä\n", 10**30])
def test_a_label_is_read_as_it_was_written(label: str | int) -> None:
    assert read_label(write_label(label)) == label
    assert type(read_label(write_label(label))) is type(label)


def test_the_index_of_a_table_or_ids_say_who_the_arms_are() -> None:
    X = np.eye(3)
    decider = pb.Decider(subspace=U3, seed=0)
    table = pd.DataFrame(X, index=["a", "b", "c"])
    assert decider.ask(X).label is None
    assert decider.ask(table).label in ("a", "b", "c")
    assert decider.ask(table, labels=[7, 8, 9]).label in (7, 8, 9)
    assert decider.ask(table.set_axis([4, 5, 6])).label in (4, 5, 6)
    assert decider.ask(X, labels=np.array([4, 5, 6])).label in (4, 5, 6)
    # An index of other values names nobody.
    assert decider.ask(table.set_axis([0.5, 1.5, 2.5])).label is None
    labels = [d.label for d in decider.ask(table, count=3, request_id="all")]
    assert sorted(map(str, labels)) == ["a", "b", "c"]
    again = decider.ask(table, count=3, request_id="all")
    assert [d.label for d in again] == labels
    assert decider.log()["label"].iloc[-3:].tolist() == labels


FILM_LABELS: list[list[Any]] = [
    ["12 Angry Men", "Up", '"Heroes"', "-", "007"],
    [12, 7, -3, 0, 2**40],
    ["12", 12, "Up", "-3", -3],
]


@pytest.mark.parametrize("labels", FILM_LABELS, ids=["texts", "numbers", "both"])
def test_the_log_has_labels_as_they_were_given(labels: list[Any], tmp_path: Path) -> None:
    films = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 3)), index=labels)
    decider = pb.Decider(subspace=U3, seed=0)
    made = decider.ask(films, count=5)
    decider.tell_many((decision, 1.0) for decision in made[:4])
    given = [decision.label for decision in made]
    log = decider.log()
    assert log["label"].tolist() == given
    assert [*map(type, log["label"])] == [*map(type, given)]
    assert json.loads(log["labels"][0]) == labels
    assert log.merge(films, left_on="label", right_index=True).shape[0] == 5
    decider.export(tmp_path / "log.parquet")
    exported = pd.read_parquet(tmp_path / "log.parquet")["label"]
    # A column of a file has one type: where there are texts, numbers are texts too.
    assert exported.tolist() == (given if labels == FILM_LABELS[1] else [*map(str, given)])
    assert json.loads(pd.read_parquet(tmp_path / "log.parquet")["labels"][0]) == labels


def test_arms_without_labels_may_stand_beside_numbered_ones(tmp_path: Path) -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    decider.ask(np.eye(3))
    decider.ask(np.eye(3), labels=[4, 5, 6])
    assert decider.log()["label"][0] is None
    decider.export(tmp_path / "log.parquet")
    table = pq.read_table(tmp_path / "log.parquet", columns=["step", "label"])
    assert table["label"].to_pylist() == decider.log()["label"].tolist()


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", "b"], "labels must have 3 entries, one for each arm, got 2"),
        (["a", "b", "a"], "labels must be distinct, got 'a' in rows 0 and 2: leave one out"),
        ([1.5, 2.5, 3.5], r"labels must hold texts or whole numbers, got 1.5 in row 0"),
        ([2, True, 3], "labels must hold texts or whole numbers, got True in row 1"),
        (["Up", "Heat", None], "labels must hold texts or whole numbers, got None in row 2"),
        ("abc", "labels must list a text or a whole number for each arm, got 'abc'"),
    ],
)
def test_ids_that_are_none_are_refused(ids: Any, message: str) -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    with pytest.raises((ValueError, TypeError), match=message):
        decider.ask(np.eye(3), labels=ids)
    with pytest.raises(ValueError, match="must be finitely many where they have ids"):
        decider.ask(pb.Ball(d=3), labels=ids)
    assert decider.steps == 0


def test_an_index_with_duplicates_is_refused_as_ids_are() -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    twice = pd.DataFrame(np.eye(3), index=["a", "b", "a"])
    with pytest.raises(ValueError, match="index of arms must be distinct, got 'a' in rows 0 and 2"):
        decider.ask(twice)
    with pytest.raises(ValueError, match="labels must be distinct, got 'a' in rows 0 and 2"):
        decider.ask(twice, labels=twice.index)
    features = pb.Features(numeric=["x0", "x1"]).fit(np.eye(3))
    raw = pb.Decider(features=features, seed=0)
    with pytest.raises(ValueError, match="index of arms must be distinct, got 'a' in rows 0 and 2"):
        raw.ask(twice.set_axis(["x0", "x1", "x2"], axis=1))
    assert decider.steps == raw.steps == 0
    decider.learn(twice, [1.0, 2.0, 3.0])  # history may tell of an item many times


def test_catalogues_and_attributes_with_duplicates_are_refused_by_row_too() -> None:
    twice = pd.DataFrame(np.eye(3), columns=["x", "y", "z"], index=["a", "b", "a"])
    log = pd.DataFrame({"item": ["a", "b"], "p": 0.5, "r": [1.0, 0.0]})
    how = {"action": "item", "propensity": "p", "outcome": "r"}
    said = "must have distinct labels, got 'a' in rows 0 and 2: leave one out"
    for arms in (twice, twice.reset_index(names="item")):
        with pytest.raises(ValueError, match=f"arms {said}"):
            pb.Log.from_table(log, arms, **how)
    decider = pb.Decider(subspace=U3, seed=0)
    for _ in range(5):
        decider.tell(decider.ask(np.eye(3), labels=["a", "b", "c"]), 1.0)
    with pytest.raises(ValueError, match=f"attributes {said}"):
        decider.audit(attributes=twice[["x"]])


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
def test_an_index_of_names_that_lacks_one_is_refused(gap: Any) -> None:
    decider = pb.Decider(subspace=U3, seed=0)
    films = pd.DataFrame(np.eye(3), index=pd.Index(["Up", gap, "Heat"], dtype=object))
    with pytest.raises(TypeError, match=r"index of arms must hold texts or .*, got .* in row 1"):
        decider.ask(films)
    assert decider.ask(films.set_axis(pd.date_range("2026-01-01", periods=3))).label is None


def test_effects_of_items_need_names() -> None:
    decider = pb.Decider(pb.EIIDS(arm_effects="auto"), subspace=U3, seed=0)
    with pytest.raises(
        ValueError, match=r"labels must say who the arms are.*ask\(arms, labels=...\)"
    ):
        decider.ask(np.eye(3))
    with pytest.raises(ValueError, match="the index of arms must be distinct"):
        decider.ask(pd.DataFrame(np.eye(3), index=["a", "a", "b"]))
    assert decider.ask(pd.DataFrame(np.eye(3))).label in (0, 1, 2)


def test_rows_that_are_counted_anew_are_nobody() -> None:
    rng = np.random.default_rng(0)
    films = pd.DataFrame(rng.normal(size=(20, 3)))
    decider = pb.Decider(pb.EIIDS(arm_effects="auto"), subspace=U3, seed=0)
    decider.ask(films)
    decider.ask(films.iloc[:5].reset_index(drop=True))  # the same, as far as can be told
    decider.ask(films.iloc[[7, 3, 9]])
    with pytest.raises(ValueError, match=r"index of arms is fresh \(0 to 2\), and row 0 has other"):
        decider.ask(films.iloc[[7, 3, 9]].reset_index(drop=True))
    assert decider.steps == 3
    assert decider.ask(films.iloc[[7, 3]].reset_index(drop=True), labels=[7, 3]).label in (7, 3)


@pytest.mark.parametrize("strategy", WITH_EFFECTS, ids=repr)
def test_what_is_known_of_items_has_the_same_bits_however_it_is_reached(
    strategy: Any, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/items.db"
    decider = pb.Decider(strategy, subspace=U3, seed=0, store=url, name="it")
    made = played(decider)
    decider.save(tmp_path / "file")
    plain = pb.Decider(strategy, subspace=U3, seed=0)
    assert [d.label for d in played(plain)] == [d.label for d in made]
    plain.save(tmp_path / "plain")
    others = [
        pb.Decider.open(url, "it"),
        pb.Decider.load(tmp_path / "file"),
        plain,
        pb.Decider.load(tmp_path / "plain"),
    ]
    mine: Effects = decider.belief().state.effects
    for other in others:
        theirs: Effects = other.belief().state.effects
        assert theirs.labels == mine.labels
        assert theirs.table.tobytes() == mine.table.tobytes()
        assert theirs.linear.factor.tobytes() == mine.linear.factor.tobytes()
        assert (theirs.ratio, theirs.noise, theirs.penalty) == (
            mine.ratio,
            mine.noise,
            mine.penalty,
        )
    for one, decision in zip(decider.history(), made, strict=True):
        again = one.decide_again()
        assert again.index == decision.index
        assert again.probability == decision.propensity or np.isnan(decision.propensity)
        assert one.event.label is not None
        assert read_label(one.event.label) == decision.label
    decider.close()
    others[0].close()


def test_an_explanation_names_items_and_what_each_has_of_its_own() -> None:
    decider = pb.Decider(pb.EIIDS(arm_effects="auto"), subspace=U3, seed=0)
    made = played(decider)
    for decision in (made[-1], made[-1].id):
        explanation = decider.explain(decision)
        table = explanation.table
        assert table.index[table["chosen"]].tolist() == [made[-1].label]
        assert table["probability"].sum() == pytest.approx(1.0)
        chosen = table.loc[made[-1].label]
        assert chosen["counted"] == pytest.approx(made[-1].estimate)
        assert chosen["effect"] != 0.0
        assert str(made[-1].label) in explanation.reason
        best = table["counted"].idxmax()
        assert ("best guess: " in explanation.reason) == (best == made[-1].label)
    audit = decider.audit()
    assert audit.scores.found is False
    assert audit.influence != "found"
    assert pb.replay(decider, pb.EIIDS()).estimates().loc["model"].notna().all()


def test_a_strategy_with_effects_can_take_over() -> None:
    plain = pb.Decider(pb.EIIDS(), subspace=U3, seed=0)
    made = played(plain)
    after = pb.EIIDS(arm_effects=0.5, noise=0.3)
    plain.reconfigure(strategy=after)
    told = [(d.label, d.arm, plain.history().find(d.id).outcome) for d in made]
    fresh = Effects.prior(3, 0.1, 0.5, 0.3, intercept=True)
    for label, x, outcome in told:
        fresh = fresh.update(str(label), x, outcome)
        fresh = fresh.fitted(0.5, 0.3) if fresh.refit_due else fresh
    found: Effects = plain.belief().state.effects
    np.testing.assert_allclose(found.theta, fresh.theta, rtol=1e-9)
    assert found.labels == fresh.labels
    plain.reconfigure(strategy=pb.EIIDS())
    assert plain.belief().state.effects is None


def test_history_says_whose_returns_it_holds() -> None:
    rng = np.random.default_rng(0)
    X, outcomes = rng.normal(size=(50, 3)), rng.normal(size=50)
    whose = [f"film {i % 5}" for i in range(50)]
    decider = pb.Decider(pb.EIIDS(arm_effects=0.5), subspace=U3, seed=0)
    decider.learn(X, outcomes, labels=whose, request_id="old")
    decider.learn(X, outcomes, labels=whose, request_id="old")
    items: Effects = decider.belief().state.effects
    assert items.labels == [f"film {i}" for i in range(5)]
    assert items.n == 50
    with pytest.raises(ValueError, match="learnt before, from other rows"):
        decider.learn(X, outcomes, labels=whose[::-1], request_id="old")
    with pytest.raises(ValueError, match="labels must have 50 entries"):
        decider.learn(X, outcomes, labels=whose[:3])
    decider.learn(X[:2], outcomes[:2])  # each an item of its own
    assert decider.belief().state.effects.size == 7
