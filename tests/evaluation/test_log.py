"""Logs of any origin: tables of every library, files, folders, the formats of others, ledgers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import projbandits as pb
from projbandits.evaluation import formats, ledger_log, sources
from tests.evaluation.tables import ARMS, U, log, other, table


def test_a_log_is_the_same_from_every_kind_of_table(tmp_path: Path) -> None:
    rows = table(90)
    rows.to_parquet(tmp_path / "log.parquet")
    rows.to_csv(tmp_path / "log.csv", index=False)
    folder = tmp_path / "parts"
    folder.mkdir()
    for i in range(3):
        part = pa.Table.from_pandas(rows[30 * i : 30 * i + 30], preserve_index=False)
        pq.write_table(part, folder / f"{i}.parquet", row_group_size=7)
    one = pb.replay(log(rows), other, subspace=U).estimates()
    catalogue = ARMS.reset_index(names="item")
    for source in (
        pl.from_pandas(rows),
        pa.Table.from_pandas(rows),
        {name: rows[name].to_numpy() for name in rows},
        tmp_path / "log.parquet",
        str(tmp_path / "log.csv"),
        folder,
    ):
        for arms in (ARMS, catalogue, pl.from_pandas(catalogue)):
            found = pb.replay(log(source, arms=arms), other, subspace=U).estimates()
            pd.testing.assert_frame_equal(found, one, rtol=1e-9)


def test_what_is_wrong_in_a_csv_file_is_named_by_row_and_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rows = tmp_path / "log.csv", table(90)
    lines = rows.to_csv(index=False).splitlines()

    def judged(changed: dict[int, str], times: int = 1) -> Any:
        body = [changed.get(i, lines[1 + i % 90]) for i in range(90 * times)]
        path.write_text("\n".join([lines[0], *body]) + "\n")
        return pb.replay(log(path), other, subspace=U)

    word = lines[6].replace(str(rows["click"][5]), "good")
    assert word != lines[6]
    with pytest.raises(TypeError, match=r"numbers, got 'good' in row 5, column 'click'"):
        judged({5: word})
    with pytest.raises(
        ValueError, match=r"must have 12 columns in each row, got 2 in row 7: 'a,b'"
    ):
        judged({7: "a,b"})
    # So late that the column was taken to hold numbers.
    monkeypatch.setattr(sources, "BLOCK_BYTES", 4096)
    late = 305
    with pytest.raises(ValueError, match=rf"got 'good' in row {late}, column 'click', which began"):
        judged({late: word}, 4)
    with pytest.raises(ValueError, match=rf"got 2 in row {late}: 'a,b'"):
        judged({late: "a,b"}, 4)


def test_workers_in_other_folders_find_the_file_or_say_that_they_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(90).to_parquet(tmp_path / "log.parquet")
    monkeypatch.chdir(tmp_path)
    some = log("log.parquet")
    monkeypatch.chdir("/")
    assert pb.replay(some, other, subspace=U).look.rows == 90
    (tmp_path / "log.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"that every worker can read, '.*' is not there"):
        pb.replay(some, other, subspace=U)


def test_missing_arms_and_times_are_refused() -> None:
    rows = table(90)
    rows.loc[4, "item"] = None
    with pytest.raises(ValueError, match=r"catalogue, got (None|nan) in row 4, column 'item'$"):
        pb.replay(log(rows), other, subspace=U)
    rows = table(90).assign(at=pd.date_range("2024-01-01", periods=90))
    rows.loc[6, "at"] = pd.NaT
    with pytest.raises(ValueError, match=r"a time in each row, got .* in row 6, column 'at'"):
        pb.replay(log(rows, time="at"), other, subspace=U)


def test_the_estimate_of_a_whole_log_is_the_ridge(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)) * [1.0, 1e5, 1e-5]
    r = X @ [1.0, 1e-5, 1e5] + rng.normal(size=500)
    rows = pa.table({**{name: X[:, j] for j, name in enumerate("abc")}, "r": r})
    pq.write_table(rows, tmp_path / "log.parquet", row_group_size=60)
    V = pb.Subspace.without("c", columns=["c", "b", "a"])
    found = pb.Log.from_table(tmp_path / "log.parquet", features=["a", "b", "c"], outcome="r").fit(
        V, penalty=1e-8
    )
    expected = pb.Ridge.prior(3, 1e-8).update_many(X, r)
    np.testing.assert_allclose(found.theta, expected.theta, rtol=1e-9)
    assert found.ridge.noise == pytest.approx(expected.noise, rel=1e-9)
    np.testing.assert_allclose(found.projected, [*found.theta[:2], 0.0])
    assert list(found.table().index) == ["a", "b", "c"]
    assert repr(found).startswith("Fit(500 rows, d=3")


def test_a_log_of_labels_is_fitted_as_its_rows() -> None:
    rows = table(300)
    X = ARMS.loc[rows["item"]].to_numpy()
    expected = pb.Ridge.prior(3, 2.0).update_many(X, rows["click"])
    found = log(rows).fit(penalty=2.0).ridge
    np.testing.assert_allclose(found.theta, expected.theta, rtol=1e-10)
    assert found.noise == pytest.approx(expected.noise, rel=1e-10)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (
            "item",
            "Z",
            r"an arm of the catalogue, got 'Z' in row 7, column 'item': did you",
        ),
        ("p", 0.0, r"propensities above 0 and at most 1, got 0\.0 in row 7, column 'p'"),
        ("p", 1.5, r"propensities above 0 and at most 1, got 1\.5 in row 7"),
        ("click", np.nan, r"finite numbers, got nan in row 7, column 'click'"),
        ("click", None, r"finite numbers, got nan in row 7, column 'click'"),
        ("click", "yes", r"numbers, got 'yes' in row 7, column 'click'"),
    ],
)
def test_what_is_wrong_in_a_row_is_named(column: str, value: Any, message: str) -> None:
    rows = table(20).astype({column: object})
    rows.loc[7, column] = value
    with pytest.raises((ValueError, TypeError), match=message):
        list(log(rows).chunks())


def test_a_decision_that_comes_twice_is_named() -> None:
    rows = table(20)
    assert len(list(log(rows, id="minute").chunks())) == 1
    rows.loc[9, "minute"] = 3
    with pytest.raises(ValueError, match="once, got 3 again in row 9, column 'minute'"):
        list(log(rows, id="minute").chunks())


def test_rows_are_counted_through_all_files(tmp_path: Path) -> None:
    rows = table(20)
    rows.loc[17, "p"] = -1.0
    for i in range(2):
        rows[10 * i : 10 * i + 10].to_parquet(tmp_path / f"{i}.parquet")
    with pytest.raises(ValueError, match=r"got -1\.0 in row 17, column 'p'"):
        log(tmp_path).fit()


def test_what_is_no_log_is_said(tmp_path: Path) -> None:
    rows = table(5)
    for changed, error, message in (
        (
            {"outcome": "clicks"},
            ValueError,
            "a column 'clicks', it is missing: did you mean",
        ),
        ({"action": None}, ValueError, "action must name the column"),
        ({"arms": None}, ValueError, "arms or features must be given"),
        ({"context": "page"}, ValueError, "a column 'page', it is missing"),
        ({"features": "a"}, TypeError, r"features must list columns, got 'a': pass \['a'\]"),
        (
            {"arms": ARMS.set_axis(list("uuwxyz"))},
            ValueError,
            "distinct labels, got 'u' in",
        ),
        ({"arms": ARMS.assign(a=np.inf)}, ValueError, "finite, got inf in row 0, column 'a'"),
    ):
        with pytest.raises(error, match=message):
            log(rows, **changed)
    with pytest.raises(FileNotFoundError, match=r"a file or a folder, .*nowhere.* is none"):
        log(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"must have Parquet files, the folder .* has none"):
        log(tmp_path)
    (tmp_path / "log.parquet").write_text("no")
    with pytest.raises(ValueError, match="log must be Parquet"):
        log(tmp_path / "log.parquet")
    with pytest.raises(ValueError, match="a probability for each of the 6 arms, got 2 in row 0"):
        list(log(rows, propensity=["p_u", "p_v"]).chunks())
    with pytest.raises(ValueError, match=r"subspace must have the columns \['b'\]"):
        log(rows).fit(pb.Subspace.without("race", columns=["a", "bb", "race"]))


def vowpal(path: Path, n: int = 200, **changed: Any) -> Path:
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(n):
        count = int(rng.integers(2, 5))
        p, order = rng.dirichlet(np.ones(count)), rng.permutation(count)
        x = rng.normal(size=count)
        chosen = int(rng.choice(count, p=p))
        line = {
            "_label_cost": -2 * x[order[chosen]],
            "_label_probability": p[chosen],
            "_label_Action": int(order[chosen]) + 1,
            "a": [int(i) + 1 for i in order],
            "p": p.tolist(),
            "c": {"user": {"age": 3}, "_multi": [{"f": {"x": v, "kind": "b"}} for v in x]},
        }
        lines.append(json.dumps({**line, **changed}))
    path.write_text("\n".join(lines))
    return path


def test_a_log_of_vowpal_wabbit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "LINES_AT_ONCE", 60)
    found = pb.Log.from_vw(vowpal(tmp_path / "log.json"))
    assert found.names == ("f.kind=b", "f.x")
    np.testing.assert_allclose(found.fit(penalty=1e-9).theta, [0.0, 2.0], atol=1e-6)

    def best(arms: Any, context: Any) -> Any:
        assert context == {"user.age": 3}
        return np.eye(len(arms))[arms[:, 1].argmax()]

    lines = [json.loads(line) for line in (tmp_path / "log.json").read_text().splitlines()]
    truth = np.mean([2 * max(a["f"]["x"] for a in line["c"]["_multi"]) for line in lines])
    judged = pb.replay(found, best, value="return")
    estimates = judged.estimates()
    for name in ("model", "linear weights, doubly robust", "arm by arm, doubly robust"):
        assert estimates.loc[name, "value"] == pytest.approx(truth, abs=1e-2), name
    assert judged.lack_of_fit().method == "none"  # no arm was chosen twice


def test_probabilities_of_six_digits_are_taken_to_add_up_to_one(tmp_path: Path) -> None:
    """Fifteen actions, as Vowpal Wabbit writes them: 0.813333 and fourteen times 0.013333."""
    p = [0.813333] + [0.013333] * 14
    assert abs(sum(p) - 1) > 4e-6
    changed = {"a": list(range(1, 16)), "p": p, "_label_Action": 1}
    changed["c"] = {"_multi": [{"f": {"x": float(i)}} for i in range(15)]}
    chunk = next(pb.Log.from_vw(vowpal(tmp_path / "log.json", 3, **changed)).chunks())
    assert chunk.chances is not None
    np.testing.assert_allclose(chunk.chances.sum(axis=1), 1.0, atol=1e-15)
    np.testing.assert_allclose(chunk.chances[0], p, rtol=1e-5)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"_label_cost": "no"}, r"a number in row 0, column '_label_cost', got 'no'"),
        ({"p": [0.5]}, r"probabilities that add up to one in row 0, column 'p'"),
        ({"a": [0, 1]}, r"number its \d actions from 1 in row 0, column 'a'"),
        ({"_label_Action": 9}, r"row 0, column '_label_Action', got 9"),
        ({"c": {}}, r"actions in row 0, column 'c\._multi'"),
        ({"pdrop": 0.5}, r"row 0, column 'pdrop' says that some were dropped"),
    ],
)
def test_what_is_wrong_in_a_line_is_named(tmp_path: Path, changed: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pb.Log.from_vw(vowpal(tmp_path / "log.json", 3, **changed)).fit()


def test_a_line_that_is_no_json_is_named(tmp_path: Path) -> None:
    path = vowpal(tmp_path / "log.json", 3)
    path.write_text(path.read_text() + "\n{")
    with pytest.raises(ValueError, match="log must be lines of JSON, row 3 is not"):
        pb.Log.from_vw(path)


def test_a_ledger_is_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    V = pb.Subspace.coordinates([0, 1], d=3)
    decider = pb.Decider(pb.GENTRY(schedule=lambda t: 0.5), subspace=V, seed=0)
    items = rng.normal(size=(12, 3))
    covered, chances = list[float](), list[Any]()
    for t in range(80):
        arms = items[rng.permutation(12)[: 3 + t % 4]]
        for decision in decider.ask(arms, count=1 + t % 2) if t % 2 else [decider.ask(arms)]:
            if t == 9:
                continue
            outcome = float(decision.arm @ [1.0, 2.0, 3.0])
            decider.tell(decision, outcome)
            p = decider.explain(decision).table["probability"].to_numpy()
            chances.append(p)
            covered.append(float((p > 0).mean()))
    found = pb.Log.from_ledger(decider)
    assert found.arms is not None
    assert len(found.arms) == 12
    even = pb.replay(found, lambda arms, context: np.full(len(arms), 1 / len(arms)), value="return")
    row = even.estimates().loc["arm by arm"]
    assert row["unsupported"] == pytest.approx(1 - np.mean(covered))
    assert np.isnan(row[["value", "low", "high"]].astype(float)).all()  # some arms had no chance
    kept = [part for chunk in found.chunks() for part in np.asarray(chunk.chances)]
    for p, own in zip(chances, kept, strict=True):
        np.testing.assert_array_equal(own[: len(p)], p)
        assert not own[len(p) :].any()
    np.testing.assert_allclose(found.fit(penalty=1e-9).theta, [1.0, 2.0, 3.0], atol=1e-6)
    judged = pb.replay(found, decider)
    assert np.isfinite(judged.estimates().loc["model", "value"])
    rows = judged.look.rows
    decider.tell(decider.ask(rng.normal(size=(3, 3))), 1.0)  # the log is that of when it was made
    assert pb.replay(found, decider).look.rows == rows
    assert pb.replay(pb.Log.from_ledger(decider), decider).look.rows == rows + 1
    monkeypatch.setattr(ledger_log, "KEPT_BYTES", 0)
    again = pb.Log.from_ledger(decider)
    assert sum(len(chunk.outcome) for chunk in again.chunks()) == rows + 1
    assert sum(len(chunk.outcome) for chunk in again.chunks()) == rows + 1
