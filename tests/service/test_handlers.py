"""What each request does, and what it says when it is refused."""

import io
import json
import logging
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import projbandits as pb
from projbandits.service import catalogues, item_files, registry
from projbandits.service.registry import Hub
from projbandits.service.schemas import Expiry, Make
from tests.messy import films as films_with_gaps
from tests.service.conftest import FILMS, MAKE, Service

pytestmark = pytest.mark.filterwarnings("ignore:the arms offered so far:UserWarning")


def test_a_decider_is_made_once_and_the_same_again_is_harmless(fresh: Service) -> None:
    assert fresh.client.put(fresh.path, json=MAKE).status_code == 201
    assert fresh.client.put(fresh.path, json=MAKE).status_code == 200
    found = fresh.ok("GET")
    assert found["columns"] == MAKE["columns"]
    assert found["protected"] == ["age"]
    assert found["strategy"] == "GENTRY()"
    listed = fresh.client.get("/v1/deciders").json()["deciders"]
    assert fresh.name in [each["name"] for each in listed]
    same = {**MAKE, "strategy": "GENTRY", "seed": None}
    assert fresh.client.put(fresh.path, json=same).status_code == 200
    fresh.ask(items=[ROW])
    for field, value in {
        "strategy": "CURSE()",
        "columns": ["length", "drama", "age"],
        "protected": [],
        "half_life": "3d",
        "seed": 1,
    }.items():
        said = fresh.problem(409, "PUT", json={**MAKE, field: value})
        assert said.startswith(f"{field} must be ")
        assert repr(value) in said


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ({"strategy": "GENTRY(alpha=-1)"}, 422, "alpha must be positive, got -1"),
        ({"strategy": "__import__('os').system('true')"}, 422, "strategy must be a name"),
        ({"strategy": "Nobody()"}, 422, "strategy must be one of"),
        ({"protected": ["aeg"]}, 422, "did you mean 'age'"),
        ({"columns": None}, 422, "the body must have columns or features"),
        ({"columns": "drama"}, 422, "columns"),
        ({"colums": ["a"]}, 422, "colums"),
        ({"expire": {"after": "soon"}}, 422, "expire: after must be seconds"),
        ({"expire": {"after": "1h", "outcome": 1e300}}, 422, "expire: outcome must be at most"),
    ],
)
def test_a_decider_that_cannot_be_made_is_refused_by_field(
    fresh: Service, change: dict[str, Any], status: int, said: str
) -> None:
    assert said in fresh.problem(status, "PUT", json={**MAKE, **change})
    assert fresh.name not in fresh.hub.names()


def test_names_of_deciders_are_plain(fresh: Service) -> None:
    names = ("a b", "<script>", "'; drop table x --", "a" * 101, ".")
    for name in names:
        assert fresh.client.put(f"/v1/deciders/{name}", json=MAKE).status_code in (404, 405, 422)
    assert not {*names} & {*fresh.hub.names()}


def test_ask_and_tell_do_what_a_decider_of_the_same_seed_does(films: Service) -> None:
    table = pd.DataFrame(FILMS)[MAKE["columns"]]
    U = pb.Subspace.without("age", columns=table.columns)
    twin = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    for i in range(20):
        answer = films.ok("POST", "/ask", json={"items": ["a", "b", "c"], "request_id": f"r{i}"})
        decision = twin.ask(table)
        assert answer["id"] == f"r{i}"
        assert answer["index"] == decision.index
        assert answer["label"] == FILMS[answer["index"]]["label"]
        assert answer["propensity"] == decision.propensity
        assert answer["estimate"] == decision.estimate
        outcome = float(decision.arm @ [1.0, -1.0, 2.0])
        assert films.ok("POST", "/tell", json={"id": f"r{i}", "outcome": outcome}) == {"told": 1}
        twin.tell(decision.id, outcome)
    believed = films.ok("GET", "/belief")
    assert believed["observations"] == 20
    theta = [each["estimate"] for each in believed["coefficients"]]
    np.testing.assert_allclose(theta, twin.ridge.theta, rtol=1e-9)
    assert [each["protected"] for each in believed["coefficients"]] == [False, False, True]


def test_decisions_whose_outcome_is_open_count_and_unknown_errors_are_null(fresh: Service) -> None:
    fresh.ok("PUT", json={**MAKE, "strategy": "EIIDS()"})
    fresh.ok("PUT", "/items", json=FILMS)
    table = pd.DataFrame(FILMS)[MAKE["columns"]]
    twin = pb.Decider(subspace=pb.Subspace.without("age", columns=table.columns), seed=0)
    shown = set[str]()
    for i in range(20):
        answer, decision = fresh.ask(items=["a", "b", "c"], request_id=f"r{i}"), twin.ask(table)
        shown.add(answer["label"])
        assert (answer["index"], answer["propensity"]) == (decision.index, decision.propensity)
        assert answer["standard_error"] is None
        if i == 9:
            for id, each in zip((f"r{j}" for j in range(5)), twin.pending[:5], strict=True):
                fresh.tell(id, 0.0)
                twin.tell(each, 0.0)
    assert shown == {"a", "b", "c"}
    errors = [each["standard_error"] for each in fresh.ok("GET", "/belief")["coefficients"]]
    assert errors == [None] * 3


def test_the_same_id_has_the_same_answer(films: Service) -> None:
    body = {"items": ["a", "b", "c"], "request_id": "request-17", "meta": {"page": "home"}}
    assert films.ok("POST", "/ask", json=body) == films.ok("POST", "/ask", json=body)
    assert films.ok("GET")["decisions"] == 1


def test_several_items_are_chosen_one_after_another(films: Service) -> None:
    body = {"filter": {}, "count": 3, "request_id": "page"}
    made = films.ok("POST", "/ask", json=body)["decisions"]
    assert [each["id"] for each in made] == ["page/0", "page/1", "page/2"]
    assert {each["label"] for each in made} == {"a", "b", "c"}
    assert films.ok("GET", "/decisions/page/2")["propensity"] == 1.0


def test_rows_may_be_sent_with_the_request(films: Service) -> None:
    row = {"drama": 0.5, "length": 0.5, "age": 0.5}
    assert films.ok("POST", "/ask", json={"items": [row]})["label"] is None
    labelled = {"items": [{"label": "mine", "age": 1, "length": 0, "drama": 1}]}
    assert films.ok("POST", "/ask", json=labelled)["label"] == "mine"
    numbered = {"items": [{"label": 7, "age": 1, "length": 0, "drama": 1}], "context": {}}
    assert films.ok("POST", "/ask", json=numbered)["label"] == 7


@pytest.mark.parametrize(
    ("wanted", "labels"),
    [
        ({"genre": "drama"}, {"a", "c"}),
        ({"genre": ["comedy", "none"]}, {"b"}),
        ({"length": {"min": 0.5}}, {"a", "b"}),
        ({"length": {"max": 0.5}, "genre": "drama"}, {"a", "c"}),
        ({"length": {"min": 0.2, "max": 0.6}}, {"a"}),
        ({"label": ["c"]}, {"c"}),
        ({"genre": {"not": "drama"}}, {"b"}),
        ({"label": {"not": ["a", "b"]}, "length": {"max": 0.9}}, {"c"}),
        ({"length": {"min": 0.2, "not": 0.9}}, {"a"}),
    ],
)
def test_a_filter_says_what_is_on_offer(
    films: Service, wanted: dict[str, Any], labels: set[str]
) -> None:
    body = {"filter": wanted, "count": len(labels)}
    made = films.ok("POST", "/ask", json=body)
    assert {each["label"] for each in made.get("decisions", [made])} == labels


ROW = {"drama": 1, "length": 1, "age": 1}


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"items": ["nobody"]}, 404, "items must be in the catalogue, got 'nobody' in row 0"),
        (
            {"items": ["a", "c", "a"]},
            422,
            "items must have distinct labels, got 'a' in rows 0 and 2",
        ),
        ({"items": ["a", {"drama": 1}]}, 422, "items must be labels, or all of them rows"),
        ({"items": []}, 422, "items must hold at least one item"),
        ({}, 422, "the body must have items or filter or asks, got none of them"),
        ({"items": ["a"], "filter": {}}, 422, "got items and filter"),
        ({"filter": {"gnre": "drama"}}, 422, "did you mean 'genre'"),
        ({"filter": {"genre": "none"}}, 422, "filter must let an item through"),
        ({"filter": {"genre": {"more": 1}}}, 422, "filter: 'genre' must be a value"),
        ({"filter": {"genre": {"min": 1}}}, 422, "'genre' cannot be compared"),
        ({"filter": {"genre": [[1]]}}, 422, "must list plain values"),
        ({"filter": {"length": {"min": [0, 0, 9]}}}, 422, "a number or a text as 'min'"),
        ({"filter": {"length": {"max": None}}}, 422, "a number or a text as 'max', got None"),
        ({"filter": {"length": {"max": 10**400}}}, 422, "filter: 'length' cannot be compared"),
        ({"items": [{}]}, 422, "items must have the columns ['drama', 'length', 'age']"),
        ({"items": [{**FILMS[0]}]}, 422, "got ['genre'] beside them"),
        ({"items": [{"drama": 10**400, "length": 1, "age": 1}]}, 422, "column 'drama', got 100"),
        ({"items": [ROW | {"label": ""}]}, 422, "labels of 1 to 200 characters, got '' in row 0"),
        ({"items": [ROW | {"label": "x" * 201}]}, 422, "labels of 1 to 200 characters"),
        (
            {"items": [ROW | {"label": "x"}, ROW | {"label": "x"}]},
            422,
            "items must have distinct labels, got 'x' in rows 0 and 1",
        ),
        ({"items": ["a"], "context": {"x": 1}}, 422, '{"features": {"context": ["segment"], ...}}'),
        ({"items": ["a"], "context": {"x": "x" * 200_000}}, 413, "context must have at most"),
        ({"items": [{"drama": 1.0}]}, 422, "items must have the columns ['length', 'age']"),
        (
            {"items": [{"drama": 1, "length": 1, "age": 1}, {"drama": 1, "length": 1}]},
            422,
            "items must be finite, got nan in row 1, column 'age'",
        ),
        (
            {"items": [{"drama": 1e308, "length": 1, "age": 1}]},
            422,
            "got 1e+308 in row 0, column 'drama': rescale",
        ),
        ({"items": [{"drama": "x", "length": 1, "age": 1}]}, 422, "'drama'"),
        ({"items": [{"label": "w", "drama": 1, "length": 1, "age": 1}, {}]}, 422, "in row 1"),
        ({"items": ["a"], "count": 2}, 422, "count must be at most the number of arms on offer"),
        ({"items": ["a"], "count": 0}, 422, "count"),
        ({"items": ["a"], "request_id": ""}, 422, "request_id"),
        ({"items": ["a"], "request_id": "x" * 201}, 422, "request_id"),
        ({"items": ["a"], "meta": "x" * 20_000}, 413, "meta must have at most"),
        ({"items": "a"}, 422, "items"),
        ({"itmes": ["a"]}, 422, "itmes"),
    ],
)
def test_an_ask_that_cannot_be_answered_says_which_field_and_leaves_nothing(
    films: Service, body: dict[str, Any], status: int, said: str
) -> None:
    assert said in films.problem(status, "POST", "/ask", json=body)
    assert films.hub.decider(films.name).steps == 0


def test_outcomes_are_told_all_or_none(films: Service) -> None:
    ids = [films.ok("POST", "/ask", json={"filter": {}})["id"] for _ in range(3)]
    wrong = [{"id": ids[0], "outcome": 1.0}, {"id": "nobody", "outcome": 1.0}]
    assert "'nobody' is unknown" in films.problem(404, "POST", "/tell", json={"outcomes": wrong})
    assert films.ok("GET", "/belief")["observations"] == 0
    right = [{"id": ids[0], "outcome": 1.0}, [ids[1], True]]
    assert films.ok("POST", "/tell", json={"outcomes": right}) == {"told": 2}
    assert films.ok("GET", "/belief")["observations"] == 2
    again = {"id": ids[0], "outcome": 0.5}
    assert "was told 1.0 before" in films.problem(409, "POST", "/tell", json=again)
    films.ok("POST", "/amend", json=again)
    assert films.ok("GET", f"/decisions/{ids[0]}")["outcome"] == 0.5
    films.ok("POST", "/withdraw", json={"id": ids[0]})
    found = films.ok("GET", f"/decisions/{ids[0]}")
    assert (found["outcome"], found["withdrawn"]) == (None, "withdrawn")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"id": "q", "outcome": "x"}, "the outcome of 'q' must be a number"),
        ({"id": "q"}, "the body must have id and outcome or outcomes, got id"),
        ({"outcome": 1.0}, "the body must have id and outcome or outcomes, got outcome"),
        ({"outcomes": [["q"]]}, "in row 0"),
        ({"outcomes": [["q", 1.0], {"id": 3, "outcome": 1}]}, "in row 1"),
        ({"id": "q", "outcome": 1e300}, "the outcome of 'q'"),
    ],
)
def test_an_outcome_that_is_none_says_which(films: Service, body: Any, said: str) -> None:
    films.ok("POST", "/ask", json={"filter": {}, "request_id": "q"})
    assert said in films.problem(422, "POST", "/tell", json=body)


HALF = b'{"id": "\\ud800", "outcome": 1}'


def test_bodies_that_are_no_json_are_named_as_such(films: Service) -> None:
    for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"id": "q", "outcome": }', HALF):
        for path in ("ask", "tell"):
            assert "JSON" in films.problem(400, "POST", f"/{path}", content=content)
    for text in ("NaN", "Infinity", "1e999"):
        body = f'{{"id": "q", "outcome": {text}}}'.encode()
        assert "the outcome of 'q'" in films.problem(422, "POST", "/tell", content=body)


NASTY = [
    "<script>alert(1)</script>",
    "'; drop table projbandits_events; --",
    "\u202e\U0001f3ac\n\t",
    "%00",
]


@pytest.mark.parametrize("text", NASTY)
def test_texts_of_users_come_back_as_they_were(films: Service, text: str) -> None:
    rows = [{**FILMS[0], "label": text}, FILMS[1]]
    films.ok("PUT", "/items", json={"items": rows})
    body = {"items": [text], "request_id": text, "meta": {text: text}}
    assert films.ok("POST", "/ask", json=body)["label"] == text
    films.ok("POST", "/tell", json={"id": text, "outcome": 1.0})
    assert films.hub.decider(films.name).history().find(text).told
    found = films.ok("POST", "/ask", json=body)
    assert found["id"] == text
    assert films.ok("GET", "/belief")["observations"] == 1


def frames() -> list[tuple[str, bytes]]:
    table = pd.DataFrame(FILMS)
    parquet, stream, file = io.BytesIO(), io.BytesIO(), io.BytesIO()
    table.to_parquet(parquet)
    arrow = pa.Table.from_pandas(table)
    for sink, made in ((stream, pa.ipc.new_stream), (file, pa.ipc.new_file)):
        with made(sink, arrow.schema) as writer:
            writer.write_table(arrow)
    return [
        ("text/csv", table.to_csv(index=False).encode()),
        ("application/vnd.apache.parquet", parquet.getvalue()),
        ("application/vnd.apache.arrow.stream", stream.getvalue()),
        ("application/vnd.apache.arrow.file", file.getvalue()),
        ("application/json", table.to_json(orient="records").encode()),
    ]


@pytest.mark.parametrize(("kind", "content"), frames(), ids=lambda value: str(value)[-12:])
def test_a_catalogue_comes_in_any_of_four_forms_and_is_seen_by_other_processes(
    fresh: Service, kind: str, content: bytes
) -> None:
    fresh.ok("PUT", json=MAKE)
    said = fresh.ok("PUT", "/items", content=content, headers={"content-type": kind})
    assert said["items"] == 3
    other = Hub(fresh.url).items(fresh.name)
    assert other.labels == ["a", "b", "c"]
    pd.testing.assert_frame_equal(other.table.reset_index(), pd.DataFrame(FILMS), check_dtype=False)
    bad = fresh.client.put(
        f"{fresh.path}/items", content=content[:-9], headers={"content-type": kind}
    )
    assert bad.status_code in (200, 400, 422)  # a shorter CSV is one


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "items must have at least one row"),
        ([{"drama": 1}], "items must have a column 'label'"),
        ([FILMS[0], FILMS[0]], "items must have distinct labels, got 'a' in rows 0 and 1"),
        ([{**FILMS[0], "label": ""}], "in row 0"),
        ([{**FILMS[0], "age": None}], "in row 0, column 'age'"),
        ([{"label": "x", "drama": 1, "length": 1}], "items must have the columns ['age']"),
        ([{**FILMS[0], "genre": {"a": 1}}], "in row 0, column 'genre'"),
        ([FILMS[0], {**FILMS[1], "genre": 3}], "one type of value per column"),
        ("x", "items must be a list of objects"),
        ([{**FILMS[0], "age": 10**400}], "in row 0, column 'age'"),
    ],
)
def test_a_catalogue_that_cannot_be_used_is_refused_by_row_and_the_old_one_stays(
    films: Service, rows: Any, said: str
) -> None:
    assert said in films.problem(422, "PUT", "/items", json=rows)
    assert films.hub.items(films.name).labels == ["a", "b", "c"]


def nested() -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"label": ["a"], "drama": [{"x": 1}]}), sink)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        ("text/csv", "label,genre\na,Komödie\n".encode("latin-1"), "in UTF-8, got other bytes in"),
        ("text/csv", b"label,drama\na\n", "items cannot be read as csv"),
        ("application/vnd.apache.parquet", b"PAR1", "items cannot be read as parquet: it is no"),
        ("application/vnd.apache.parquet", nested(), "not column 'drama'"),
        ("application/vnd.apache.arrow.stream", b"x", "items cannot be read as arrow"),
    ],
)
def test_a_file_that_is_no_catalogue_is_refused_by_what_is_wrong_with_it(
    films: Service, kind: str, content: bytes, said: str
) -> None:
    headers = {"content-type": kind}
    assert said in films.problem(422, "PUT", "/items", content=content, headers=headers)
    assert films.hub.items(films.name).labels == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_times_in_a_catalogue_are_texts_to_filters(films: Service, kind: str) -> None:
    times = ["2020-01-01", "2021-06-01", "2022-01-01"]
    table = pd.DataFrame(FILMS).assign(out=times)
    content, media = table.to_csv(index=False).encode(), "text/csv"
    if kind == "parquet":
        sink = io.BytesIO()
        table.assign(out=pd.to_datetime(times).date).to_parquet(sink)
        content, media = sink.getvalue(), "application/vnd.apache.parquet"
    films.ok("PUT", "/items", content=content, headers={"content-type": media})
    assert films.ask(filter={"out": "2021-06-01"})["label"] == "b"
    assert films.ask(filter={"out": {"min": "2021-12-31"}})["label"] == "c"


def test_a_catalogue_that_is_put_while_the_old_one_is_read_is_the_one_that_is_used(
    films: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = Hub(films.url), Hub(films.url)
    stored, new = item_files.stored, pd.DataFrame(FILMS[:1]).set_index("label")

    def slow(body: bytes) -> pd.DataFrame:
        monkeypatch.undo()
        other.put_items(films.name, new)
        mine.look(0.0)
        return stored(body)

    monkeypatch.setattr(item_files, "stored", slow)
    mine.items(films.name)
    assert mine.items(films.name).labels == ["a"]


def test_filters_are_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogues, "REMEMBERED_NUMBERS", 30)
    items = catalogues.Items(pd.DataFrame(FILMS).set_index("label"), MAKE["columns"])
    for most in np.linspace(1, 2, 9):
        items.where({"length": {"max": float(most)}})
    assert 0 < len(items._chosen) <= 2
    assert items._numbers <= 30
    wide = items.where({"label": ["a", *map(str, range(200))]})  # a filter takes memory too
    assert wide.labels == ["a"]
    assert items._numbers <= 30
    many = list[int]()
    items.where({}, check=many.append)  # before they are put together
    items.where({}, check=many.append)
    assert many == [3, 3]


def test_labels_may_be_in_a_column_of_another_name_and_of_numbers(films: Service) -> None:
    rows = [{"film": i, "drama": 1, "length": i, "age": 0} for i in range(3)]
    films.ok("PUT", "/items?label=film", json=rows)
    assert films.ok("POST", "/ask", json={"items": [2]})["label"] == "2"


RAW = {
    "features": {
        "numeric": ["length"],
        "categorical": {"genre": None, "segment": ["x", "y"]},
        "context": ["segment"],
        "interactions": [["segment", "genre"]],
        "protected": ["segment"],
    },
    "strategy": "GENTRY()",
    "half_life": "60d",
    "seed": 0,
}


def test_features_are_learnt_from_the_first_catalogue_and_context_comes_with_the_call(
    fresh: Service,
) -> None:
    fresh.ok("PUT", json=RAW)
    fresh.ok("PUT", json=RAW)
    assert fresh.ok("GET")["waiting"] == "for its catalogue"
    assert "waits for its catalogue" in fresh.problem(409, "POST", "/ask", json={"filter": {}})
    fresh.ok("PUT", json={**RAW, "seed": None})
    missing = [{"label": "a", "genre": "drama"}]
    assert "'length'" in fresh.problem(422, "PUT", "/items", json=missing)
    fresh.ok("PUT", "/items", json=FILMS)
    assert "genre=drama" in fresh.ok("GET")["columns"]
    made = fresh.ask(filter={"genre": "drama"}, context={"segment": "x"}, request_id="q")
    assert made["label"] in ("a", "c")
    found = fresh.ok("GET", "/decisions/q")
    assert found["context"] == {"segment": "x"}
    assert found["label"] == made["label"]
    body = {"filter": {}, "context": {"segmnt": "x"}}
    assert "segment" in fresh.problem(422, "POST", "/ask", json=body)
    decider = pb.Decider.open(fresh.url, fresh.name)
    assert decider.half_life is not None
    twin = pb.Decider.open(fresh.url, fresh.name).features
    assert twin is not None
    assert twin.subspace.dim == decider.subspace.dim < len(twin.names)


MESSY = films_with_gaps(80, seed=5).drop(columns="director").rename(columns={"title": "label"})


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "arrow"])
def test_a_catalogue_with_gaps_makes_the_same_features_in_any_form(
    fresh: Service, kind: str
) -> None:
    expected = pb.Features(protected=["colour"]).fit(MESSY.drop(columns="label"))
    assert {"genre=missing", "length=missing", "released=missing"} <= {*expected.names}
    sink = io.BytesIO()
    if kind == "parquet":
        MESSY.to_parquet(sink)
    elif kind == "arrow":
        table = pa.Table.from_pandas(MESSY)
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    content, media = {
        "csv": (MESSY.to_csv(index=False).encode(), "text/csv"),
        "json": (MESSY.to_json(orient="records").encode(), "application/json"),
        "parquet": (sink.getvalue(), "application/vnd.apache.parquet"),
        "arrow": (sink.getvalue(), "application/vnd.apache.arrow.stream"),
    }[kind]
    fresh.ok("PUT", json={"features": {"protected": ["colour"]}, "seed": 0})
    fresh.ok("PUT", "/items", content=content, headers={"content-type": media})
    decider = pb.Decider.open(fresh.url, fresh.name)
    assert decider.features is not None
    assert decider.features.to_json() == expected.to_json()
    vectors = expected.transform(MESSY)
    for row in (0, 1, 7):
        label = MESSY["label"][row]
        fresh.ask(items=[label], request_id=f"named {row}")
        sent = json.loads(MESSY.drop(columns="label").iloc[[row]].to_json(orient="records"))
        fresh.ask(items=sent, request_id=f"sent {row}")
        for id in (f"named {row}", f"sent {row}"):
            assert decider.history().find(id).arm.tobytes() == vectors[row].tobytes()


CONTEXT = {"segment": ["young", "old"], "hour": {"mean": 12, "scale": 6}}


def test_a_context_is_declared_by_its_levels_and_no_catalogue_has_it(fresh: Service) -> None:
    declared = {"numeric": ["length"], "categorical": {"genre": "learn"}, "context": CONTEXT}
    fresh.ok("PUT", json={"features": declared, "seed": 0})
    fresh.ok("PUT", "/items", json=FILMS)
    assert {"segment=young", "segment=old", "hour"} <= {*fresh.ok("GET")["columns"]}
    context = {"segment": "old", "hour": 18}
    made = fresh.ask(context=context, request_id="q")
    assert fresh.ok("GET", "/decisions/q")["context"] == context
    assert made["label"] in ("a", "b", "c")


def test_what_no_catalogue_can_make_good_is_refused_or_declared_anew(fresh: Service) -> None:
    wrong: dict[str, Any] = {"numeric": ["length"], "protected": ["lenth"]}
    said = fresh.problem(422, "PUT", json={"features": wrong})
    assert "protected must name sources, got 'lenth': did you mean 'length'" in said
    assert fresh.name not in fresh.hub.declared_names()
    # No catalogue has the viewer's segment: the error says how to declare it, and that is allowed.
    waiting = {"features": {"numeric": ["length"], "context": ["segment"]}, "seed": 0}
    fresh.ok("PUT", json=waiting)
    said = fresh.problem(422, "PUT", "/items", json=FILMS)
    assert """context={'segment': ["a", "b"]}""" in said
    better = {"numeric": ["length"], "context": {"segment": ["a", "b"]}}
    fresh.ok("PUT", json={"features": better})
    fresh.ok("PUT", "/items", json=FILMS)
    assert fresh.ask(context={"segment": "a"})["label"] in ("a", "b", "c")
    assert "features" in fresh.problem(409, "PUT", json=waiting)  # now it has learnt of items


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ({"numerc": ["a"]}, "did you mean 'numeric'"),
        ({"numeric": ["a"], "categorical": ["a"]}, "declared once, got 'a' more than once"),
        ({"numeric": ["a"], "context": {"b": []}}, "levels of 'b' must be some"),
        ({"numeric": ["a"], "interactions": [["a", "b"]]}, "interactions must name sources"),
        ({"numeric": ["a"], "missing": "drop"}, "missing must be one of"),
        ({"numeric": {"a": [0.0, 1.0]}, "interactions": 3}, "interactions must be pairs"),
        ({"format": 99}, "features of format"),
        ({"numeric": {"a": "x"}}, "'a'"),
    ],
)
def test_features_that_cannot_be_made_are_refused(
    fresh: Service, features: dict[str, Any], said: str
) -> None:
    assert said in fresh.problem(422, "PUT", json={"features": features})


def test_a_decision_is_explained(films: Service) -> None:
    meta = {"x": 1, "zero": "\0", "\0": None}
    films.ok("POST", "/ask", json={"filter": {}, "request_id": "q", "meta": meta})
    found = films.ok("GET", "/decisions/q")
    assert found["meta"] == meta
    assert "probability" in found["explanation"]["reason"]
    assert len(found["explanation"]["arms"]) == 3
    assert "'nobody' is unknown" in films.problem(404, "GET", "/decisions/nobody")


def test_the_audit_says_what_the_deciders_own_does(films: Service) -> None:
    assert "no decision among finitely many arms" in films.problem(422, "GET", "/audit")
    for i in range(10):
        films.ok("POST", "/ask", json={"filter": {}, "request_id": f"q{i}"})
        films.ok("POST", "/tell", json={"id": f"q{i}", "outcome": i / 10})
    found, own = films.ok("GET", "/audit"), films.hub.decider(films.name).audit()
    assert found["influence"] == own.influence
    assert found["verdict"] == own.verdict
    assert found["exposure"] == own.to_dict()["exposure"]
    page = films.client.get(f"{films.path}/audit.html")
    assert page.headers["content-type"].startswith("text/html")
    assert "<h1" in page.text


def test_the_log_is_the_file_that_export_writes(films: Service) -> None:
    for i in range(5):
        films.ask(request_id=f"q{i}")
        films.tell(f"q{i}", float(i))
    answer = films.client.get(f"{films.path}/log.parquet")
    table = pd.read_parquet(io.BytesIO(answer.content))
    own = films.hub.decider(films.name).log()
    assert table["id"].tolist() == own["id"].tolist()
    assert table.attrs == own.attrs
    assert table["outcome"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_overdue_decisions_are_settled_as_declared(fresh: Service) -> None:
    expire = {"after": 1e-6, "outcome": 0.0}
    fresh.ok("PUT", json={**MAKE, "expire": expire})
    fresh.ok("PUT", "/items", json=FILMS)
    fresh.ok("POST", "/ask", json={"filter": {}, "request_id": "q"})
    assert fresh.hub.expire()[fresh.name] == 1
    found = fresh.ok("GET", "/decisions/q")
    assert (found["outcome"], found["assumed"]) == (0.0, "expired")


def test_a_decider_that_cannot_be_settled_does_not_hold_up_the_others(
    fresh: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    names = [f"{fresh.name}-a", f"{fresh.name}-b"]
    for name in names:
        fresh.hub.make(name, Make(**MAKE, expire=Expiry(after=1e-6, outcome=None)))
    fresh.hub.decider(names[1]).ask([ROW], request_id="q")

    def damaged(*_: object) -> None:
        raise ValueError("it is damaged")

    monkeypatch.setattr(fresh.hub.decider(names[0]), "expire", damaged)
    monkeypatch.setattr(registry, "LOGGER", logging.getLogger("hub"))
    assert fresh.hub.expire()[names[1]] == 1
    assert f"{names[0]} is not settled: it is damaged" in caplog.text


def test_deciders_made_in_python_are_served(fresh: Service) -> None:
    U = pb.Subspace.coordinates([0], d=2)
    pb.Decider(pb.GENTRY(), subspace=U, store=fresh.url, name=fresh.name)
    body = {"items": [{"x": 1.0, "y": 0.0}, {"x": 0.0, "y": 1.0}]}
    assert fresh.ask(**body)["step"] == 1
    assert fresh.ok("GET")["columns"] == ["x", "y"]


def test_a_decider_that_is_deleted_is_kept_for_audits_unless_it_is_purged(films: Service) -> None:
    films.tell(films.ask(request_id="q")["id"], 1.0)
    other = Hub(films.url)
    films.ok("DELETE")
    for what, body in (
        ("/ask", {"filter": {}}),
        ("/tell", {"id": "q", "outcome": 1.0}),
        ("/learn", {"items": ["a"], "outcomes": [1.0]}),
    ):
        assert "was withdrawn" in films.problem(409, "POST", what, json=body)
    assert "was withdrawn" in films.problem(409, "PUT", "/items", json=FILMS)
    assert "was withdrawn" in films.problem(409, "PUT", json=MAKE)  # its name is taken
    assert films.ok("GET")["withdrawn"]
    assert films.ok("GET", "/audit")["verdict"]
    assert films.ok("GET", "/decisions/q")["outcome"] == 1.0
    other.look(0.0)
    assert other.withdrawn(films.name)
    films.ok("DELETE", "?purge=true")
    assert "there is no decider" in films.problem(404, "GET")
    assert "there is no decider" in films.problem(404, "DELETE")
    films.ok("PUT", json={**MAKE, "strategy": "CURSE()"})
    found = films.ok("GET")
    assert (found["strategy"], found["decisions"], found["items"]) == ("CURSE()", 0, 0)
    assert "purge must be bool" in films.problem(422, "DELETE", "?purge=maybe")


def test_another_process_notices_that_a_decider_is_new_under_its_old_name(films: Service) -> None:
    other = Hub(films.url)
    films.ask()
    assert other.decider(films.name).steps == 1
    films.ok("DELETE", "?purge=true")
    films.ok("PUT", json=MAKE)
    other.look(0.0)
    assert other.decider(films.name).steps == 0


def test_items_are_read_in_pages_and_changed_by_label(films: Service) -> None:
    assert films.ok("GET", "/items") == {"items": FILMS, "total": 3}
    assert films.ok("GET", "/items?offset=1&limit=1") == {"items": FILMS[1:2], "total": 3}
    assert "limit must be int >= 1" in films.problem(422, "GET", "/items?limit=0")
    new = {"label": "d", "drama": 0.5, "length": 0.5, "age": 0.5, "genre": "horror"}
    changed = films.ok(
        "PATCH", "/items", json={"items": [{"label": "a", "genre": "war"}, new], "remove": ["b"]}
    )
    assert changed["items"] == 3
    assert films.ok("GET", "/items")["items"] == [{**FILMS[0], "genre": "war"}, FILMS[2], new]
    assert films.ask(filter={"genre": "war"})["label"] == "a"
    before = films.ok("GET", "/items")
    for body, status, said in (
        ({"items": [{"label": "e"}]}, 422, "items must"),
        ({"items": [{"drama": 1.0}]}, 422, "items must have labels"),
        ({"remove": ["nobody"]}, 404, "got 'nobody'"),
        ({"remove": ["a", "c", "d"]}, 422, "at least one row"),
    ):
        assert said in films.problem(status, "PATCH", "/items", json=body)
        assert films.ok("GET", "/items") == before
    nobody = films._replace(name=f"{films.name}-none")
    nobody.ok("PUT", json=MAKE)
    assert "has no catalogue" in nobody.problem(404, "GET", "/items")


def test_changes_of_items_by_two_processes_are_both_kept(
    films: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other, stored = Hub(films.url), Hub(films.url), item_files.stored

    def slow(body: bytes) -> pd.DataFrame:
        monkeypatch.undo()
        other.patch_items(films.name, [{"label": "a", "genre": "war"}], [], 9)
        return stored(body)

    monkeypatch.setattr(item_files, "stored", slow)
    mine.patch_items(films.name, [{"label": "b", "genre": "horror"}], [], 9)
    genres = [row["genre"] for row in films.ok("GET", "/items")["items"]]
    assert genres == ["war", "horror", "drama"]


def test_history_is_learnt_from_once(films: Service) -> None:
    body = {"items": ["a", "b", "a"], "outcomes": [1, 0.0, True], "request_id": "past"}
    for _ in range(2):
        assert films.ok("POST", "/learn", json=body) == {"learnt": 3}
    assert films.ok("GET", "/belief")["observations"] == 3
    rows = [{key: row[key] for key in ("label", "drama", "length", "age")} for row in FILMS]
    films.ok("POST", "/learn", json={"items": rows, "outcomes": [0, 1, 0]})
    found = films.ok("GET")
    assert (found["observations"], found["decisions"]) == (6, 0)
    said = films.problem(422, "POST", "/learn", json={"items": ["a"], "outcomes": [1.0, 2.0]})
    assert "outcomes" in said
    said = films.problem(409, "POST", "/learn", json={**body, "outcomes": [1, 1, 1]})
    assert "'past'" in said
    assert films.ok("GET")["observations"] == 6


def test_history_comes_with_contexts(fresh: Service) -> None:
    fresh.ok("PUT", json=RAW)
    fresh.ok("PUT", "/items", json=FILMS)
    body = {"items": ["a", "b"], "outcomes": [1, 0]}
    fresh.ok("POST", "/learn", json={**body, "context": {"segment": "x"}})
    fresh.ok("POST", "/learn", json={**body, "context": [{"segment": "x"}, {"segment": "y"}]})
    assert fresh.ok("GET")["observations"] == 4
    assert "segment" in fresh.problem(422, "POST", "/learn", json=body)


def test_overdue_decisions_are_settled_at_once_by_request(films: Service) -> None:
    for id in ("p", "q"):
        films.ask(request_id=id)
    assert films.ok("POST", "/expire", json={"after": "1h"}) == {"expired": []}
    assert films.ok("POST", "/expire", json={"after": 1e-6, "outcome": 0}) == {
        "expired": ["p", "q"]
    }
    assert films.ok("GET", "/decisions/p")["assumed"] == "expired"
    assert "after" in films.problem(422, "POST", "/expire", json={"after": "soon"})


def test_asks_in_a_batch_have_each_its_answer_or_its_error(films: Service) -> None:
    asks = [
        {"items": ["a", "b"], "request_id": "one"},
        {"items": ["nobody"]},
        {"filter": {}, "count": 2, "request_id": "two"},
        {"items": ["a", "b"], "request_id": "one"},  # the same again
        {"filter": {"genre": "none"}},
        {"items": ["a"], "filter": {}},
    ]
    first, unknown, two, again, none, both = films.ok("POST", "/ask", json={"asks": asks})[
        "answers"
    ]
    assert first["id"] == "one"
    assert first == again
    assert (unknown["status"], unknown["kind"]) == (404, "KeyError")
    assert [each["id"] for each in two["decisions"]] == ["two/0", "two/1"]
    assert "filter must let an item through" in none["detail"]
    assert "must have items or filter" in both["detail"]
    assert films.ok("GET")["decisions"] == 3
    assert "got items and asks" in films.problem(
        422, "POST", "/ask", json={"items": ["a"], "asks": []}
    )
    assert "count" in films.problem(422, "POST", "/ask", json={"asks": [{"count": 0}]})


def test_a_decider_without_decisions_is_declared_anew(films: Service) -> None:
    assert films.hub.decider(films.name).steps == 0
    other = Hub(films.url)
    assert other.decider(films.name).columns == tuple(MAKE["columns"])
    new = {"columns": ["x", "y"], "protected": ["y"], "strategy": "CURSE()"}
    assert "did you mean" in films.problem(422, "PUT", json={**new, "protected": ["yy"]})
    assert films.ok("GET")["columns"] == MAKE["columns"]  # what is refused changes nothing
    films.ok("PUT", json=new)
    found = films.ok("GET")
    assert (found["columns"], found["strategy"], found["items"]) == (["x", "y"], "CURSE()", 0)
    other.look(0.0)
    assert other.decider(films.name).columns == ("x", "y")
    films.ok("PUT", json=RAW)
    assert films.ok("GET")["waiting"] == "for its catalogue"
    films.ok("PUT", json=MAKE)
    films.ok("POST", "/learn", json={"items": [ROW], "outcomes": [1.0]})
    assert films.problem(409, "PUT", json=new).startswith("columns must be ")


@pytest.mark.filterwarnings("ignore:column 'segment' has 1 level that fit did not:UserWarning")
def test_unknown_levels_of_a_context_are_warned_of(fresh: Service) -> None:
    fresh.ok("PUT", json=RAW)
    fresh.ok("PUT", "/items", json=FILMS)
    assert "warnings" not in fresh.ask(context={"segment": "x"})
    said = ["context: 'segment' has no level 'xx', and counts as another level: did you mean 'x'?"]
    assert fresh.ask(context={"segment": "xx"})["warnings"] == said
    assert fresh.ask(context={"segment": "xx"}, count=2)["warnings"] == said
    token = fresh.client.headers["authorization"].removeprefix("Bearer ")
    with pb.connect(str(fresh.client.base_url), token) as connection:
        decider = connection.decider(fresh.name)
        for count in (None, 2):
            with pytest.warns(UserWarning, match="has no level 'xx'"):
                decider.ask({}, context={"segment": "xx"}, count=count)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_the_commands_of_the_page_on_serving_work_as_they_are_printed(
    fresh: Service, tmp_path: Path
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
    (block,) = re.findall(r"```sh\n(export T=.*?)```", page, re.DOTALL)
    token = fresh.client.headers["authorization"].removeprefix("Bearer ")
    commands = block.replace("pb_...", token).replace("deciders/films", f"deciders/{fresh.name}")
    commands = commands.replace("http://127.0.0.1:8000", str(fresh.client.base_url).rstrip("/"))
    bash = ["bash", "-ec", commands.replace("curl ", "curl --silent --fail ")]
    done = subprocess.run(bash, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith('{"told":1}')
    assert fresh.ok("GET", "/belief")["observations"] == 1
