"""A corpus of deciders, each with a short life in which something particular happens.

A corpus is a function of a `Place`. It returns the decisions, explanations, audits and replays as
plain values, which are the same wherever the decider is kept.
"""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.oracles import adapter

DAY = 86_400.0
SPAWN = multiprocessing.get_context("spawn")


class Place:
    """Where deciders are kept, in a store or in none, and the process that they are in.

    A second process is one where `apart` is true; else it only seems so to the decider.
    """

    def __init__(self, folder: Path, url: str | None = None, *, apart: bool = False) -> None:
        self.folder = folder
        self.url = url
        self.apart = apart
        self.process = adapter.Process()

    def make(
        self, strategy: str = "", keep: Sequence[int] = (), d: int = 3, **options: Any
    ) -> adapter.Decider:
        """Return a new decider; options that are not its own are those of the strategy."""
        own = ("name", "subspace", "features", "half_life", "seed")
        given = {key: options.pop(key) for key in own if key in options}
        if strategy:
            given["strategy"] = adapter.made(strategy, **options)
        if keep:
            given["subspace"] = adapter.keep(keep, d)
        return adapter.Decider.make(self.url, given.pop("name", "decider"), **given)

    def later(self, seconds: float) -> None:
        """Let time pass."""
        self.process.now += seconds

    @contextmanager
    def joined(self, name: str = "decider") -> Iterator[Any]:
        """Give the decider of this name as another process has it."""
        assert self.url is not None
        if not self.apart:
            with adapter.Process(1, self.process.now).running():
                decider = adapter.Decider.join(self.url, name)
            with closing(decider):
                yield decider
            return
        here, there = SPAWN.Pipe()
        child = SPAWN.Process(target=_serve, args=(there, self.url, name, self.process.now))
        child.start()
        try:
            yield Elsewhere(here)
        finally:
            here.send(None)
            child.join()


class Elsewhere:
    """A decider in another process: calls go through a pipe."""

    def __init__(self, pipe: Any) -> None:
        self._pipe = pipe

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*given: Any, **options: Any) -> Any:
            self._pipe.send((name, given, options))
            answer = self._pipe.recv()
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def _serve(pipe: Any, url: str, name: str, now: float) -> None:
    """Answer the calls to a decider in a process of its own."""
    with adapter.Process(1, now).running(), closing(adapter.Decider.join(url, name)) as decider:
        while (call := pipe.recv()) is not None:
            method, given, options = call
            try:
                pipe.send(getattr(decider, method)(*given, **options))
            except Exception as error:  # raised again where it was called
                pipe.send(error)


class World:
    """Items with features, a truth about them, and outcomes that chance decided beforehand."""

    def __init__(self, seed: int, items: int = 6, d: int = 3, noise: float = 0.4) -> None:
        self.rng = np.random.default_rng(seed)
        self.items = self.rng.uniform(-1, 1, (items, d))
        self.theta = self.rng.uniform(-1, 1, d)
        self.own = np.zeros(items)
        self.noise = noise

    def outcome(self, decision: dict[str, Any], own: float = 0.0) -> float:
        """Return what a decision brings."""
        mean = float(np.asarray(decision["arm"]) @ self.theta) + own
        return mean + self.noise * float(self.rng.standard_normal())

    def turn(
        self, decider: adapter.Decider, id: str, items: Any = None, *, told: bool = True,
        **options: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """Ask for one of some items, or of all, and tell the outcome."""
        made = decider.ask(self.items if items is None else items, request_id=id, **options)
        if told:
            decider.tell(made["request_id"], self.outcome(made))
        return dict(made)

    def offer(self, size: int) -> NDArray[np.int64]:
        """Return the rows of some items."""
        return self.rng.choice(len(self.items), size, replace=False)


def item_effects(at: Place) -> dict[str, Any]:
    """Items have effects of their own, and come and go; outcomes are three decisions late."""
    world = World(1, items=12, d=4)
    own = world.rng.normal(size=12)
    decider = at.make("EIIDS", [0, 1, 2], 4, arm_effects="auto", seed=11)
    waiting: list[tuple[str, float]] = []
    for t in range(30):
        rows = world.offer(5)
        made = decider.ask(
            world.items[rows], labels=[f"film {row}" for row in rows], request_id=f"e{t}"
        )
        effect = float(own[rows[made["index"]]])
        waiting.append((made["request_id"], world.outcome(made, effect)))
        if len(waiting) > 3:
            decider.tell(*waiting.pop(0))
    return summary(decider, explain=["e2", "e17", "e29"], audit={}, replay=["GENTRY"])


def taught(at: Place) -> dict[str, Any]:
    """History with labels is learnt before anything is asked, and once more to no effect."""
    world = World(2, items=8, d=3)
    own = world.rng.normal(size=8)
    rows = world.rng.integers(0, 8, 40)
    outcomes = world.items[rows] @ world.theta + own[rows] + 0.3 * world.rng.normal(size=40)
    decider = at.make("REGRET", [0, 1], arm_effects=0.6, seed=12)
    history = world.items[rows], outcomes.tolist()
    for _ in range(2):
        decider.learn(*history, labels=rows.tolist(), request_id="history")
    before = decider.belief()
    for t in range(12):
        made = decider.ask(world.items, labels=range(8), request_id=f"h{t}")
        decider.tell(made["request_id"], world.outcome(made, float(own[made["index"]])))
    return {"before": before, **summary(decider, explain=["h0", "h11"])}


def half_life_by_decisions(at: Place) -> dict[str, Any]:
    """Outcomes lose half of their weight every eight decisions."""
    world = World(3)
    decider = at.make("GENTRY", [0, 1], penalty=0.5, half_life=8, seed=13)
    for t in range(30):
        if t == 15:
            world.theta = -world.theta
        world.turn(decider, f"d{t}", told=t % 5 > 0)
    return summary(decider, explain=["d3", "d29"], audit={}, replay=["REGRET"])


def half_life_by_time(at: Place) -> dict[str, Any]:
    """Outcomes lose half of their weight in sixty days, and come days after the decision."""
    world = World(4)
    decider = at.make("EIIDS", [0, 1], half_life="60d", seed=14)
    last = None
    for t in range(30):
        made = decider.ask(world.items, request_id=f"s{t}")
        at.later(3.5 * DAY)
        if last is not None:
            decider.tell(*last)
        last = made["request_id"], world.outcome(made)
        at.later(1.5 * DAY)
    believed = decider.belief()
    at.later(100 * DAY)
    return {"a hundred days before": believed, **summary(decider, explain=["s4", "s29"])}


def amended(at: Place) -> dict[str, Any]:
    """Outcomes are amended, withdrawn, assumed when they are late, and told after all."""
    world = World(5)
    decider = at.make("EIIDS", [0, 2], noise=0.4, seed=15)
    told = []
    for t in range(24):
        made = decider.ask(world.items, request_id=f"a{t}")
        at.later(3600)
        if t % 4:
            decider.tell(made["request_id"], world.outcome(made))
            told.append(made["request_id"])
        if t == 9:
            decider.amend(told[1], 3.25)
            decider.withdraw(told[4])
        if t == 14:
            late = decider.expire("8h", 0.0)
    before = decider.belief()
    decider.amend(told[0], -1.5)
    decider.amend(told[4], 0.75)
    decider.withdraw("a20")
    later = [*late, *decider.expire("2h")]
    return {"before": before, "expired": later, **summary(decider, explain=["a13", "a23"])}


def reconfigured(at: Place) -> dict[str, Any]:
    """Subspace, strategy and half-life change, to one that learns on projections and back."""
    world = World(6, items=7, d=4)
    decider = at.make("GENTRY", [0, 1], 4, alpha=2.0, seed=16)
    changes: dict[int, dict[str, Any]] = {
        8: {"subspace": adapter.keep([0, 3], 4)},
        14: {"strategy": adapter.made("REGRET", penalty=2.0)},
        20: {"half_life": 6, "strategy": adapter.made("ProjectedUE", alpha=0.3)},
        26: {"subspace": adapter.keep([1, 2, 3], 4), "strategy": adapter.made("EIIDS")},
    }
    beliefs = []
    for t in range(32):
        if t in changes:
            decider.reconfigure(**changes[t])
            beliefs.append(decider.belief())
        world.turn(decider, f"r{t}", told=t % 3 != 1)
    return {"beliefs": beliefs, **summary(decider, explain=["r7", "r15", "r31"], audit={})}


def decayed(at: Place) -> dict[str, Any]:
    """All outcomes lose weight twice, the second time all of it."""
    world = World(7)
    decider = at.make("DirectedIDS", [1, 2], seed=17)
    beliefs = []
    for t in range(20):
        if t in (8, 15):
            decider.decay(0.3 if t == 8 else 0.0)
            beliefs.append(decider.belief())
        world.turn(decider, f"f{t}")
    return {"beliefs": beliefs, **summary(decider, explain=["f9"])}


VIEWERS = ("young", "old", "elderly")
FILMS: dict[str, list[Any]] = {
    "label": [f"film {i}" for i in range(10)],
    "length": [95.0, 120.0, 101.0, 88.0, 142.0, 110.0, 99.0, 131.0, 84.0, 105.0],
    "country": ["fr", "de", "fr", "it", "de", "fr", "it", "it", "de", "fr"],
    "age": [31.0, 55.0, 47.0, 29.0, 62.0, 38.0, 51.0, 44.0, 35.0, 58.0],
}


def features_and_contexts(at: Place) -> dict[str, Any]:
    """Raw columns, viewers as contexts, a protected column; an audit by viewer."""
    rng = np.random.default_rng(8)
    viewers = [VIEWERS[i % 3] for i in range(10)]
    fitted = adapter.features(
        {**FILMS, "viewer": viewers},
        numeric=["length", "age"],
        categorical=["country", "viewer"],
        context=["viewer"],
        interactions=[("length", "viewer")],
        protected=["age"],
    )
    decider = at.make(features=fitted, seed=18)
    decider.learn(FILMS, rng.normal(size=10).tolist(), context={"viewer": "old"})
    for t in range(60):
        rows = sorted(rng.choice(10, 5, replace=False).tolist())
        table = {name: [column[row] for row in rows] for name, column in FILMS.items()}
        viewer = VIEWERS[int(rng.integers(3))]
        made = decider.ask(
            table, context={"viewer": viewer}, request_id=f"v{t}", meta={"page": t % 2}
        )
        row = rows[made["index"]]
        liked = 1.0 + 0.4 * (FILMS["country"][row] == "fr") * (viewer != "old")
        outcome = liked + 0.01 * FILMS["age"][row] + 0.2 * float(rng.standard_normal())
        decider.tell(made["request_id"], outcome)
    audit = {
        "by": "viewer",
        "attributes": {"label": FILMS["label"], "budget": [*range(10)], "festival": ["a", "b"] * 5},
    }
    found = summary(decider, explain=["v0", "v33"], audit=audit, replay=["GENTRY"], last=20)
    # Levels beside a constant leave directions open; the basis of the rest differs by processor.
    del found["audit"]["leak"]
    return found


def infinite(at: Place) -> dict[str, Any]:
    """Decisions in a ball and in a box, by three strategies."""
    world = World(9, d=3)
    ball, box = adapter.made("Ball", 3, 1.5), adapter.made("Box", [-1, 0, -1], [1, 1, 2])
    found = {}
    forms: dict[str, dict[str, Any]] = {"GENTRY": {}, "ProjectedUE": {"alpha": 0.3}, "EIIDS": {}}
    for name, options in forms.items():
        decider = at.make(name, [0, 2], name=name, seed=19, **options)
        for t in range(10):
            world.turn(decider, f"{name}{t}", ball if t % 2 else box)
        explained = decider.explain(f"{name}9", ball)
        found[name] = {"explained": explained, **summary(decider)}
    return found


def several(at: Place) -> dict[str, Any]:
    """Several arms at a time, calls that are repeated, labels and notes."""
    world = World(10, items=9, d=3)
    decider = at.make("EIIDS", [0, 1], seed=20)
    calls = list[dict[str, Any]]()
    for t in range(10):
        rows = world.offer(6)
        labels = [f"item {row}" for row in rows]
        calls.append({"items": world.items[rows], "labels": labels, "request_id": f"c{t}"})
        made = decider.ask(count=3, meta={"call": t}, **calls[t])
        decider.tell_many({one["request_id"]: world.outcome(one) for one in made[: 1 + t % 3]})
    found = summary(decider, explain=["c0/0", "c9/2"], replay=["UE"])
    repeated = [one for call in calls[::4] for one in decider.ask(count=3, **call)]
    return {"repeated": [one["index"] for one in repeated], **found}


def every_strategy(at: Place) -> dict[str, Any]:
    """Each strategy that a decider may have, on the same offers."""
    forms: dict[str, dict[str, Any]] = {
        "GENTRY": {"schedule": "smooth"},
        "CURSE": {},
        "REGRET": {"alpha": 0.5},
        "UE": {"alpha": 0.3},
        "ProjectedUE": {},
        "EIIDS": {},
        "EIRatio": {"horizon": 50},
        "DirectedIDS": {"radius": "published", "bound": 2.0},
        "ProjectedTS": {"noise": 0.4},
    }
    found = {}
    for name, options in forms.items():
        world = World(11, items=7, d=4)
        decider = at.make(name, [0, 1], 4, name=name, seed=21, **options)
        chosen = []
        for t in range(14):
            made = decider.ask(world.items[world.offer(5)], request_id=f"{name}{t}")
            chosen.append([made["index"], made["propensity"], made["estimate"]])
            outcome = world.outcome(made)
            if t % 4 != 2:
                decider.tell(made["request_id"], outcome)
        found[name] = {"chosen": chosen, "believed": decider.belief()["theta"]}
        found[name]["explained"] = decider.explain(f"{name}13")
    return found


def audited(at: Place) -> dict[str, Any]:
    """A strategy that aims at returns is found out; others are replayed on its log."""
    world = World(12, items=20, d=4, noise=0.3)
    world.theta = np.array([0.5, -0.2, 1.2, 0.8])
    columns = ["drama", "length", "fee", "age"]
    subspace = adapter.without(["fee", "age"], columns)
    found = {}
    for name in ("CURSE", "GENTRY"):
        decider = at.make(name, name=name, alpha=4.0, subspace=subspace, seed=22)
        for t in range(120):
            rows = world.offer(5)
            table = {"label": [f"item {row}" for row in rows]}
            table |= dict(zip(columns, world.items[rows].T, strict=True))
            meta = {"segment": "ab"[t % 2]}
            world.turn(decider, f"{name}{t}", table, told=t % 5 > 0, meta=meta)
        replay = {"replay": ["UE", "EIIDS"], "value": ("projection", "return")}
        found[name] = summary(decider, audit={"by": "segment"}, last=8, **replay)
    return found


def groups_disagree(at: Place) -> dict[str, Any]:
    """The subspace is found in the log where groups disagree, and decided on from then on."""
    world = World(13, items=12, d=3, noise=0.2)
    decider = at.make("GENTRY", [0, 1, 2], alpha=3.0, seed=23)
    bias = {"north": 1.5, "south": -1.5, "west": 0.5}
    groups = itertools.cycle(bias)
    found: dict[str, Any] = {}
    for t in range(90):
        if t == 80:
            subspace, found = decider.find_subspace("group", 1)
            decider.reconfigure(subspace=subspace)
        group = next(groups)
        rows = world.offer(6)
        made = decider.ask(world.items[rows], request_id=f"g{t}", meta={"group": group})
        decider.tell(made["request_id"], world.outcome(made) + bias[group] * made["arm"][2])
    return {"found": found, **summary(decider, explain=["g85"], audit={"by": "group"}, last=10)}


def saved(at: Place) -> dict[str, Any]:
    """A decider is saved in the middle and goes on as a copy."""
    world = World(14)
    decider = at.make("EIIDS", [0, 1], half_life=20, seed=24)
    for t in range(8):
        world.turn(decider, f"w{t}", told=t % 3 > 0)
    copy = decider.saved(at.folder / "decider")
    copy.tell("w0", 0.5)
    for t in range(8, 16):
        world.turn(copy, f"w{t}")
    return summary(copy, explain=["w2", "w15"], audit={}, replay=["UE"])


def two_processes(at: Place) -> dict[str, Any]:
    """Two processes share a decider, each decides with randomness of its own."""
    world = World(15, items=10, d=3)
    decider = at.make("EIIDS", [0, 1], name="shared", arm_effects="auto", seed=25)
    with closing(decider) as one, at.joined("shared") as other:
        for t in range(24):
            rows = world.offer(5)
            labels = [f"item {row}" for row in rows]
            asks, tells = (one, other) if t % 3 else (other, one)
            made = asks.ask(world.items[rows], labels=labels, request_id=f"p{t}")
            again = tells.ask(world.items[rows], labels=labels, request_id=f"p{t}")
            assert made == again, "both processes must have the same decision"
            if t % 4:
                tells.tell(made["request_id"], world.outcome(made))
        found = summary(one, explain=["p0", "p23"], audit={}, replay=["GENTRY"])
        assert other.belief() == found["belief"], "both processes must believe the same"
    return found


def logs(at: Place) -> dict[str, Any]:
    """Logs of other origins: fits, and what policies would have been worth."""
    world = World(16, items=5, d=3)
    n, columns = 300, ["drama", "length", "age"]
    table = dict(zip(columns, world.items.T, strict=True))
    chances = world.rng.dirichlet(np.ones(5), n) * 0.8 + 0.04
    chosen = np.array([world.rng.choice(5, p=p) for p in chances])
    outcomes = world.items[chosen] @ world.theta + 0.3 * world.rng.normal(size=n)
    rows: dict[str, Any] = {f"p{a}": chances[:, a] for a in range(5)}
    rows |= {"item": chosen, "outcome": outcomes, "p": chances[np.arange(n), chosen]}
    rows["segment"] = np.where(world.rng.random(n) < 0.5, "a", "b")
    full, chosen_only = (
        adapter.log(
            rows, table, action="item", propensity=p, outcome="outcome", context=["segment"]
        )
        for p in ([f"p{a}" for a in range(5)], "p")
    )
    subspace = adapter.without(["age"], columns)
    found: dict[str, Any] = {"fit": adapter.fitted(full, subspace)}
    for name, log in (("all", full), ("chosen", chosen_only)):
        for value in ("projection", "return"):
            given = {"subspace": subspace, "value": value}
            found[f"{name}, {value}"] = {
                "uniform": adapter.judged(log, _uniform, **given),
                "by segment": adapter.judged(log, _by_segment, **given),
                "GENTRY": adapter.judged(log, adapter.made("GENTRY"), **given),
            }
    found["difference"] = adapter.difference(full, _uniform, _by_segment, "return")
    decider = at.make("GENTRY", [0, 1], alpha=2.0, seed=26)
    for t in range(60):
        world.turn(decider, f"l{t}")
    found["own"] = adapter.judged(decider.as_log(), adapter.made("UE"), "projection")
    return found


def _uniform(arms: Any, context: Any) -> Any:
    return np.full(len(arms), 1 / len(arms))


def _by_segment(arms: Any, context: Any) -> Any:
    first = 0 if context["segment"] == "a" else 1
    return np.where(np.arange(len(arms)) == first, 0.6, 0.4 / (len(arms) - 1))


def summary(
    decider: adapter.Decider,
    *,
    explain: Any = (),
    audit: dict[str, Any] | None = None,
    replay: Any = (),
    value: Any = ("projection",),
    last: int = 40,
) -> dict[str, Any]:
    """Return what a decider decided and says of itself, in full for the last decisions."""
    asked = {one["request_id"]: one for one in decider.asked}
    past = [_news(row, asked.get(row["request_id"], {})) for row in decider.history()]
    found: dict[str, Any] = {
        "chosen": [one["index"] for one in asked.values()],
        "decisions": [_news(one, {}) for one in asked.values()][-last:],
        "belief": decider.belief(),
        "history": past[-last:],
        "explained": {id: decider.explain(id) for id in explain},
    }
    if audit is not None:
        found["audit"] = decider.audit(**audit)
    if replay:
        found["replays"] = {
            f"{name}, {kind}": decider.replay(adapter.made(name), kind)
            for name in replay
            for kind in value
        }
    return found


def _news(row: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Return a row without what is known and what is not there."""
    absent = object()
    return {
        name: value
        for name, value in row.items()
        if name != "arm" and value is not None and value != [] and value != known.get(name, absent)
    }


CORPORA: dict[str, Callable[[Place], dict[str, Any]]] = {
    play.__name__: play
    for play in (
        item_effects, taught, half_life_by_decisions, half_life_by_time, amended, reconfigured,
        decayed, features_and_contexts, infinite, several, every_strategy, audited, groups_disagree,
        saved, two_processes, logs,
    )
}  # fmt: skip
SHARED = ("two_processes",)
"""Those that need a store."""
IN_MEMORY = ("saved", "logs")
"""Those that need none."""


def play(name: str, at: Place) -> dict[str, Any]:
    """Return what became of a corpus at a place."""
    with at.process.running():
        return CORPORA[name](at)
