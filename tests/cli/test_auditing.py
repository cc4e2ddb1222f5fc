"""`projbandits audit`."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from tests.commands import call, refused
from tests.messy import films

COLUMNS = ["length", "drama", "age"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, pd.DataFrame, Path]:
    folder = tmp_path_factory.mktemp("audit")
    url = f"sqlite:///{folder}/films.db"
    rng = np.random.default_rng(0)
    films = pd.DataFrame(rng.normal(size=(80, 3)), columns=COLUMNS)
    subspace = pb.Subspace.without("age", columns=COLUMNS)
    decider = pb.Decider(pb.GENTRY(), subspace=subspace, seed=0, store=url, name="films")
    for t in range(40):
        some = films.iloc[rng.permutation(80)[:6]]
        decision = decider.ask(some, meta={"segment": "ab"[t % 2]})
        decider.tell(decision, float(decision.arm @ [1.0, 0.5, 1.0] + 0.3 * rng.normal()))
    decider.close()
    return url, films, folder


def test_a_store_is_audited(store: tuple[str, pd.DataFrame, Path]) -> None:
    url, films, folder = store
    path = folder / "makers.csv"
    films.assign(maker=np.where(films["length"] > 0, "big", "small")).to_csv(path, index=False)
    page = folder / "audit.html"
    result = call(
        "audit", url, "films", "--by", "segment", "--attributes", path, "--html", page, "--json"
    )
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["about"]["decisions"] == 40
    assert found["exposure"]["by"] == "segment"
    assert {row["attribute"] for row in found["exposure"]["table"]} == {"age", "maker"}
    shown = page.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert found["verdict"].split("'")[0] in shown
    plain = call("audit", url, "films")
    assert "Has their effect moved into the kept part?" in plain.stdout


def test_what_is_not_there_is_named(store: tuple[str, pd.DataFrame, Path]) -> None:
    url, _, folder = store
    assert "NAME must be one of ['films'], got 'film'" in refused("audit", url, "film")
    assert "by must be a column of the context or a key of meta" in refused(
        "audit", url, "films", "--by", "page"
    )
    missing = folder / "none.csv"
    assert "must be a file that is there" in refused("audit", url, "films", "--attributes", missing)


def test_a_table_with_gaps_is_the_same_as_csv_and_as_parquet(tmp_path: Path) -> None:
    url, rng = f"sqlite:///{tmp_path}/films.db", np.random.default_rng(0)
    table = films(60, seed=6).drop(columns=["title", "director"])
    features = pb.Features(protected=["colour"]).fit(table)
    decider = pb.Decider(pb.GENTRY(), features=features, seed=0, store=url, name="films")
    for _ in range(40):
        decision = decider.ask(table.sample(6, random_state=rng).reset_index(drop=True))
        decider.tell(decision, float(rng.normal()))
    decider.close()
    makers = np.where(rng.random(60) < 0.5, "big", "small")
    given = table.assign(maker=pd.Series(makers).where(rng.random(60) < 0.9, None))
    given.to_csv(tmp_path / "makers.csv", index=False)
    given.to_parquet(tmp_path / "makers.parquet")
    found = []
    for name in ("makers.csv", "makers.parquet"):
        result = call("audit", url, "films", "--attributes", tmp_path / name, "--json")
        assert result.exit_code == 0, result.output
        found.append(json.loads(result.stdout)["exposure"])
    assert found[0] == found[1]
    groups = {row["group"] for row in found[0]["table"] if row["attribute"] == "maker"}
    assert groups == {"big", "small"}
