"""A decider with features: raw columns and contexts, recorded and known to all that is read."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb

FILMS = pd.DataFrame(
    {
        "length": [90, 110, 100, 140, 95, 120],
        "genre": ["drama", "news", "drama", "sport", "news", "sport"],
        "country": ["fr", "de", "fr", "it", "de", "it"],
    },
    index=["a", "b", "c", "d", "e", "f"],
)
SEEN = pd.concat([FILMS.assign(segment="x"), FILMS.assign(segment="y")])


def made(**more: Any) -> pb.Features:
    return pb.Features(
        numeric=["length"],
        categorical=["genre", "country", "segment"],
        interactions=[("segment", "genre"), ("segment", "country")],
        context=["segment"],
        protected=["country"],
        **more,
    ).fit(SEEN)


def played(decider: pb.Decider, steps: int = 20) -> list[pb.Decision]:
    rng, found = np.random.default_rng(0), []
    for t in range(steps):
        context = {"segment": "x" if t % 2 else "y"}
        found.append(decider.ask(FILMS, context=context))
        decider.tell(found[-1], float(rng.normal() + (found[-1].label == "b")))
    return found


def test_features_say_what_counts_and_what_becomes_of_raw_columns() -> None:
    features = made()
    decider = pb.Decider(features=features, half_life="60d", seed=0)
    decision = decider.ask(FILMS, context={"segment": "x"})
    assert decision.label in FILMS.index
    assert decision.context == {"segment": "x"}
    rows = features.transform(FILMS, {"segment": "x"})
    np.testing.assert_array_equal(decision.arm, rows[decision.index])
    np.testing.assert_array_equal(decider.subspace.matrix, features.subspace.matrix)
    assert decider.columns == features.names
    assert decider.features is not None
    assert decider.features.to_json() == features.to_json()


def test_everything_that_is_read_knows_features_and_contexts(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/films.db"
    decider = pb.Decider(features=made(), seed=0, store=url, name="films")
    found = played(decider)
    log = decider.log()
    assert [json.loads(text) for text in log["context"]] == [d.context for d in found]
    assert log["label"].tolist() == [d.label for d in found]
    assert [c[2:-1] for c in log.columns if c.startswith("x[")] == [*made().names]
    decider.save(tmp_path / "file")
    decider.export(tmp_path / "log.parquet")
    for other in (pb.Decider.open(url, "films"), pb.Decider.load(tmp_path / "file")):
        assert other.features is not None
        assert other.features.to_json() == made().to_json()
        assert other.ridge.factor.tobytes() == decider.ridge.factor.tobytes()
        table = other.explain(found[3].id).table
        assert table.index.tolist() == [*FILMS.index]
        np.testing.assert_array_equal(other.explain(found[3], arms=FILMS).table, table)
        audit = other.audit()
        assert audit.scores.found is False
        assert audit.influence == "unclear"  # 20 outcomes tell too little of a leak
        assert other.ask(FILMS, context={"segment": "y"}).label in FILMS.index
        other.close()
    estimates = [pb.replay(log, pb.EIIDS()), pb.replay(tmp_path / "log.parquet", pb.EIIDS())]
    np.testing.assert_allclose(estimates[0].features, estimates[1].features, rtol=1e-12)
    again = pb.Decider(features=made(), store=url, name="films")
    assert again.steps == 21
    with pytest.raises(ValueError, match="subspace, columns, features, half-life and intercept"):
        pb.Decider(features=made(missing="mean"), store=url, name="films")
    decider.close()
    again.close()


def test_a_saved_file_has_them_too(tmp_path: Path) -> None:
    decider = pb.Decider(features=made(), seed=0, half_life=30)
    played(decider)
    waiting = decider.ask(FILMS, context={"segment": "y"})
    decider.save(tmp_path / "file")
    loaded = pb.Decider.load(tmp_path / "file")
    assert loaded.features is not None
    (pending,) = loaded.pending
    assert (pending.label, pending.context) == (waiting.label, {"segment": "y"})
    loaded.tell(pending, 1.0)
    decider.tell(waiting, 1.0)
    one, other = (d.ask(FILMS, context={"segment": "x"}) for d in (decider, loaded))
    assert (one.label, one.propensity, one.estimate) == (
        other.label,
        other.propensity,
        other.estimate,
    )


def test_the_same_id_gets_the_same_decision_in_the_same_context() -> None:
    decider = pb.Decider(features=made(), seed=0)
    one = decider.ask(FILMS, context={"segment": "x"}, request_id="request-1")
    assert decider.ask(FILMS, context={"segment": "x"}, request_id="request-1").label == one.label
    with pytest.raises(ValueError, match="the arm chosen then is not in its place"):
        decider.ask(FILMS, context={"segment": "y"}, request_id="request-1")


def test_history_is_raw_too() -> None:
    rng = np.random.default_rng(0)
    outcomes = rng.normal(size=len(SEEN))
    one, other = pb.Decider(features=made(), seed=0), pb.Decider(features=made(), seed=0)
    one.learn(SEEN, outcomes)
    other.learn(SEEN.drop(columns="segment"), outcomes, context={"segment": SEEN["segment"]})
    plain = pb.Decider(subspace=made().subspace, seed=0)
    plain.learn(made().transform(SEEN), outcomes)
    for decider in (one, other):
        np.testing.assert_array_equal(decider.ridge.factor, plain.ridge.factor)


@pytest.mark.parametrize("library", ["polars", "arrow", "dicts"])
def test_tables_of_any_kind_are_decided_on_alike(library: str) -> None:
    if library == "polars":
        table: Any = pytest.importorskip("polars").from_pandas(FILMS)
    elif library == "arrow":
        table = pytest.importorskip("pyarrow").Table.from_pandas(FILMS, preserve_index=False)
    else:
        table = json.loads(json.dumps(FILMS.to_dict("records")))
    context = {"segment": np.str_("x")}
    one = pb.Decider(features=made(), seed=0).ask(table, context=context, labels=FILMS.index)
    other = pb.Decider(features=made(), seed=0).ask(FILMS, context={"segment": "x"})
    np.testing.assert_array_equal(one.arm, other.arm)
    assert (one.label, one.context) == (other.label, other.context)
    nameless = pb.Decider(features=made(), seed=0).ask(table, context=context)
    assert nameless.label is None


def test_a_subspace_of_ones_own_must_fit_the_features() -> None:
    features = made()
    mine = pb.Subspace.without(["length"], columns=features.names)
    assert pb.Decider(features=features, subspace=mine).subspace.dim == len(features.names) - 1
    with pytest.raises(ValueError, match=r"subspace must be one of the .* features"):
        pb.Decider(features=features, subspace=pb.Subspace.coordinates([0], d=2))
    with pytest.raises(TypeError, match=r"features must be a pb.Features, got \['a'\]"):
        pb.Decider(features=["a"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="subspace must be a Subspace, got None"):
        pb.Decider()
    with pytest.raises(ValueError, match="not fitted yet"):
        pb.Decider(features=pb.Features(numeric=["length"]))


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (None, "context must be given, the items have no column 'segment'"),
        ({"segement": "x"}, "context must have a column 'segment', it is missing"),
        ([{"segment": "x"}], "context must be one dict of values"),
        ({"segment": {1, 2}}, "context must hold texts and numbers"),
        ({"segment": [*"xyxyxy"]}, "context must hold one value per column, got .* in 'segment'"),
        ({"segment": np.array(["x"] * 6)}, "what differs from arm to arm is a column of the arms"),
    ],
)
def test_a_context_that_is_none_is_refused(context: Any, message: str) -> None:
    decider = pb.Decider(features=made(), seed=0)
    with pytest.raises((ValueError, TypeError), match=message):
        decider.ask(FILMS, context=context)
    assert decider.steps == 0
    with pytest.raises(ValueError, match="context needs a decider that knows what to make of it"):
        pb.Decider(subspace=pb.Subspace.coordinates([0], d=1)).ask([[1.0]], context={"a": 1})


def test_coefficients_are_in_the_units_of_the_columns() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"length": rng.normal(100.0, 20.0, 400), "age": rng.normal(40.0, 5.0, 400)})
    returns = 0.03 * rows["length"] - 0.2 * rows["age"] + 0.01 * rng.normal(size=400)
    features = pb.Features(
        numeric=["length", "age"], interactions=[("length", "age")], protected=["age"]
    ).fit(rows)
    decider = pb.Decider(features=features, seed=0)
    decider.learn(rows, returns)
    table = decider.coefficients()
    assert table.index.tolist() == ["intercept", "constant", "length", "age", "length:age"]
    assert table["counts"].tolist() == [False, True, True, False, False]
    np.testing.assert_allclose(table["estimate"][["length", "age"]], [0.03, -0.2], rtol=1e-2)
    np.testing.assert_allclose(features.units[3], features.units[1] * features.units[2])
    inside = (table["estimate"] - [0.0, 0.0, 0.03, -0.2, 0.0]).abs() < 4 * table["standard_error"]
    assert inside[["intercept", "length", "age", "length:age"]].all()
    plain = pb.Decider(subspace=pb.Subspace.coordinates([0], d=2), seed=0)
    plain.learn([[1.0, 0.0], [0.0, 1.0]], [1.0, 2.0])
    assert plain.coefficients().index.tolist() == ["intercept", "x[0]", "x[1]"]
    items = pb.Decider(pb.EIIDS(arm_effects=0.5), features=features, seed=0)
    items.learn(rows, returns, labels=[f"film {i % 7}" for i in range(400)])
    np.testing.assert_allclose(items.coefficients()["estimate"]["length"], 0.03, rtol=0.05)


def test_a_context_among_the_arms_is_recorded_too() -> None:
    decider = pb.Decider(features=made(), seed=0)
    one = decider.ask(FILMS.assign(segment="x"))
    assert one.context == {"segment": "x"}
    mixed = decider.ask(FILMS.assign(segment=[*"xyxyxy"]))
    assert mixed.context is None  # it comes with the films, not with the call
    for decision, arms in ((one, FILMS), (mixed, FILMS.assign(segment=[*"xyxyxy"]))):
        decider.tell(decision, 1.0)
        explained = decider.explain(decision, arms=arms).table["counted"]
        np.testing.assert_array_equal(explained, decider.explain(decision.id).table["counted"])
    assert {*decider.audit(by="segment").exposure.table["segment"]} == {"all", "x", "not said"}


def test_a_context_may_hold_a_vector() -> None:
    features = pb.Features(
        numeric=["length"],
        embedding=["who"],
        context=["who"],
        interactions=[("who", "length")],
    ).fit(
        FILMS[["length"]].assign(who=pd.Series([np.eye(2)[i % 2] for i in range(6)], FILMS.index))
    )
    decider = pb.Decider(features=features, seed=0)
    decision = decider.ask(FILMS[["length"]], context={"who": np.array([0.5, 1.0])})
    assert decision.context == {"who": [0.5, 1.0]}
    who = pd.Series([np.array([0.5, 1.0]) for _ in range(6)], FILMS.index)
    table = FILMS[["length"]].assign(who=who)
    np.testing.assert_array_equal(decision.arm, features.transform(table)[decision.index])
    assert decider.ask(table).context == {"who": [0.5, 1.0]}  # among the arms, the same for all
    other = pd.Series([np.eye(2)[i % 2] for i in range(6)], FILMS.index)
    assert decider.ask(table.assign(who=other)).context is None


@pytest.mark.parametrize("gaps", [[pd.NA] * 6, ["x", *[pd.NA] * 5], [None] * 6])
def test_a_context_among_the_arms_may_lack_values(gaps: list[Any]) -> None:
    features = pb.Features(
        numeric=["length"], categorical={"segment": ["x", "y"]}, context=["segment"], missing="mean"
    ).fit(FILMS)
    decider = pb.Decider(features=features, seed=0)
    table = FILMS.assign(segment=pd.Series(gaps, FILMS.index, dtype=object))
    assert decider.ask(table).context is None
    for gap in (float("nan"), pd.NA):
        called = decider.ask(FILMS, context={"segment": gap})
        assert called.context == {"segment": None}  # JSON has no word for nan
    strict = pb.Decider(features=made(missing="error"), seed=0)
    with pytest.raises(ValueError, match=r"items must have every value, column 'segment' lacks"):
        strict.ask(table)


def test_groups_of_the_context_disagree() -> None:
    decider = pb.Decider(features=made(), seed=0)
    played(decider)
    assert decider.find_subspace(by="segment", leave_out=1).left_out.dim == 1
    with pytest.raises(ValueError, match="by must be a column of the context or a key of meta"):
        decider.find_subspace(by="segmnt")
    with pytest.raises(ValueError, match="by must be a column of the context or a key of meta"):
        decider.audit(by="segmnt")
    with pytest.raises(TypeError, match="by must be a column of the context or a key of meta"):
        decider.audit(by=3)  # type: ignore[arg-type]
