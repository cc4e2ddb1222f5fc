"""What a notebook shows: the facts one wants first, and nothing that a browser would execute."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from tests.pages import Page
from tests.worlds import run

EVIL = "<script>alert(1)</script>"
RNG = np.random.default_rng(0)
FILMS = pd.DataFrame(
    {
        "length": RNG.normal(100, 10, 30),
        "genre": ["drama", EVIL, "a&b"] * 10,
        "old": [0.0, 1.0] * 15,
    }
)
FEATURES = pb.Features(
    numeric=["length", "old"],
    categorical=["genre"],
    interactions=[("genre", "old")],
    protected=["old"],
).fit(FILMS)


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    X = FEATURES.frame(FILMS)
    decider = pb.Decider(pb.GENTRY(), subspace=FEATURES.subspace, seed=0)
    new = decider._repr_html_()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the arms offered so far cannot identify")
        for t in range(30):
            decision = decider.ask(X.sample(12, random_state=t))
            if t < 28:
                decider.tell(decision.id, float(decision.arm[1]))
    objects: dict[str, Any] = {
        "decider": decider,
        "audit": decider.audit(),
        "result": run(strategies=[pb.UE(), pb.GENTRY()], engine="reference"),
        "offers": run(
            pb.problems.offers(catalogue=9, offered=3, d=2, u=1), pb.UE(), "reference", horizon=5
        ),
    }
    pages = {name: thing._repr_html_() for name, thing in objects.items()}
    return {"new decider": new, **pages}


def test_every_page_is_sound_and_nothing_in_it_runs(shown: dict[str, str]) -> None:
    for name, page in shown.items():
        assert "script" not in Page(page).tags, name
        assert "http" not in page, name  # it needs no network
        assert len(page) < 20_000, name
    # Names that look like HTML are shown as they are.
    for name in ("decider", "audit"):
        assert EVIL in "".join(Page(shown[name]).words), name


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("new decider", ["GENTRY()", "0, of which 0 wait for their outcome", "0 learnt from"]),
        ("decider", ["30, of which 2 wait for their outcome", "28 learnt from", "length"]),
        ("audit", ["Not cleared: ", "offered"]),
        ("result", ["6 trials of 60 steps, seed 0", "GENTRY()", "found best", "reference"]),
        ("offers", ["UE()", "6 trials of 5 steps"]),
    ],
)
def test_what_a_person_wants_to_see_first_is_there(
    shown: dict[str, str], name: str, facts: list[str]
) -> None:
    words = "".join(Page(shown[name]).words)
    for fact in facts:
        assert fact in words, words


@pytest.mark.parametrize("strategy", [pb.EIIDS(), pb.EIIDS(arm_effects=0.5)], ids=repr)
def test_a_decider_shows_what_it_believes_in_the_units_of_the_columns(strategy: Any) -> None:
    films = pd.DataFrame({"length": FILMS["length"] / 1e4, "old": FILMS["old"]})
    features = pb.Features(protected=["old"]).fit(films)
    decider = pb.Decider(strategy, features=features, seed=0, half_life=10)
    quality = np.random.default_rng(1).normal(size=30)
    for _ in range(20):
        decision = decider.ask(films)
        assert decision.index is not None
        decider.tell(
            decision, float(300 * films["length"][decision.index]) + quality[decision.index]
        )
    words = Page(decider._repr_html_()).words
    believed = decider.coefficients()["estimate"]
    assert abs(believed["length"]) > 50  # and not 1, what a deviation is worth
    assert words[words.index("level") + 1].startswith(number(believed.pop("intercept")))
    for name, value in believed.items():
        assert words[words.index(str(name)) + 1] == number(value)
    assert f"20 learnt from, with the weight of {number(decider.ridge.weight)}" in words
    assert words.index("length") < words.index("constant")  # which counts for nothing
