"""Raw columns become vectors, and what descends from a protected one is left out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import projbandits as pb

FILMS = pd.DataFrame(
    {
        "length": [90.0, 110.0, 100.0, 140.0],
        "genre": ["drama", "news", "drama", "sport"],
        "country": ["fr", "de", "fr", "it"],
    }
)


def declared(**changes: Any) -> pb.Features:
    known: dict[str, Any] = {"numeric": ["length"], "categorical": ["genre", "country"]}
    return pb.Features(**{**known, **changes})


def naive(table: pd.DataFrame, segment: str) -> dict[str, list[float]]:
    """Every feature of `films_by_segment`, one loop per column."""
    mean = sum(table["length"]) / len(table)
    scale = (sum((x - mean) ** 2 for x in table["length"]) / len(table)) ** 0.5
    columns: dict[str, list[float]] = {"constant": [1.0] * len(table)}
    columns["length"] = [(x - mean) / scale for x in table["length"]]
    for level in ("drama", "news", "sport", "other"):
        columns[f"genre={level}"] = [float(x == level) for x in table["genre"]]
    for level in ("a", "b", "other"):
        columns[f"segment={level}"] = [float(segment == level)] * len(table)
    for one in ("a", "b", "other"):
        for level in ("drama", "news", "sport", "other"):
            product = zip(columns[f"segment={one}"], columns[f"genre={level}"], strict=True)
            columns[f"segment={one}:genre={level}"] = [x * y for x, y in product]
    return columns


def films_by_segment(**changes: Any) -> pb.Features:
    table = FILMS.assign(segment=["a", "b", "a", "b"])
    return pb.Features(
        numeric=["length"],
        categorical=["genre", "segment"],
        context=["segment"],
        interactions=[("segment", "genre")],
        **changes,
    ).fit(table)


def test_every_column_is_what_a_loop_makes_of_it() -> None:
    features = films_by_segment()
    expected = naive(FILMS, "b")
    assert list(features.names) == list(expected)
    made = features.transform(FILMS, context={"segment": "b"})
    np.testing.assert_allclose(made, np.column_stack([*expected.values()]), atol=1e-14)


def test_a_context_among_the_items_is_the_same_as_one_that_comes_with_the_call() -> None:
    features = films_by_segment()
    apart = features.transform(FILMS, context={"segment": "a"})
    assert (features.transform(FILMS.assign(segment="a")) == apart).all()
    rows = features.transform(FILMS, context={"segment": ["a", "b", "a", "a"]})
    assert (rows[[0, 2, 3]] == apart[[0, 2, 3]]).all()
    assert (rows[1] != apart[1]).any()
    with pytest.raises(ValueError, match="context must be given, the items have no column 'seg"):
        features.transform(FILMS)
    with pytest.raises(ValueError, match="context must have one row, or 4 like the items, got 2"):
        features.transform(FILMS, context={"segment": ["a", "b"]})


def test_products_of_a_protected_source_are_left_out_too() -> None:
    features = films_by_segment(protected=["segment"])
    kept = features.subspace.matrix.diagonal() == 1
    assert [name for name, keep in zip(features.names, kept, strict=True) if keep] == [
        *("constant", "length", "genre=drama", "genre=news", "genre=sport", "genre=other")
    ]
    assert features.sources["segment=a:genre=news"] == {"segment", "genre"}
    assert features.subspace.names == features.names
    everything = pb.Features(numeric=["length"], protected=["length"], constant=False).fit(FILMS)
    with pytest.raises(ValueError, match="protected must leave a feature to decide on"):
        _ = everything.subspace


def test_units_do_not_matter() -> None:
    thousandths = FILMS.assign(length=FILMS["length"] / 1000)
    one, other = declared().fit(FILMS), declared().fit(thousandths)
    np.testing.assert_allclose(one.transform(FILMS), other.transform(thousandths), atol=1e-12)


@pytest.mark.parametrize(
    "table",
    [
        FILMS,
        pl.from_pandas(FILMS),
        pa.Table.from_pandas(FILMS),
        FILMS.to_dict("records"),
        FILMS.to_dict("list"),
        FILMS.astype({"genre": "category", "length": "Float64"}),
    ],
    ids=["pandas", "polars", "arrow", "dicts", "columns", "extension"],
)
def test_tables_of_every_kind_are_the_same(table: Any) -> None:
    expected = declared().fit(FILMS).transform(FILMS)
    assert (declared().fit(table).transform(table) == expected).all()


def test_an_embedding_keeps_its_directions_and_has_mean_squared_length_one() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 5.0, 0.1] + 7.0
    table = pd.DataFrame(rows, columns=["t0", "t1", "t2"])
    block = pb.Features(embedding={"title": ["t0", "t1", "t2"]}, constant=False).fit(table)
    made = block.transform(table)
    assert np.isclose((made**2).sum(axis=1).mean(), 1.0)
    centred = rows - rows.mean(axis=0)
    np.testing.assert_allclose(made / made[0, 0], centred / centred[0, 0])
    vectors = pb.Features(embedding=["title"], constant=False)
    inside = [{"title": row.tolist()} for row in rows]
    np.testing.assert_allclose(vectors.fit(inside).transform(inside), made)
    with pytest.raises(ValueError, match="vectors of 3 numbers in column 'title', got 2"):
        vectors.transform([{"title": [1.0, 2.0]}])


@pytest.mark.parametrize(
    "vector", [[0.5, 2.0], np.array([0.5, 2.0]), [[0.5, 2.0]], [[0.5, 2.0]] * 4]
)
def test_a_context_may_hold_a_vector(vector: Any) -> None:
    viewers = np.random.default_rng(0).normal(size=(4, 2))
    features = pb.Features(
        numeric=["length"],
        embedding=["viewer"],
        context=["viewer"],
        interactions=[("viewer", "length")],
    ).fit(FILMS.assign(viewer=list(viewers)))
    among = features.transform(FILMS.assign(viewer=list(np.tile([0.5, 2.0], (4, 1)))))
    assert (features.transform(FILMS, {"viewer": vector}) == among).all()
    decider = pb.Decider(features=features, seed=0)
    decision = decider.ask(FILMS, context={"viewer": [0.5, 2.0]})
    assert (decision.arm == among[decision.index]).all()


def test_a_level_that_was_not_seen_is_other_and_said_once() -> None:
    features = declared().fit(FILMS)
    odd = FILMS.assign(genre="western")
    with pytest.warns(
        UserWarning, match=r"'genre' has 1 level that fit did not see \('western'\)"
    ) as said:
        made = features.transform(odd)
    assert said[0].filename == __file__
    with pytest.warns(UserWarning, match="'genre' has 1 level that fit did not see") as said:
        pb.Decider(features=declared().fit(FILMS), seed=0).ask(odd)
    assert said[0].filename == __file__
    assert (made[:, features.names.index("genre=other")] == 1).all()
    assert (features.transform(odd) == made).all()  # a second warning would be an error here
    strict = declared(unseen="error").fit(FILMS)
    assert "genre=other" not in strict.names
    with pytest.raises(ValueError, match=r"'genre', got 'western' in row 0 \(4 such rows, 1 such"):
        strict.transform(odd)


def test_missing_values_are_refused_by_name_or_become_the_mean() -> None:
    gaps = FILMS.assign(length=[90.0, np.nan, 100.0, np.nan])
    with pytest.raises(ValueError, match=r"'length' lacks 2 \(NaN\), the first in row 1: drop"):
        declared(missing="error").fit(gaps)
    with pytest.raises(ValueError, match=r"'genre' lacks 1 \(NaN\), the first in row 3"):
        declared(missing="error").fit(FILMS).transform(
            FILMS.assign(genre=pd.Series(["drama", "news", "drama", None]))
        )
    filled = declared(missing="mean").fit(gaps)
    at = filled.names.index("length")
    assert filled.transform(gaps)[:, at].tolist() == [-1.0, 0.0, 1.0, 0.0]
    nobody = filled.transform(FILMS.assign(genre=pd.Series([None, "news", "drama", "drama"])))
    assert nobody[0, filled.names.index("genre=other")] == 1


def test_words_are_a_category_when_the_first_is_missing() -> None:
    for gap in (None, np.nan, pd.NA):
        table = pd.DataFrame({"genre": [gap, "news", "drama"], "length": [1.0, 2.0, 3.0]})
        features = pb.Features(missing="mean").fit(table)
        assert features.names[:4] == ("constant", "genre=drama", "genre=news", "genre=other")
    with pytest.raises(TypeError, match="numbers in column 'length', got 'long' in row 2"):
        pb.Features(missing="mean").fit([{"length": None}, {"length": 1.0}, {"length": "long"}])


@pytest.mark.parametrize("gap", [None, float("nan"), pd.NA, pd.NaT])
def test_a_context_may_lack_its_value(gap: Any) -> None:
    items = FILMS.head(2)
    with pytest.raises(ValueError, match="context must have every value, column 'segment' lacks 1"):
        films_by_segment(missing="error").transform(items, {"segment": gap})
    filled = films_by_segment(missing="mean")
    made = filled.transform(items, {"segment": gap})
    assert (made[:, filled.names.index("segment=other")] == 1).all()


def test_a_column_without_spread_is_left_out_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="column 'length' has the same value in every row"):
        features = declared().fit(FILMS.assign(length=0.1 + 0.2))
    assert "length" not in features.names
    assert features.transform(FILMS).shape == (4, len(features.names))


def test_means_scales_and_levels_may_be_given() -> None:
    features = pb.Features(numeric={"length": (100.0, 10.0)}, categorical={"genre": ["b", "a"]})
    features.fit()
    assert features.names == ("constant", "length", "genre=b", "genre=a", "genre=other")
    row = features.transform([{"length": 120, "genre": "a"}])
    assert row.tolist() == [[1.0, 2.0, 0.0, 1.0, 0.0]]
    with pytest.raises(ValueError, match="table must be given: nothing is known of 'length'"):
        pb.Features(numeric=["length"]).fit()


def test_json_keeps_the_order_of_columns_that_nobody_declared() -> None:
    mixed = FILMS[["genre", "length", "country"]].assign(price=[1.0, 2.0, 3.0, 4.0], city="Rome")
    features = pb.Features(protected=["country"]).fit(mixed)
    again = pb.Features.from_json(features.to_json())
    assert again.names == features.names
    assert again.frame(mixed).equals(features.frame(mixed))
    assert (again.subspace.matrix == features.subspace.matrix).all()
    for known in (
        pb.Features(numeric=["length"], categorical=["genre"], context=["price"]).fit(mixed),
        films_by_segment(protected=["segment"]),
    ):
        again = pb.Features.from_json(known.to_json())
        assert again.to_json() == known.to_json()
        context, table = {"segment": "a", "price": 2.0}, mixed.drop(columns="price")
        assert again.frame(table, context).equals(known.frame(table, context))
        assert (again.subspace.matrix == known.subspace.matrix).all()


def test_reading_json_does_not_warn_again_of_a_column_without_spread() -> None:
    with pytest.warns(UserWarning, match="'length' has the same value"):
        features = declared().fit(FILMS.assign(length=1.0))
    again = pb.Features.from_json(features.to_json())  # a warning would be an error here
    assert again.names == features.names


NUMBER = {"kind": "numeric", "name": "x", "mean": 0.0, "scale": 1.0, "indicator": False}
BLOCK = {**NUMBER, "kind": "embedding", "columns": None, "mean": [0.0, 1.0]}
LEVELS = {"kind": "categorical", "name": "x", "levels": [], "folded": False, "indicator": False}
DATES = {**NUMBER, "kind": "date", "reference": "2026-01-31"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 3}, "format 2"),
        ({"sources": [{"kind": "code", "name": "x"}]}, r"sources\[0\] must be a source of kind"),
        ({"sources": {}}, "data.sources must be a list"),
        ({"sources": ["x"]}, r"sources\[0\] must be a source"),
        (
            {"sources": [{**NUMBER, "scale": -1.0}], "context": []},
            "scale of 'x' must not be negative",
        ),
        ({"sources": [NUMBER]}, "context must name sources, got 'segment'"),
        ({"sources": [{**NUMBER, "scale": float("inf")}]}, r"sources\[0\].scale must be finite"),
        ({"sources": [{**NUMBER, "mean": "0"}]}, r"sources\[0\].mean must be a number"),
        ({"sources": [{**NUMBER, "mean": [0.0]}]}, r"sources\[0\].mean must be a number"),
        ({"sources": [{**NUMBER, "name": 3}]}, r"sources\[0\].name must be a str"),
        ({"sources": [{**NUMBER, "code": 3}]}, r"sources\[0\] has an unknown key 'code'"),
        ({"sources": [NUMBER, NUMBER]}, "sources must be declared once, got 'x'"),
        ({"sources": [{**BLOCK, "columns": ["a"]}]}, r"sources\[0\] must have .* a mean for each"),
        ({"sources": [{**BLOCK, "mean": [float("nan")]}]}, r"sources\[0\].mean must be finite"),
        ({"sources": [{**BLOCK, "mean": []}]}, r"sources\[0\] must have"),
        ({"sources": [{**BLOCK, "scale": 0.0}]}, r"sources\[0\] must have a positive scale"),
        ({"sources": [{**LEVELS, "levels": "ab"}]}, "levels must be a list"),
        ({"sources": [{**LEVELS, "levels": [[]]}], "context": []}, "a category must be"),
        ({"sources": [LEVELS], "context": []}, "levels of 'x' must be some"),
        ({"sources": [{**LEVELS, "levels": [""]}], "context": []}, "no empty text"),
        ({"sources": [{**LEVELS, "folded": 1}]}, r"sources\[0\].folded must be a bool"),
        ({"sources": [{**NUMBER, "indicator": None}]}, r"sources\[0\].indicator must be a bool"),
        ({"sources": [{**DATES, "reference": "x"}], "context": []}, "the reference of 'x' must be"),
        ({"sources": [{**DATES, "reference": 3}]}, r"sources\[0\].reference must be a str"),
        ({"max_levels": 0}, "max_levels must be at least 1"),
        ({"max_levels": 1.5}, "data.max_levels must be a int"),
        ({"protected": ["y"]}, "protected must name sources, got 'y'"),
        ({"protected": [3]}, "protected must be a list of texts"),
        ({"context": "segment"}, "data.context must be a list"),
        ({"interactions": [["a"]]}, "interactions must be pairs"),
        ({"interactions": [[1, 2]]}, r"interactions\[0\] must be a list of texts"),
        ({"constant": 1}, "data.constant must be a bool"),
        ({"extra": 1}, "data has an unknown key 'extra'"),
        ({"unseen": "evil"}, "unseen must be one of"),
        ({"missing": None}, "data.missing must be a str"),
    ],
)
def test_what_to_json_cannot_have_written_is_refused(change: dict[str, Any], message: str) -> None:
    data = {**json.loads(films_by_segment().to_json()), **change}
    with pytest.raises((ValueError, TypeError), match=message):
        pb.Features.from_dict(data)
    with pytest.raises((ValueError, TypeError), match=message):
        pb.Features.from_json(json.dumps(data))


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, None])
def test_what_is_no_json_is_refused(text: Any) -> None:
    with pytest.raises(ValueError, match="text must be JSON that to_json wrote"):
        pb.Features.from_json(text)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protected": ["contry"]}, "protected must name sources, got 'contry': did you mean 'cou"),
        ({"interactions": [("genre",)]}, "interactions must be pairs"),
        ({"numeric": "length"}, "numeric must list columns"),
        ({"numeric": ["lenght"]}, "table must have a column 'lenght', it is missing: did you mean"),
        ({"numeric": ["genre"]}, "must hold numbers in column 'genre', got 'drama' in row 0"),
        ({"numeric": ["length", "genre"]}, "must hold numbers in column 'genre'"),
        ({"unseen": "ignore"}, "unseen must be one of 'other', 'error'"),
    ],
)
def test_what_cannot_be_declared_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        declared(**changes).fit(FILMS)


def test_it_makes_what_a_column_transformer_makes() -> None:
    other = ColumnTransformer(
        [("n", StandardScaler(), ["length"]), ("c", OneHotEncoder(), ["genre", "country"])]
    )
    ours = declared(constant=False, unseen="error").fit_transform(FILMS)
    np.testing.assert_allclose(ours, other.fit_transform(FILMS), atol=1e-14)
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 700))).rename(columns=str)
    numbers = pb.Features(numeric=[*wide.columns], constant=False)
    scaled = StandardScaler().fit_transform(wide)
    np.testing.assert_allclose(numbers.fit_transform(wide), scaled, atol=1e-12)


def test_many_numbers_are_what_they_are_alone() -> None:
    rng, names = np.random.default_rng(0), [f"b{j}" for j in range(20)]
    table = pd.DataFrame({"a": rng.normal(size=50), "genre": rng.choice(["x", "y"], 50)})
    table[names] = rng.normal(3, 2, size=(50, 20))
    table["b3"], table["country"] = table["b3"].round().astype(int), rng.choice(["x", "y"], 50)
    features = pb.Features().fit(table)
    for same in (table, pl.from_pandas(table), table.to_dict("records")):
        assert pb.Features().fit(same).to_json() == features.to_json()
        for name in ("a", *names):
            alone = pb.Features(numeric=[name]).fit(table)
            assert alone.to_dict()["sources"][0] in features.to_dict()["sources"]
            assert (features.frame(same)[name] == alone.transform(table)[:, 1]).all()
    gaps = table.assign(b7=[np.nan, *table["b7"][1:]])
    with pytest.raises(ValueError, match="column 'b7' lacks 1"):
        pb.Features(missing="error").fit(table).transform(gaps)
    with pytest.raises(ValueError, match="column 'b7' lacks 1"):
        pb.Features(missing="error").fit(gaps)
    filled = pb.Features(missing="mean").fit(table).frame(gaps)
    assert filled["b7"][0] == 0.0
    assert filled.drop(columns="b7").equals(features.frame(table).drop(columns="b7"))
    with pytest.raises(TypeError, match="numbers in column 'b9'"):
        features.transform(pl.from_pandas(table.assign(b9=pd.Timestamp("2026-01-01"))))


def test_it_stands_in_a_pipeline() -> None:
    model = make_pipeline(declared(), Ridge(alpha=1.0)).fit(FILMS, [1.0, 2.0, 3.0, 4.0])
    assert model.predict(FILMS).shape == (4,)
    assert list(model[:-1].get_feature_names_out())[:2] == ["constant", "length"]


class Checked(pb.Features, BaseEstimator):  # type: ignore[misc]
    """The checks warn of what is no BaseEstimator; the library does without scikit-learn."""


@parametrize_with_checks([Checked()])  # type: ignore[untyped-decorator]
def test_scikit_learn_takes_it_for_a_transformer(estimator: Any, check: Any) -> None:
    check(estimator)


def test_a_context_may_be_declared_by_its_name_alone() -> None:
    films = pd.DataFrame(
        {"length": [90, 110, 100], "genre": ["a", "b", "a"], "segment": ["x", "y", "x"]}
    )
    pairs: Any = {"interactions": [("segment", "genre")], "context": ["segment"]}
    short = pb.Features(numeric=["length"], categorical=["genre"], **pairs).fit(films)
    long = pb.Features(numeric=["length"], categorical=["genre", "segment"], **pairs).fit(films)
    assert short.to_json() == long.to_json()
    items = films.drop(columns="segment")
    decision = pb.Decider(features=short, half_life="60d").ask(items, context={"segment": "y"})
    assert decision.label in films.index
    with pytest.raises(ValueError, match="must have a column 'segment', of which context has only"):
        pb.Features(numeric=["length"], context=["segment"]).fit(items)
    with pytest.raises(ValueError, match=r"nothing is declared of \['segment'\]"):
        pb.Features(numeric={"length": (1.0, 2.0)}, context=["segment"]).fit()


@pytest.mark.parametrize(
    ("declared", "table"),
    [
        ({"numeric": ["constant"]}, {"constant": [1.0, 2.0]}),
        ({"numeric": ["g=x"], "categorical": ["g"]}, {"g=x": [1.0, 2.0], "g": ["x", "y"]}),
        ({"categorical": {"g": [1, "1"]}}, {"g": [1, "1"]}),
    ],
)
def test_names_that_clash_are_refused_when_they_are_made(
    declared: dict[str, Any], table: dict[str, list[Any]]
) -> None:
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    with pytest.raises(ValueError, match=r"must have distinct names, got '.*' more than once"):
        pb.Features(**declared).fit(rows)
