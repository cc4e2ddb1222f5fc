"""What fooled the audit once: logs in which the protected part plays a role, or seems to."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import projbandits as pb


def product(steps: int = 150, *, binary: bool = False) -> pb.Decider:
    """Age is protected, but its product with the viewer (+1 or -1) is kept and decides."""
    columns = ["stars", "age_x_u", "age"]
    subspace = pb.Subspace.without("age", columns=columns)
    decider = pb.Decider(pb.GENTRY(), subspace=subspace, seed=0)
    rng = np.random.default_rng(0)
    for t in range(steps):
        viewer = 1 - 2 * (t % 2)
        table = pd.DataFrame(rng.normal(size=(8, 3)), columns=columns)
        if binary:
            table["age"] = np.sign(table["age"])
        table["age_x_u"] = table["age"] * viewer
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of one viewer, age and its product are the same
            decision = decider.ask(table, meta={"viewer": viewer})
        mean = 0.2 * decision.arm[0] + 0.5 * decision.arm[1]
        decider.tell(decision.id, float(mean + 0.3 * rng.normal()))
    return decider


def units(
    scale: float = 0.01, steps: int = 300, *, noise: float = 0.3, **options: Any
) -> pb.Decider:
    """The protected column is small, goes with `stars`, and has all the effect."""
    columns = ["drama", "stars", "age"]
    subspace = pb.Subspace.without("age", columns=columns)
    strategy = pb.GENTRY(alpha=5.0, **options)
    decider = pb.Decider(strategy, subspace=subspace, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(steps):
        table = _films(rng)
        table["age"] *= scale
        decision = decider.ask(table)
        mean = 0.3 * decision.arm[0] + decision.arm[2] / scale
        decider.tell(decision.id, float(mean + noise * rng.normal()))
    return decider


def filled(steps: int = 200) -> pb.Decider:
    """The history has the mean in place of the protected column, which goes with `stars`."""
    columns = ["drama", "stars", "age"]
    subspace = pb.Subspace.without("age", columns=columns)
    decider = pb.Decider(pb.GENTRY(alpha=5.0), subspace=subspace, seed=0)
    rng = np.random.default_rng(0)
    past = _films(rng, 3000)
    outcomes = 0.3 * past["drama"] + past["age"] + 0.3 * rng.normal(size=len(past))
    decider.learn(past.assign(age=past["age"].mean()), outcomes)
    return _played(decider, rng, steps, np.array([0.3, 0.0, 1.0]))


@dataclass(frozen=True, kw_only=True, repr=False)
class Oldest(pb.GENTRY):
    """Says that it aims at the projection, and chooses by age."""

    def select(self, state: Any, arms: Any, rng: np.random.Generator) -> Any:
        """Choose the oldest."""
        return pb.Choice(arms.arm(int(arms.vectors[:, -1].argmax())), self.stated)

    @property
    def stated(self) -> float:
        """The probability that it states."""
        return 1.0


class Silent(Oldest):
    """The same, and states no probability."""

    @property
    def stated(self) -> float:
        """None."""
        return float("nan")


@dataclass(frozen=True, kw_only=True, repr=False)
class OneOfTheOldest(pb.GENTRY):
    """Chooses at random, among the three oldest."""

    def select(self, state: Any, arms: Any, rng: np.random.Generator) -> Any:
        """Choose one of the oldest."""
        order = np.argsort(-arms.vectors[:, -1], kind="stable")
        return pb.Choice(arms.arm(int(order[int(3 * rng.random())])), 1 / 3)


def honest(
    strategy: Any, seed: int = 0, steps: int = 150, *, effect: float = 1.0, noise: float = 0.3,
    arms: int = 8, d: int = 4, catalogue: int = 0, history: int = 0,
    columns: list[str] | None = None,
) -> pb.Decider:  # fmt: skip
    """A world whose protected features are independent of the kept ones, and nothing is wrong.

    The last half of the `d` features are protected; `effect` is the size of theirs. Items are new
    each time where there is no `catalogue`, and `history` outcomes were learnt before.
    """
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=d) * np.where(np.arange(d) < d // 2, 1.0, effect)
    subspace = pb.Subspace.coordinates(range(d // 2), d=d)
    decider = pb.Decider(strategy, subspace=subspace, seed=seed)
    items = rng.normal(size=(catalogue, d))
    if history:
        X = rng.normal(size=(history, d))
        decider.learn(X, X @ theta + noise * rng.normal(size=history))
    for _ in range(steps):
        some = items[rng.permutation(catalogue)[:arms]] if catalogue else rng.normal(size=(arms, d))
        offer: Any = some if columns is None else pd.DataFrame(some, columns=columns)
        decision = decider.ask(offer)
        decider.tell(decision.id, float(decision.arm @ theta + noise * rng.normal()))
    return decider


def tilted(arms: int, catalogue: int, steps: int = 300) -> pb.Decider:
    """A group has 55 % of the offer and 83 % of the best guesses; nobody looked at the group."""
    rng = np.random.default_rng(0)
    weights = (1 - arms / catalogue) ** np.arange(catalogue)  # how often each rank is the best
    group, owed = np.ones(catalogue), 0.0
    for rank, weight in enumerate(weights):
        owed += 0.17 * weight
        if owed >= weight / 2:
            group[rank], owed = 0.0, owed - weight
    rest = np.flatnonzero(group)[::-1]
    group[rest[: round(0.45 * catalogue - (group == 0).sum())]] = 0.0  # the worst, seldom chosen
    worth = np.linspace(2.0, -2.0, catalogue)
    items = np.column_stack([worth, group])
    subspace = pb.Subspace.without("group", columns=["worth", "group"])
    decider = pb.Decider(pb.ProjectedTS(), subspace=subspace, seed=0)
    for _ in range(steps):
        table = pd.DataFrame(items[rng.permutation(catalogue)[:arms]], columns=["worth", "group"])
        decision = decider.ask(table)
        decider.tell(decision.id, float(decision.arm @ [1.0, 0.5] + 0.1 * rng.normal()))
    return decider


def _films(rng: np.random.Generator, count: int = 8) -> pd.DataFrame:
    """Films whose stars go with the lead's age (correlation 0.3)."""
    table = pd.DataFrame(rng.normal(size=(count, 3)), columns=["drama", "stars", "age"])
    table["stars"] = 0.3 * table["age"] + np.sqrt(1 - 0.09) * table["stars"]
    return table


def _played(decider: pb.Decider, rng: np.random.Generator, steps: int, theta: Any) -> pb.Decider:
    for _ in range(steps):
        decision = decider.ask(_films(rng))
        decider.tell(decision.id, float(decision.arm @ theta + 0.3 * rng.normal()))
    return decider


def levels(steps: int = 200, *, leaky: bool) -> pb.Decider:
    """Genre goes with age and is worth nothing; beside a constant no level is told by itself."""
    rng = np.random.default_rng(0)
    items = pd.DataFrame({"q": rng.normal(size=24), "genre": rng.choice(["d", "n", "s"], 24)})
    items["age"] = items["genre"].map({"d": 1.0, "n": 0.0, "s": -1.0}) + 0.5 * rng.normal(size=24)
    worth = (0.3 * items["q"] + items["age"]).to_numpy()
    features = pb.Features(numeric=["q", "age"], categorical=["genre"], protected=["age"])
    decider = pb.Decider(pb.GENTRY(), features=features.fit(items), seed=0)
    if leaky:  # its ages were filled with their mean
        history = pd.concat([items.assign(age=0.0)] * 60)
        decider.learn(history, np.tile(worth, 60) + 0.5 * rng.normal(size=len(history)))
    for _ in range(steps):
        decision = decider.ask(items.iloc[rng.permutation(24)[:8]])
        mean = worth[int(decision.label or 0)]
        decider.tell(decision.id, float(mean + 0.5 * rng.normal()))
    return decider
