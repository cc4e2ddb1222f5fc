"""Proxies: what kept features still tell of what is protected."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import projbandits as pb


def audited(arms: Any, protected: str, steps: int = 3) -> Any:
    subspace = pb.Subspace.without(protected, columns=arms.columns)
    decider = pb.Decider(pb.GENTRY(), subspace=subspace, seed=0)
    for _ in range(steps):
        decider.tell(decider.ask(arms).id, 1.0)
    return decider.audit()


def test_few_arms_cannot_tell_a_proxy() -> None:
    names = [f"f{j}" for j in range(8)]
    arms = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 9)), columns=[*names, "race"])
    audit = audited(arms, "race", steps=50)  # the same nine each time
    assert audit.proxies["r2"].isna().all()
    assert audit.warnings[-1] == (
        "9 distinct arms are too few to tell whether the kept features stand in for 'race'"
    )


def test_a_proxy_may_stand_in_by_its_square() -> None:
    rng = np.random.default_rng(0)
    arms = pd.DataFrame(rng.normal(size=(2000, 3)), columns=["a", "b", "race"])
    arms["race"] = (arms["a"].abs() > 0.67).astype(float)
    audit = audited(arms, "race")
    row = audit.proxies.loc["race"]
    assert row["r2"] < 0.01
    assert row["r2_squares"] > 0.3
    assert row["closest"] == "a"
    assert "by boosting, 'a' alone" in audit.warnings[-1]


def test_boosting_finds_a_product_that_no_square_shows() -> None:
    rng = np.random.default_rng(0)
    arms = pd.DataFrame(rng.normal(size=(1500, 3)), columns=["a", "b", "race"])
    arms["race"] = (arms["a"] * arms["b"] > 0).astype(float)
    row = audited(arms, "race").proxies.loc["race"]
    assert row["r2_squares"] < 0.05
    assert row["r2_boosted"] > 0.5


def test_without_scikit_learn_the_audit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("proxies", "audit"):
        monkeypatch.setattr(f"projbandits.audit.{place}.has_boosting", lambda: False)
    arms = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 3)), columns=["a", "b", "race"])
    audit = audited(arms, "race")
    assert audit.proxies["r2_boosted"].isna().all()
    assert "scikit-learn is not installed" in audit.to_html()
