"""One policy's value from the log of the other, on the Open Bandit logs that come with OBP.

`python -m benchmarks.open_bandit [campaign [folder of the wheel]]`: the small logs (10,000 rows
each) of the two policies of the Open Bandit Dataset, from OBP's wheel. The truth is the mean click
in the policy's own log. The probabilities of the Bernoulli Thompson sampler (BTS) changed with time
and are stated for chosen items only: it is judged by its mean shares of the items at each position
of the page.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import projbandits as pb
from benchmarks.logs import obp
from projbandits import statistics
from projbandits.evaluation.cells import FOLDS

SHOWN = (
    "arm by arm",
    "arm by arm, self-normalised",
    "arm by arm, clipped",
    "arm by arm, doubly robust",
    "model",
)


def open_bandit(folder: Path) -> pb.Log:
    """Return a campaign of the Open Bandit Dataset: a folder with its log and its items.

    An item has a constant, its one number, and a column for each of its categories. A policy's
    context is the position on the page.
    """
    items = pd.read_csv(folder / "item_context.csv", index_col=0).set_index("item_id")
    numbers = items.select_dtypes("number")
    others = items.drop(columns=numbers.columns).astype(str)
    vectors = pd.concat([numbers, pd.get_dummies(others, dtype=float)], axis=1)
    vectors.insert(0, "constant", 1.0)
    return pb.Log.from_table(
        next(path for path in folder.glob("*.csv") if path.name != "item_context.csv"),
        vectors,
        action="item_id",
        propensity="propensity_score",
        outcome="click",
        context="position",
        time="timestamp",
    )


def shares(folder: Path) -> Any:
    """Return the policy that chooses as often as a log has it, at each position."""
    table = pd.read_csv(next(p for p in folder.glob("*.csv") if p.name != "item_context.csv"))
    counts = pd.crosstab(table["position"], table["item_id"])
    items = len(pd.read_csv(folder / "item_context.csv"))
    counts = counts.reindex(columns=range(items), fill_value=0)
    chances: dict[Any, Any] = {k: row.to_numpy() / row.sum() for k, row in counts.iterrows()}
    return lambda arms, context: chances[context["position"]]


def main(campaign: str, wheels: str | None = None) -> None:
    """Print both directions: the truth, ours and OBP's."""
    with tempfile.TemporaryDirectory() as temporary:
        given = Path(temporary if wheels is None else wheels)
        estimators = obp(given)
        place = given / "obp" / "obp" / "dataset" / "obd"
        folders = {name: place / name / campaign for name in ("random", "bts")}
        print("| policy | from the log of | estimate | per thousand (95 %) | OBP |")
        print("|---|---|---|---|---|")
        for judged, logged in (("random", "bts"), ("bts", "random")):
            own = open_bandit(folders[judged])
            clicks = np.concatenate([chunk.outcome for chunk in own.chunks()])
            print(f"| {judged} | its own | truth | {_text(*statistics.mean(clicks))} | |")
            log = open_bandit(folders[logged])
            policy: Any = shares(folders[judged])
            if judged == "random":
                policy = _even
            result = pb.replay(log, policy, value="return")
            theirs = by_obp(estimators, log, policy, result)
            for name in SHOWN:
                row = result.estimates().loc[name]
                other = f"{1000 * theirs[name]:.4f}" if name in theirs else ""
                text = _text(*row[["value", "low", "high"]])
                print(f"| {judged} | {logged} | {name} | {text} | {other} |")
            print(f"\n{result.lack_of_fit()}\n", file=sys.stderr)


def _even(arms: Any, context: Any) -> Any:
    return np.full(len(arms), 1 / len(arms))


def _text(value: float, low: float, high: float) -> str:
    return f"{1000 * value:.4f} ({1000 * low:.2f} to {1000 * high:.2f})"


def by_obp(estimators: Any, log: pb.Log, policy: Any, result: Any) -> dict[str, float]:
    """Return OBP's IPW and SNIPW, and its DR with our predictions."""
    chunks = list(log.chunks())
    spread = [
        np.array([policy(log.arms, {"position": p}) for p in chunk.context["position"]])
        for chunk in chunks
    ]
    given = {
        "reward": np.concatenate([chunk.outcome for chunk in chunks]),
        "action": np.concatenate([chunk.action for chunk in chunks]),
        "pscore": np.concatenate(
            [chunk.propensity for chunk in chunks if chunk.propensity is not None]
        ),
        "action_dist": np.concatenate(spread)[:, :, None],
    }
    ipw = estimators.InverseProbabilityWeighting().estimate_policy_value(**given)
    normalised = estimators.SelfNormalizedInverseProbabilityWeighting()
    thetas = result.setting.thetas[np.arange(len(given["reward"])) % FOLDS]
    predicted = (thetas @ np.asarray(log.arms).T)[:, :, None]
    doubly = estimators.DoublyRobust().estimate_policy_value(
        **given, estimated_rewards_by_reg_model=predicted
    )
    return {
        "arm by arm, doubly robust": float(doubly),
        "arm by arm": float(ipw),
        "arm by arm, self-normalised": float(normalised.estimate_policy_value(**given)),
    }


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["all"]))
