"""Data as it is: what used to go wrong without a word."""

import warnings

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from tests import naive

ITEMS, STEPS = 20, 300


def regret(decider: pb.Decider, offered: object, worth: naive.Array, returns: naive.Array) -> float:
    """Return what is missed over 300 decisions among the same items."""
    rng, missed = np.random.default_rng(1), 0.0
    for _ in range(STEPS):
        decision = decider.ask(offered)
        assert decision.index is not None
        decider.tell(decision, float(returns[decision.index] + 0.1 * rng.normal()))
        missed += worth.max() - worth[decision.index]
    return missed


def test_a_kept_feature_in_small_units_is_named_and_features_mend_it() -> None:
    rng = np.random.default_rng(0)
    films = pd.DataFrame(rng.normal(size=(ITEMS, 4)), columns=["share", "drama", "length", "age"])
    worth = films[["share", "drama", "length"]].to_numpy() @ [1.0, 0.2, 0.2]
    returns = worth + 0.5 * films["age"].to_numpy()
    films["share"] *= 0.001
    U = pb.Subspace.without("age", columns=films.columns)
    with pytest.warns(UserWarning, match=r"column 'share' has .* 0.00.*pb.Features\(protected"):
        plain = regret(pb.Decider(subspace=U, seed=0), films, worth, returns)
    with pytest.warns(UserWarning, match="column 'share' has") as caught:
        pb.Decider(subspace=U, seed=0).learn(films, returns)
    assert caught[0].filename == __file__
    features = pb.Features(protected=["age"]).fit(films)
    mended = regret(pb.Decider(features=features, seed=0), films, worth, returns)
    assert plain > 100.0
    assert mended < 20.0


def test_a_protected_column_in_small_units_is_named_and_features_mend_it() -> None:
    rng = np.random.default_rng(0)
    age = rng.normal(size=40)
    films = pd.DataFrame({"stars": 0.8 * age + 0.6 * rng.normal(size=40)})
    films["drama"], films["age"] = rng.normal(size=40), 0.01 * age
    returns = (0.3 * films["drama"] + 40.0 * films["age"]).to_numpy()

    def learnt(decider: pb.Decider) -> float:
        """Return what a deviation of the stars is taken to be worth."""
        for _ in range(STEPS):
            some = films.sample(10, random_state=rng)
            decision = decider.ask(some)
            decider.tell(decision, float(returns[int(decision.label or 0)] + 0.1 * rng.normal()))
        assert decider.columns is not None
        return float(decider.ridge.theta[decider.columns.index("stars")])

    U = pb.Subspace.without("age", columns=films.columns)
    with pytest.warns(UserWarning, match="column 'age' has entries of about 0.008") as caught:
        assert learnt(pb.Decider(subspace=U, seed=0)) > 0.2  # nothing of it is true
    assert caught[0].filename == __file__
    features = pb.Features(protected=["age"]).fit(films)
    assert abs(learnt(pb.Decider(features=features, seed=0))) < 0.03


def test_levels_without_a_constant_are_named_and_features_mend_them() -> None:
    rng = np.random.default_rng(0)
    films = pd.DataFrame({"genre": rng.choice(["drama", "news", "sport"], ITEMS)})
    films["length"] = rng.normal(size=ITEMS)
    # Everything is liked, news a little less than drama, which has no column.
    means = np.array([{"drama": 2.0, "news": 1.8, "sport": 2.1}[g] for g in films["genre"]])
    dummies = pd.get_dummies(films, drop_first=True)
    U = pb.Subspace.without("length", columns=dummies.columns)
    plain = pb.Decider(subspace=U, seed=0, intercept=False)
    with pytest.warns(UserWarning, match="'genre_news', 'genre_sport' lack a level of 'genre'"):
        regret(plain, dummies, means, means)
    assert plain.columns is not None
    assert plain.ridge.theta[plain.columns.index("genre_news")] > 1.0  # a sign flips
    level = pb.Decider(subspace=U, seed=0)  # no warning, which is an error here
    regret(level, dummies, means, means)
    assert -0.4 < level.ridge.theta[plain.columns.index("genre_news")] < 0.1
    features = pb.Features(protected=["length"]).fit(films)
    mended = pb.Decider(pb.GENTRY(schedule="smooth"), features=features, seed=0)
    regret(mended, films, means, means)
    theta = dict(zip(features.names, mended.ridge.theta, strict=True))
    assert theta["genre=news"] < theta["genre=drama"] < theta["genre=sport"]


def test_nothing_is_said_of_levels_that_are_all_there_or_have_a_constant() -> None:
    films = pd.DataFrame({"genre": ["a", "b", "c", "a"], "length": [1.0, 2.0, -1.0, 3.0]})
    for table in (pd.get_dummies(films), pd.get_dummies(films, drop_first=True).assign(one=1.0)):
        U = pb.Subspace.without("length", columns=table.columns)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pb.Decider(subspace=U, seed=0).ask(pd.concat([table] * 3, ignore_index=True))


def test_the_levels_of_a_protected_column_are_found_by_its_name() -> None:
    films = pd.DataFrame({"country": ["fr", "de", "it"], "length": [1.0, 2.0, 3.0]})
    columns = pd.get_dummies(films).columns
    with pytest.raises(ValueError, match=r"'country_it'\] begin with it.* pass prefix='_'"):
        pb.Subspace.without("country", columns=columns)
    U = pb.Subspace.without("country", columns=columns, prefix="_")
    assert U.project(np.ones(4)).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert pb.Features(protected=["country"]).fit(films).subspace.dim == 2  # and the constant


def test_products_of_protected_columns_are_left_out() -> None:
    rng = np.random.default_rng(0)
    films = pd.DataFrame({"length": rng.normal(size=30), "age": rng.normal(size=30)})
    segments = rng.choice(["a", "b"], 30)
    features = pb.Features(
        numeric=["length", "age"],
        categorical=["segment"],
        context=["segment"],
        interactions=[("segment", "age"), ("segment", "length")],
        protected=["age"],
    ).fit(films.assign(segment=segments))
    decider = pb.Decider(features=features, seed=0)
    for t in range(200):
        segment = str(segments[t % 30])
        sign = 1.0 if segment == "a" else -1.0
        decision = decider.ask(films, context={"segment": segment})
        film = films.iloc[int(decision.label or 0)]
        decider.tell(decision, float(sign * film["age"] + 0.2 * film["length"]))
    by_hand = decider.ask(films, context={"segment": "a"})
    assert by_hand.label == int(films["length"].argmax())  # and not the oldest
    theta = dict(zip(features.names, decider.ridge.theta, strict=True))
    assert theta["segment=a:age"] - theta["segment=b:age"] > 1.0  # it was learnt, to be ignored


def test_items_have_a_quality_of_their_own_and_new_ones_may_come() -> None:
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=(12, 2)), pb.Subspace.coordinates([0, 1], d=2)
    quality = rng.normal(size=12)
    decider = pb.Decider(pb.EIIDS(arm_effects="auto"), subspace=U, seed=0)
    plain = pb.Decider(pb.EIIDS(), subspace=U, seed=0)
    missed = dict.fromkeys((decider, plain), 0.0)
    worth = X @ [0.3, -0.2] + quality
    for t in range(600):
        there = rng.choice(6 if t < 200 else 12, 5, replace=False)  # six come later
        for who in missed:
            decision = who.ask(X[there], labels=there)
            i = int(decision.label or 0)
            assert i == there[decision.index]
            who.tell(decision, float(worth[i] + 0.3 * rng.normal()))
            missed[who] += worth[there].max() - worth[i]
    assert missed[decider] < 0.3 * missed[plain]


def test_a_half_life_recovers_when_theta_flips() -> None:
    U, missed = pb.Subspace.coordinates([0, 1], d=4), dict[object, float]()
    for half_life in (None, 100):
        rng = np.random.default_rng(0)
        theta = np.array([1.0, -0.5, 0.8, 0.3])
        decider = pb.Decider(subspace=U, seed=0, half_life=half_life)
        total = 0.0
        for t in range(1200):
            now = theta if t < 600 else -theta
            X = rng.normal(size=(10, 4))
            decision = decider.ask(X)
            worth = X[:, :2] @ now[:2]
            total += worth.max() - worth[decision.index] if t >= 900 else 0.0
            decider.tell(decision, float(decision.arm @ now + 0.5 * rng.normal()))
        missed[half_life] = total / 300
    assert missed[None] > 0.9
    assert missed[100] < 0.05
