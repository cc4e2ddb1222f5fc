"""Rewards, ids and contexts go by their index, and outcomes far from all others are named."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.deciding.outliers import Outliers
from tests.worlds import U3

RNG = np.random.default_rng(0)
FILMS = pd.DataFrame(RNG.normal(size=(30, 3)), columns=["a", "b", "c"]).rename("film {}".format)
REWARDS = pd.Series(RNG.normal(size=30), index=FILMS.index)


def decider(**more: Any) -> pb.Decider:
    return pb.Decider(subspace=U3, seed=0, **more)


def believed(features: Any, outcomes: Any, **more: Any) -> bytes:
    one = decider()
    one.learn(features, outcomes, **more)
    return one.ridge.factor.tobytes()


def test_rewards_go_by_their_index() -> None:
    right = believed(FILMS.to_numpy(), REWARDS.to_numpy())
    assert believed(FILMS, REWARDS) == right
    assert believed(FILMS, REWARDS.iloc[::-1]) == right
    assert believed(FILMS, REWARDS.sample(frac=1.0, random_state=1)) == right
    assert believed(FILMS, REWARDS.to_numpy()) == right
    assert believed(FILMS, REWARDS.tolist()) == right
    assert believed(FILMS.to_numpy(), REWARDS) == right
    twice = pd.Index(["x", "y"] * 15)
    assert believed(FILMS.set_axis(twice), REWARDS.set_axis(twice)) == right


@pytest.mark.parametrize(
    ("features", "outcomes", "message"),
    [
        (
            FILMS,
            REWARDS.reset_index(drop=True),
            "0 in outcomes is not in features: pass outcomes.loc",
        ),
        (FILMS, REWARDS.iloc[1:], "it has other rows"),
        (FILMS.iloc[1:], REWARDS, "'film 0' in outcomes is not in features"),
        (
            FILMS.set_axis(["x", "y"] * 15),
            REWARDS.set_axis(["y", "x"] * 15),
            r"it has other rows, or some twice: .*outcomes.to_numpy\(\) if the rows are in the",
        ),
    ],
)
def test_rewards_of_another_index_are_refused(features: Any, outcomes: Any, message: str) -> None:
    one = decider()
    with pytest.raises(ValueError, match=rf"outcomes must have the index of features, {message}"):
        one.learn(features, outcomes)
    assert one.ridge.n == 0


def test_ids_and_contexts_go_by_their_index_too() -> None:
    effects = pb.Decider(pb.EIIDS(arm_effects=0.5), subspace=U3, seed=0)
    other = pb.Decider(pb.EIIDS(arm_effects=0.5), subspace=U3, seed=0)
    whose = pd.Series([f"item {i % 4}" for i in range(30)], index=FILMS.index)
    effects.learn(FILMS, REWARDS, labels=whose.iloc[::-1])
    other.learn(FILMS, REWARDS, labels=whose.tolist())
    mine, theirs = effects.belief().state.effects, other.belief().state.effects
    assert mine.table.tobytes() == theirs.table.tobytes()
    with pytest.raises(ValueError, match="labels must have the index of features"):
        effects.learn(FILMS, REWARDS, labels=whose.reset_index(drop=True))
    labels = pd.Series([*"xyz"], index=FILMS.index[:3])
    chosen = decider().ask(FILMS[:3], labels=labels.iloc[::-1], count=3)
    assert {d.index: d.label for d in chosen} == {0: "x", 1: "y", 2: "z"}
    with pytest.raises(ValueError, match="labels must have the index of arms"):
        decider().ask(FILMS[:3], labels=labels.set_axis([*"pqr"]))

    segment = pd.DataFrame({"segment": ["x", "y"] * 15}, index=FILMS.index)
    features = pb.Features(numeric=["a"], context=["segment"]).fit(FILMS.join(segment))
    right = pb.Decider(features=features, seed=0)
    right.learn(FILMS, REWARDS, context={"segment": segment["segment"].tolist()})
    for context in (segment[::-1], {"segment": segment["segment"][::-1]}):
        raw = pb.Decider(features=features, seed=0)
        raw.learn(FILMS, REWARDS, context=context)
        assert raw.ridge.factor.tobytes() == right.ridge.factor.tobytes()
    with pytest.raises(ValueError, match=r"context\['segment'\] must have the index of features"):
        raw.learn(FILMS, REWARDS, context={"segment": segment["segment"].reset_index(drop=True)})
    raw.learn(FILMS, REWARDS, context=pd.DataFrame({"segment": ["x"]}))  # one row is for all rows


def test_outcomes_by_id_go_by_their_index() -> None:
    one, other = decider(), decider()
    ids = [[d.id for d in each.ask(np.eye(3), count=3)] for each in (one, other)]
    one.tell_many(pd.Series([2.0, 0.0, 1.0], index=[ids[0][i] for i in (2, 0, 1)]))
    other.tell_many(zip(ids[1], [0.0, 1.0, 2.0], strict=True))
    assert one.log()["outcome"].tolist() == other.log()["outcome"].tolist() == [0.0, 1.0, 2.0]


def test_a_code_for_a_missing_outcome_is_named_in_history() -> None:
    rng = np.random.default_rng(1)
    X, outcomes = rng.normal(size=(400, 3)), rng.normal(7.0, 2.0, size=400)
    outcomes[17] = -999.0
    with pytest.warns(
        UserWarning, match=r"outcomes\[17\] is -999, .* deviations off: .* are 7 give"
    ) as said:
        decider().learn(X, outcomes)
    assert said[0].filename == __file__
    one = decider()
    with pytest.raises(UserWarning, match="outcomes"):  # warnings are errors in these tests
        one.learn(X, outcomes)
    assert one.ridge.n == 0  # an error changes nothing


def test_an_outcome_far_from_all_others_is_named_by_its_label() -> None:
    outcomes = REWARDS.sample(frac=1.0, random_state=1)
    outcomes["film 7"] = -999.0
    assert outcomes.index[7] != "film 7"
    with pytest.warns(UserWarning, match=r"^outcomes\[7\] \(of 'film 7'\) is -999"):
        decider().learn(FILMS, outcomes)
    with pytest.warns(UserWarning, match=r"^outcomes\[7\] \(of 7\) is -999"):
        decider().learn(FILMS, outcomes, labels=pd.Series(range(30), index=FILMS.index))
    with pytest.warns(UserWarning, match=r"^outcomes\[7\] is -999"):
        decider().learn(FILMS.to_numpy(), outcomes[FILMS.index].to_numpy())


def told(outcomes: Any) -> pb.Decider:
    one = decider()
    for i, outcome in enumerate(outcomes):
        one.ask(np.eye(3), request_id=f"q{i}")
        one.tell(f"q{i}", float(outcome))
    return one


def test_an_outcome_far_from_those_before_is_named_by_its_decision() -> None:
    one = told(np.random.default_rng(2).normal(7.0, 2.0, size=40))
    ids = [d.id for d in one.ask(np.eye(3), count=3)]
    with pytest.warns(UserWarning, match=f"the outcome of '{ids[0]}' is -999") as said:
        one.tell(ids[0], -999.0)
    assert said[0].filename == __file__
    one.tell(ids[0], -999.0)  # it was said: a warning would be an error here
    with pytest.warns(UserWarning, match=f"the outcome of '{ids[1]}' is -999"):
        one.tell_many({ids[1]: -999.0, ids[2]: 6.5})
    with pytest.warns(UserWarning, match="the outcome of 'q3' is 1e"):
        one.amend("q3", 1e6)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("history", ["ratings", "clicks", "equal"])
def test_another_process_compares_with_what_is_known_already(
    history: str, intercept: bool, tmp_path: Path
) -> None:
    rng, url = np.random.default_rng(8), f"sqlite:///{tmp_path}/it.db"
    outcomes = {
        "ratings": rng.normal(7.0, 2.0, size=200),
        "clicks": (rng.random(200) < 0.02).astype(float),
        "equal": np.full(200, 3.0),
    }[history]
    one = pb.Decider(subspace=U3, seed=0, intercept=intercept, store=url, name="it")
    one.learn(rng.normal(size=(200, 3)), outcomes)
    one.save(tmp_path / "it")
    for other in (pb.Decider.open(url, "it"), pb.Decider.load(tmp_path / "it")):
        usual, far = other.ask(np.eye(3), count=2)
        other.tell(usual, outcomes.max() + 1.0)  # a warning would be an error here
        with pytest.warns(UserWarning, match=f"the outcome of '{far.id}' is -999"):
            other.tell(far, -999.0)
        other.close()
    one.close()


def test_an_outcome_among_the_first_is_named_once_others_are_known() -> None:
    rng = np.random.default_rng(3)
    with pytest.warns(UserWarning, match="the outcome of 'q4' is -999"):
        told([*rng.normal(size=4), -999.0, *rng.normal(size=20)])


def test_many_outcomes_are_compared_with_each_other() -> None:
    one, rng = decider(), np.random.default_rng(4)
    ids = [one.ask(np.eye(3)).id for _ in range(100)]
    outcomes = dict(zip(ids, rng.normal(size=100), strict=True)) | {ids[7]: 500.0}
    with pytest.warns(UserWarning, match=f"the outcome of '{ids[7]}' is 500"):
        one.tell_many(outcomes)


@pytest.mark.parametrize("rate", [0.0, 0.002, 0.02, 0.1, 0.5, 0.98, 1.0])
def test_clicks_are_never_far_from_each_other(rate: float) -> None:
    # Every warning is an error here.
    rng = np.random.default_rng(5)
    clicks = (rng.random(3000) < rate).astype(float)
    clicks[700] = 1.0
    decider().learn(np.ones((3000, 3)), clicks)
    seen = Outliers()
    for i, click in enumerate(clicks.tolist()):
        seen.look([(str(i), click)])


def test_what_is_explored_is_not_far_from_what_was_explored_before() -> None:
    # Every warning is an error here.
    rng = np.random.default_rng(7)
    explored = np.concatenate([rng.random(30) < 0.5, rng.random(3000) < 0.004])
    outcomes = np.where(explored, -3.0, 1.5) + 0.02 * rng.normal(size=len(explored))
    seen = Outliers()
    for i, outcome in enumerate(outcomes.tolist()):
        seen.look([(str(i), outcome)])
    told(outcomes[:60])


def test_a_code_among_clicks_is_named() -> None:
    clicks = (np.random.default_rng(6).random(400) < 0.02).astype(float)
    clicks[300] = -999.0
    with pytest.warns(UserWarning, match=r"outcomes\[300\] is -999"):
        decider().learn(np.ones((400, 3)), clicks)
    with pytest.warns(UserWarning, match=r"outcomes\[300\] is -999"):
        decider().learn(np.ones((400, 3)), np.where(clicks == -999.0, -999.0, 0.0))
