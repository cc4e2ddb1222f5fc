"""Learn from a public log of a fashion shop: items with names, a protected feature, late clicks.

The Open Bandit data are impressions of a shop's front page in one week: which item was shown, at
random, to a viewer of which kind, and whether it was clicked. A sample of 10,000 rows comes with
the package `obp`, whose files are read without importing it:

    pip install --no-deps obp==0.4.1
    python examples/fashion.py out

The first days are history. After that the decider is asked at every row. Where it chooses what the
log shows, the click is known, and told an hour late; otherwise the decision has no outcome.
"""

import math
import sys
from importlib import metadata
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import beta

import projbandits as pb
from projbandits import plots

FOLDER = "obp/dataset/obd/random/men/"
LATE = pd.Timedelta("1h")


def read(name: str) -> pd.DataFrame:
    """Return one of the package's tables."""
    try:
        files = metadata.files("obp") or []
    except metadata.PackageNotFoundError as error:
        raise SystemExit("the data come with: pip install --no-deps obp==0.4.1") from error
    (found,) = (file for file in files if str(file) == FOLDER + name)
    return pd.read_csv(str(found.locate()), index_col=0)


def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the items by their numbers, and the log in the order of time."""
    items = read("item_context.csv").set_index("item_id")
    items.columns = ["size", "kind", "maker", "season"]  # the data do not say what is what
    log = read("men.csv").rename(columns={"user_feature_0": "viewer"})
    log["timestamp"] = pd.to_datetime(log["timestamp"], format="ISO8601")
    log["position"] = log["position"].astype(str)
    log = log[["timestamp", "item_id", "click", "viewer", "position"]]
    return items, log.sort_values("timestamp", ignore_index=True)


def interval(clicks: int, shown: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a click rate."""
    low = beta.ppf(0.025, clicks, shown - clicks + 1) if clicks else 0.0
    return float(low), float(beta.ppf(0.975, clicks + 1, shown - clicks))


def follow(decider: pb.Decider, items: pd.DataFrame, log: pd.DataFrame) -> tuple[int, int]:
    """Ask at every row, tell what is known an hour late; return how much was told, and clicks."""
    waiting, told, clicks = [], 0, 0
    for row in log.itertuples():
        while waiting and waiting[0][0] + LATE <= row.timestamp:
            _, decision, click = waiting.pop(0)
            decider.tell(decision, click)
            told, clicks = told + 1, clicks + click
        context = {"viewer": row.viewer, "position": row.position}
        decision = decider.ask(items, context=context)
        if decision.label == row.item_id:
            waiting.append((row.timestamp, decision, row.click))
        else:
            decider.withdraw(decision, "another item was shown")
    return told, clicks


def main(out: Path, days: int = 3, calls: int = 4000) -> pb.Decider:
    """Learn from the first days, follow the log after them, and say what can be told."""
    out.mkdir(parents=True, exist_ok=True)
    items, log = tables()
    shown = log.join(items, on="item_id")
    features = pb.Features(
        numeric=["size"],
        categorical=["kind", "season", "viewer", "position"],
        context=["viewer", "position"],
        interactions=[("viewer", "size")],
        protected=["size"],
    ).fit(shown)
    strategy = pb.EIIDS(arm_effects="auto")
    decider = pb.Decider(strategy, features=features, seed=0)
    begin = log["timestamp"].iloc[0] + pd.Timedelta(days=days)
    old = log["timestamp"] < begin
    decider.learn(
        shown[old], shown["click"][old], labels=shown["item_id"][old], request_id="first days"
    )
    rate = float(log["click"].mean())
    print(f"clicks in {int(old.sum())} rows of history: {int(log['click'][old].sum())}")
    told, clicks = follow(decider, items, log[~old].head(calls))
    low, high = interval(clicks, told)
    print(f"clicks of {told} decisions that the log can answer: {clicks}")
    print(f"their rate is between {low:.2%} and {high:.2%}; that of any item is {rate:.2%}")
    # Twice the rate, seen with a probability of 80 % at a level of 5 %: (1.96 + 0.84)^2 3 / p.
    needed = math.ceil(2.8**2 * 3 / rate)
    print(f"to see a doubled rate it takes {needed:,} such decisions, {len(items)} rows for each")
    viewer = {"viewer": log["viewer"].mode()[0], "position": "1"}
    every = decider.ask(items, context=viewer, count=len(items))
    every.sort(key=lambda decision: decision.estimate)
    best, worst = every[-1], every[0]
    print(
        f"item {best.label} is ahead of item {worst.label} by "
        f"{best.estimate - worst.estimate:.2%}, with standard errors of "
        f"{best.standard_error:.2%} and {worst.standard_error:.2%}"
    )
    print(decider.audit().verdict)
    _, ax = plt.subplots(figsize=(6.4, 5.6))
    at, error = np.arange(len(every)), [2 * decision.standard_error for decision in every]
    ax.errorbar([100 * d.estimate for d in every], at, xerr=[100 * e for e in error], fmt="o")
    ax.axvline(100 * rate, color="0.6", linestyle=":", label="click rate of any item")
    ax.set_yticks(at, [str(decision.label) for decision in every], fontsize=6)
    ax.set(xlabel="clicks per 100 views, by what counts; two standard errors", ylabel="item")
    plots.finish(ax)
    ax.figure.savefig(out / "fashion.png")
    return decider


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
