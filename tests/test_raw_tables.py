"""Raw tables as they are: levels by the hundred, dates, and values that are missing."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import projbandits as pb
from projbandits.tables import read_csv
from tests import naive
from tests.messy import films

KINDS = {
    "title": "categorical", "director": "categorical", "genre": "categorical", "released": "date",
    "length": "numeric", "budget": "numeric", "colour": "categorical", "streams": "numeric",
}  # fmt: skip

quiet = pytest.mark.filterwarnings("ignore:column '(title|director)' has")


def plain(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows with None for what is missing."""
    return [
        {str(name): None if pd.isna(value) else value for name, value in row.items()}
        for row in table.to_dict("records")
    ]


@quiet
@pytest.mark.parametrize("max_levels", [3, 20, 100])
def test_every_column_is_what_a_loop_makes_of_it(max_levels: int) -> None:
    table = films(200, seed=1)
    features = pb.Features(max_levels=max_levels).fit(table)
    expected = naive.encoded(plain(table), KINDS, max_levels)
    assert sorted(features.names) == sorted(expected)
    frame = features.frame(table)
    for name, values in expected.items():
        np.testing.assert_allclose(frame[name], values, atol=1e-9, err_msg=name)


def test_a_catalogue_makes_a_sane_number_of_columns_and_says_so() -> None:
    table = films()
    with pytest.warns(UserWarning, match="column '(title|director)' has") as said:
        features = pb.Features().fit(table)
    title, director = sorted(str(warning.message) for warning in said)[::-1]
    assert title.startswith("column 'title' has 3,200 levels in 3,200 rows: none came twice")
    assert "arm_effects" in title
    assert director.startswith("column 'director' has 268 levels in 3,200 rows: the 100 most freq")
    assert "max_levels" in director
    assert {warning.filename for warning in said} == {__file__}
    assert len(features.names) < 130
    assert features.transform(table).shape == (3200, len(features.names))
    often = table["director"].value_counts()
    kept = [name[9:] for name in features.names if name.startswith("director=Director")]
    assert len(kept) == 100
    assert often[kept].min() >= often.drop(kept).max()


@pytest.mark.parametrize(
    ("levels", "rows", "said"),
    [(49, 490, False), (50, 500, True), (9, 12, False), (12, 24, False), (13, 24, True)],
)
def test_many_levels_are_named(levels: int, rows: int, said: bool) -> None:
    table = pd.DataFrame({"who": [f"w{i % levels}" for i in range(rows)]})
    with pytest.MonkeyPatch.context() as patch:
        spoken = list[str]()
        patch.setattr("warnings.warn", lambda message, *_, **__: spoken.append(str(message)))
        features = pb.Features().fit(table)
    assert len(features.names) == levels + 2
    assert [text[:12] for text in spoken] == ["column 'who'"] * said


def test_too_many_levels_without_a_column_for_the_rest_are_refused() -> None:
    table = pd.DataFrame({"who": [f"w{i % 60}" for i in range(600)]})
    strict = pb.Features(unseen="error", max_levels=59)
    with pytest.raises(ValueError, match=r"'who' must have at most max_levels=59 .* got 60: leave"):
        strict.fit(table)
    with pytest.raises(ValueError, match="max_levels must be at least 1"):
        pb.Features(max_levels=0).fit(table)


@quiet
def test_folded_levels_are_other_and_not_said_again() -> None:
    table = films(300, seed=2)
    features = pb.Features(categorical=["title", "director"], max_levels=5).fit(table)
    again = pb.Features.from_json(features.to_json())
    for each in (features, again):
        made = each.frame(table.assign(director="Nobody"))  # a warning would be an error here
        assert made["director=other"].eq(1.0).all()
        assert not [name for name in each.names if name.startswith("title")]
    assert again.to_json() == features.to_json()


def test_a_great_many_features_are_named() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 40, size=(900, 2)), columns=["a", "b"]).astype(str)
    with pytest.warns(UserWarning, match=r"make 1,764 features, 1,681 of them of 'a:b'"):
        pb.Features(categorical=["a", "b"], interactions=[("a", "b")]).fit(table)


DAYS = ["2024-01-31", "2025-02-28", "1969-12-31", "2026-11-18"]


@pytest.mark.parametrize(
    "column",
    [
        DAYS,
        [date.fromisoformat(day) for day in DAYS],
        [datetime.fromisoformat(day) for day in DAYS],
        [f"{day}T01:00:00+01:00" for day in DAYS],
        [f"{day} 00:00:00.000000000Z" for day in DAYS],
        [datetime.fromisoformat(day).replace(tzinfo=UTC) for day in DAYS],
        np.array(DAYS, dtype="datetime64[D]"),
        pd.to_datetime(pd.Series(DAYS)),
        pd.to_datetime(pd.Series(DAYS)).dt.tz_localize("UTC"),
        pd.to_datetime(pd.Series(DAYS)).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
    ],
    ids=lambda column: str(getattr(column, "dtype", column[0] if len(column) else "")),
)
def test_dates_are_ages_in_days(column: Any) -> None:
    ages = np.array([(date(2026, 11, 18) - date.fromisoformat(day)).days for day in DAYS])
    features = pb.Features().fit({"out": column})
    assert features.names == ("constant", "age(out)")
    assert features.to_dict()["sources"][0]["reference"] == "2026-11-18"
    scaled = (ages - ages.mean()) / ages.std()
    np.testing.assert_allclose(features.transform({"out": column})[:, 1], scaled, atol=1e-12)
    np.testing.assert_allclose(features.units, [1.0, ages.std()])


def test_dates_of_every_library_are_the_same() -> None:
    frame = pd.DataFrame({"out": pd.to_datetime(pd.Series(DAYS)), "x": [1.0, 2.0, 3.0, 5.0]})
    expected = pb.Features().fit(frame)
    for table in (
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
        pl.from_pandas(frame).with_columns(pl.col("out").cast(pl.Date)),
        frame.assign(out=DAYS).to_dict("records"),
    ):
        assert pb.Features().fit(table).to_json() == expected.to_json()
        assert (expected.transform(table) == expected.transform(frame)).all()


def test_the_reference_of_ages_may_be_given_and_is_kept() -> None:
    table = pd.DataFrame({"out": DAYS})
    newest = pb.Features(date=["out"]).fit(table)
    given = pb.Features(date={"out": "2020-01-01"}).fit(table)
    assert given.to_dict()["sources"][0]["reference"] == "2020-01-01"
    np.testing.assert_allclose(given.transform(table), newest.transform(table), atol=1e-12)
    mean = given.to_dict()["sources"][0]["mean"] - newest.to_dict()["sources"][0]["mean"]
    assert mean == (date(2020, 1, 1) - date(2026, 11, 18)).days
    whole = {"reference": "2026-01-31", "mean": 0.0, "scale": 10.0}
    alone = pb.Features(date={"out": whole}).fit()
    assert alone.transform([{"out": "2026-01-11"}]).tolist() == [[1.0, 2.0]]
    assert pb.Features.from_json(alone.to_json()).to_json() == alone.to_json()
    for wrong in ("soon", "", 3):
        with pytest.raises(ValueError, match="the reference of 'out' must be a date such as"):
            pb.Features(date={"out": wrong}).fit(table)
    with pytest.raises(
        TypeError, match=r"must hold dates in column 'out', got '31\.1\.2026' in row 1"
    ):
        newest.transform([{"out": "2026-01-31"}, {"out": "31.1.2026"}])


def test_texts_that_are_not_all_dates_are_a_category() -> None:
    names = pb.Features().fit({"out": ["2026-01-31", "2026-02-31", "2026-01-31"]}).names
    assert names == ("constant", "out=2026-01-31", "out=2026-02-31", "out=other")
    assert pb.Features(categorical=["out"]).fit({"out": DAYS}).names[1] == "out=1969-12-31"


GAPS = pd.DataFrame(
    {
        "length": [90.0, None, 100.0, 110.0],
        "genre": ["drama", "news", None, "drama"],
        "out": ["2026-01-01", "2026-01-03", "2026-01-05", None],
    }
)


def test_missing_values_have_columns_of_their_own() -> None:
    features = pb.Features(interactions=[("length", "genre")], protected=["length"], constant=False)
    with pytest.raises(ValueError, match="protected must name sources"):
        pb.Features(protected=["lenth"]).fit(GAPS)
    made = features.fit(GAPS).frame(GAPS)
    assert made["length"].tolist() == pytest.approx([-np.sqrt(1.5), 0.0, 0.0, np.sqrt(1.5)])
    assert made["length=missing"].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert made["genre=missing"].tolist() == [0.0, 0.0, 1.0, 0.0]
    assert made["genre=other"].tolist() == [0.0] * 4
    assert made["out=missing"].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert made["length=missing:genre=news"].tolist() == [0.0, 1.0, 0.0, 0.0]
    # That a protected value is missing tells of it.
    kept = features.subspace.matrix.diagonal() == 1
    shown = [name for name, keep in zip(features.names, kept, strict=True) if keep]
    assert not [name for name in shown if "length" in name]
    assert "genre=missing" in shown
    units = dict(zip(features.names, features.units, strict=True))
    assert units["length"] == pytest.approx(np.std([90.0, 100.0, 110.0]))
    assert units["length=missing"] == units["out=missing"] == 1.0
    again = pb.Features.from_json(features.to_json())
    assert again.frame(GAPS).equals(made)
    assert (again.subspace.matrix == features.subspace.matrix).all()


def test_where_fit_saw_no_missing_value_one_is_said_once() -> None:
    whole = GAPS.fillna({"length": 95.0, "genre": "news", "out": "2026-01-07"})
    features = pb.Features().fit(whole)
    assert not [name for name in features.names if "missing" in name]
    with pytest.warns(UserWarning, match="lacks values") as said:
        made = features.frame(GAPS)
    assert sorted(str(warning.message)[:26] for warning in said) == [
        "column 'genre' lacks value",
        "column 'length' lacks valu",
        "column 'out' lacks values,",
    ]
    assert made["length"][1] == made["age(out)"][3] == 0.0
    assert made["genre=other"][2] == 1.0
    features.frame(GAPS)  # a second warning would be an error here


def test_a_vector_may_be_missing_or_lack_a_number() -> None:
    rows = [[1.0, 2.0], [3.0, 1.0], [2.0, 5.0], [0.0, 1.0]]
    whole = pb.Features(embedding=["v"]).fit([{"v": row} for row in rows])
    gaps = [{"v": row} for row in [*rows, None]]
    features = pb.Features(embedding=["v"]).fit(gaps)
    assert features.names == ("constant", "v[0]", "v[1]", "v=missing")
    made = features.transform(gaps)
    np.testing.assert_allclose(made[:4, :3], whole.transform(gaps[:4]))
    assert made[4].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert features.transform([{"v": None}]).tolist() == [[1.0, 0.0, 0.0, 1.0]]
    block = pb.Features(embedding={"v": ["a", "b"]})
    table = pd.DataFrame([*rows, [7.0, np.nan]], columns=["a", "b"])
    assert block.fit(table).transform(table)[4, 2:].tolist() == [0.0, 1.0]


def doors(table: pd.DataFrame) -> dict[str, Any]:
    """A table as it comes from files and other libraries."""
    csv, sink = table.to_csv(index=False).encode(), io.BytesIO()
    table.to_parquet(sink)
    rows = json.loads(table.to_json(orient="records"))
    return {
        "frame": table,
        "csv": read_csv(csv),
        "csv by pandas": pd.read_csv(io.BytesIO(csv)),
        "csv with empty texts": pd.read_csv(
            io.BytesIO(csv), keep_default_na=False, na_values={"length": "", "budget": ""}
        ),
        "parquet": pd.read_parquet(io.BytesIO(sink.getvalue())),
        "arrow": pa.Table.from_pandas(table),
        "polars": pl.read_csv(io.BytesIO(csv)),
        "json": rows,
        "json frame": pd.DataFrame(rows),
    }


@quiet
@pytest.mark.parametrize("gap", [None, np.nan, pd.NA, ""])
def test_a_table_with_gaps_is_the_same_through_every_door(gap: Any) -> None:
    table = films(150, seed=3)
    given = table.copy()
    for column in ("genre", "released"):
        given[column] = given[column].astype(object).where(given[column].notna(), gap)
    expected = pb.Features(protected=["director"], max_levels=10).fit(table)
    assert "genre=missing" in expected.names
    assert "released=missing" in expected.names
    vectors = expected.transform(table)
    for door, read in {"given": given, **doors(table)}.items():
        features = pb.Features(protected=["director"], max_levels=10).fit(read)
        assert features.to_json() == expected.to_json(), door
        assert features.transform(read).tobytes() == vectors.tobytes(), door


def test_a_missing_entry_of_an_arrow_dictionary_is_missing() -> None:
    genres = ["drama", None, "comedy", "drama"]
    rows = [{"genre": genre} for genre in genres]
    expected = pb.Features().fit(rows)
    encoded = pa.table({"genre": pa.array(genres).dictionary_encode()})
    chunked = pa.concat_tables([encoded[:2], encoded[2:]])
    for table in (encoded, chunked):
        features = pb.Features().fit(table)
        assert features.names == expected.names
        assert features.transform(table).tolist() == expected.transform(rows).tolist()


def test_a_column_without_a_value_is_named_with_the_remedy() -> None:
    with pytest.raises(ValueError, match="column 'x' must have a value, all 2 are missing: drop"):
        pb.Features().fit(pd.DataFrame({"x": [None, None], "y": [1.0, 2.0]}))
    gaps = pd.DataFrame({"x": [5.0, None, 5.0], "y": [1.0, 2.0, 3.0]})
    with pytest.warns(UserWarning, match="row that has one and is left out, but for x=missing"):
        assert pb.Features().fit(gaps).names == ("constant", "x=missing", "y")


def test_words_for_nothing_are_texts_among_texts() -> None:
    read = read_csv(b"country,x\nNA,1\nnull,2\nNone,NA\n,4\n")
    assert read["country"].tolist()[:3] == ["NA", "null", "None"]
    assert read.isna().sum().to_dict() == {"country": 1, "x": 1}


def test_a_decider_takes_a_table_as_it_is() -> None:
    table = films(60, seed=4).drop(columns=["title", "director"])
    features = pb.Features(protected=["colour"]).fit(table)
    decider = pb.Decider(features=features, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(30):
        decision = decider.ask(table)
        decider.tell(decision, float(rng.normal()))
    decider.learn(table, rng.normal(size=60))
    found = decider.coefficients()
    assert {"length=missing", "age(released)", "genre=missing"} <= {*found.index}
    assert decider.audit().scores.found is False


SEGMENTS = {"segment": ["young", "old"], "hour": {"mean": 12.0, "scale": 6.0}}


def test_a_context_need_not_stand_in_the_table_of_items() -> None:
    pairs: Any = {"interactions": [("segment", "genre")], "protected": ["segment"]}
    items = GAPS[["length", "genre"]].fillna({"length": 1.0, "genre": "news"})
    features = pb.Features(context=SEGMENTS, **pairs).fit(items)
    apart = pb.Features(
        numeric={"hour": (12.0, 6.0), "length": None},
        categorical={"segment": ["young", "old"], "genre": "learn"},
        context=["segment", "hour"],
        **pairs,
    ).fit(items)
    assert sorted(features.names) == sorted(apart.names)
    who = {"segment": "old", "hour": 18}
    made = features.frame(items, who)
    assert made.equals(apart.frame(items, who)[[*made.columns]])
    assert made["hour"].tolist() == [1.0] * 4
    assert made["segment=old"].tolist() == [1.0] * 4
    again = pb.Features.from_json(features.to_json())
    assert again.frame(items, who).equals(made)
    decision = pb.Decider(features=features, seed=0).ask(items, context=who)
    assert decision.context == who


@pytest.mark.parametrize("learn", [["segment"], {"segment": None}, {"segment": "learn"}])
def test_a_context_is_learnt_where_only_its_name_is_given(learn: Any) -> None:
    items = GAPS[["length"]].fillna(1.0)
    shown = items.assign(segment=["old", "young", "old", "old"])
    features = pb.Features(context=learn).fit(shown)
    assert {"segment=old", "segment=young", "segment=other"} <= {*features.names}
    assert features.to_json() == pb.Features(context=["segment"]).fit(shown).to_json()
    with pytest.raises(
        ValueError, match=r"table must have a column 'segment'.*context=\{'segment'"
    ):
        pb.Features(context=learn).fit(items)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"numeric": ["a"], "protected": ["b"]}, "protected must name sources, got 'b'"),
        ({"categorical": ["a"], "interactions": [("a", "b")]}, "interactions must name sources"),
        ({"numeric": ["a"], "categorical": ["a"]}, "declared once, got 'a' more than once"),
        ({"numeric": {"a": None}, "context": {"a": ["x"]}}, "declared once, got 'a' more than"),
        ({"numeric": {"a": (0.0, -1.0)}}, "scale of 'a' must not be negative"),
        ({"context": {"a": []}}, "levels of 'a' must be some"),
        ({"context": {"a": "young"}}, "levels of 'a' must be a list, got 'young'"),
        ({"context": {"a": {"men": 1.0, "scale": 2.0}}}, "context must give mean and scale of 'a'"),
        (
            {"context": {"a": {"reference": "2026-01-31"}}},
            "context must give mean and scale of 'a'",
        ),
        ({"date": {"a": {"reference": "x", "mean": 0.0, "scale": 1.0}}}, "reference of 'a'"),
        ({"embedding": {"a": ["x"], "b": ["x"]}, "protected": ["a"]}, "belong to one source, got"),
        ({"numeric": ["x"], "embedding": {"b": ["x"]}, "protected": ["x"]}, "belong to one source"),
        ({"numeric": ["a"], "protected": ["a"], "constant": False}, "must leave a feature"),
        ({"max_levels": 0}, "max_levels must be at least 1"),
        ({"missing": "drop"}, "missing must be one of"),
        ({"context": "a"}, "context must list sources"),
    ],
)
def test_a_declaration_that_no_table_can_fit_is_refused_without_one(
    declared: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        pb.Features(**declared).check()


@pytest.mark.parametrize(
    ("declared", "complete"),
    [
        ({}, False),
        ({"numeric": ["a"]}, False),
        ({"numeric": {"a": (0.0, 1.0)}}, True),
        ({"numeric": {"a": (0.0, 1.0), "b": "learn"}}, False),
        ({"numeric": {"a": (0.0, 1.0)}, "context": {"b": ["x"]}}, True),
        ({"numeric": {"a": (0.0, 1.0)}, "context": ["b"]}, False),
        ({"context": {"b": ["x"]}}, False),
        ({"date": {"a": "2026-01-31"}}, False),
        ({"embedding": {"a": ["x", "y"]}}, False),
    ],
)
def test_a_declaration_says_whether_it_needs_a_table(declared: Any, complete: bool) -> None:
    features = pb.Features(**declared)
    assert features.check() is complete
    if complete:
        features.fit()
