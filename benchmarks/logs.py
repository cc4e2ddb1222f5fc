"""Logs at size, beside pyarrow and OBP: `python -m benchmarks.logs [--only NAME] [--scale SHARE]`.

Everything is made in a temporary folder. OBP (the Open Bandit Pipeline) asks for torch, which its
estimators need only to tell tensors from arrays, so they are loaded from its wheel as they are,
beside a `torch` with nothing but that name: `pip download --no-deps obp` fetches it. Each figure
runs in a process of its own, whose peak memory is reported.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import types
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

D, ARMS = 20, 20
PI = np.random.default_rng(1).dirichlet(np.ones(ARMS))


STARS = ("", "*")
SMALL = {"item": np.array([0, 1]), "p": np.array([0.5, 0.5]), "click": np.array([0.0, 1.0])}
COLUMNS = {"action": "item", "propensity": "p", "outcome": "click"}


def policy(arms: Any, context: Any) -> Any:
    """Choose as always."""
    return PI


def fit_log(folder: Path, rows: int) -> Path:
    """Write rows of D features and a return."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    path, rng, per, writer = folder / f"fit{rows}.parquet", np.random.default_rng(0), 500_000, None
    if path.exists():
        return path
    for _ in range(0, rows, per):
        X = rng.normal(size=(per, D))
        columns = {f"x{j}": X[:, j] for j in range(D)}
        table = pa.table({**columns, "r": X.sum(axis=1) + rng.normal(size=per)})
        writer = writer or pq.ParquetWriter(path, table.schema, use_dictionary=False)
        writer.write_table(table, row_group_size=per)
    assert writer is not None
    writer.close()
    return path


def action_log(folder: Path, rows: int) -> Path:
    """Write rows of an arm, its propensity, a click, and a segment that a policy may look at."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    path, rng, per, writer = folder / f"log{rows}.parquet", np.random.default_rng(0), 500_000, None
    p = rng.dirichlet(5 * np.ones(ARMS))
    for _ in range(0, rows, per):
        action = rng.choice(ARMS, size=per, p=p)
        table = pa.table(
            {
                "item": action,
                "p": p[action],
                "click": (rng.random(per) < 0.1 + 0.02 * action).astype(np.float64),
                "segment": rng.integers(0, 10, per),
            }
        )
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=per)
    assert writer is not None
    writer.close()
    return path


def opened(path: Path, **changed: Any) -> Any:
    """Return the log of arms in a plane of five features."""
    import projbandits as pb

    arms = np.random.default_rng(2).normal(size=(ARMS, 5))
    return pb.Log.from_table(path, arms, **COLUMNS, **changed)


def read(path: Path) -> dict[str, float]:
    """Time pyarrow reading the columns piece by piece, in as many threads as there are cores."""
    from concurrent.futures import ThreadPoolExecutor

    from pyarrow import parquet as pq

    file = pq.ParquetFile(path)

    def one(group: int) -> int:
        return int(pq.ParquetFile(path).read_row_group(group, use_threads=False).num_rows)

    start = time.perf_counter()
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        rows = sum(threads.map(one, range(file.num_row_groups)))
    return {"seconds": time.perf_counter() - start, "rows": rows}


def fit(path: Path) -> dict[str, float]:
    """Time `Log.fit`."""
    import projbandits as pb

    log = pb.Log.from_table(path, features=[f"x{j}" for j in range(D)], outcome="r")
    start = time.perf_counter()
    found = log.fit()
    return {"seconds": time.perf_counter() - start, "rows": found.ridge.n, "theta": found.theta[0]}


def replayed(path: Path) -> dict[str, float]:
    """Time `replay` of a fixed policy, all estimates with intervals."""
    _load()
    return _judged(path, None)


def _judged(table: Any, *executors: Any, **changed: Any) -> dict[str, float]:
    """Return the first and the median seconds of five replays, their work, and the estimates.

    With several executors in turn, what is after the first has their numbers with a star.
    """
    import projbandits as pb

    found: dict[str, float] = {}
    times: list[tuple[list[float], list[float]]] = [([], []) for _ in executors]
    for _ in range(5):
        for star, executor, (seconds, work) in zip(STARS, executors, times, strict=False):
            log = opened(table, **changed)
            start, before = time.perf_counter(), time.process_time()
            values = pb.replay(log, policy, value="return", executor=executor).estimates()["value"]
            seconds.append(time.perf_counter() - start)
            work.append(time.process_time() - before)
            found |= {f"{name}{star}": float(value) for name, value in values.items()}
    for star, (seconds, work) in zip(STARS, times, strict=False):
        found[f"seconds{star}"], found[f"first{star}"] = float(np.median(seconds)), seconds[0]
        found[f"work{star}"] = min(work)
    return found


def _load() -> None:
    """Judge a log of two rows, so that everything is imported."""
    import projbandits as pb

    pb.replay(pb.Log.from_table(SMALL, np.eye(2), **COLUMNS), "p", value="return").estimates()


def on_dask(path: Path, **changed: Any) -> dict[str, float]:
    """Time `replay` here and on a Dask cluster of two processes in turn.

    The first time, its workers import the library as well.
    """
    from distributed import Client, LocalCluster

    _load()
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
        client.get_executor() as executor,
    ):
        return _judged(path, None, executor, **changed)


def by_segment_on_dask(path: Path) -> dict[str, float]:
    """Time `replay` with a context on such a cluster."""
    return on_dask(path, context="segment")


def _arrays(path: Path) -> dict[str, Any]:
    """Return the columns of a log as arrays."""
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["item", "p", "click"])
    return {name: table[name].to_numpy() for name in ("item", "p", "click")}


def at_hand(path: Path) -> dict[str, float]:
    """Time `replay` of arrays in memory, all estimates with intervals."""
    _load()
    return _judged(_arrays(path), None)


def by_obp(path: Path) -> dict[str, float]:
    """Time OBP's IPW: all of it, from the file to the estimate, and the call alone on arrays."""
    estimators = obp(path.parent)
    start = time.perf_counter()
    table = _arrays(path)
    making, before = time.perf_counter(), time.process_time()
    spread = np.ascontiguousarray(np.broadcast_to(PI[None, :, None], (len(table["p"]), ARMS, 1)))
    making, making_work = time.perf_counter() - making, time.process_time() - before
    given = {
        "reward": table["click"],
        "action": table["item"],
        "pscore": table["p"],
        "action_dist": spread,
    }
    estimator, alone, work = estimators.InverseProbabilityWeighting(), [], []
    for _ in range(5):
        made, before = time.perf_counter(), time.process_time()
        value = estimator.estimate_policy_value(**given)
        alone.append(time.perf_counter() - made)
        work.append(time.process_time() - before)
        if len(alone) == 1:
            whole = time.perf_counter() - start
    return {
        "seconds": whole,
        "alone": float(np.median(alone)),
        "made": making + float(np.median(alone)),
        "work": min(work),
        "made work": making_work + min(work),
        "arm by arm": float(value),
    }


def obp(folder: Path) -> Any:
    """Return OBP's estimators from its wheel."""
    wheel = next(folder.glob("obp-*.whl"), None)
    if wheel is None:
        call = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "obp", "-d", folder]
        subprocess.run(list(map(str, call)), check=True)
        wheel = next(folder.glob("obp-*.whl"))
    place = folder / "obp"
    with zipfile.ZipFile(wheel) as file:
        file.extractall(place)
    torch = types.ModuleType("torch")
    torch.Tensor = type("Tensor", (), {})  # type: ignore[attr-defined]
    sys.modules["torch"] = torch
    for name in ("obp", "obp.ope"):
        module = types.ModuleType(name)
        module.__path__ = [str(place / name.replace(".", "/"))]
        sys.modules[name] = module
    return importlib.import_module("obp.ope.estimators")


def equal(path: Path) -> dict[str, float]:
    """Return how far IPW and DR are from OBP's, where arms are independent."""
    import projbandits as pb
    from projbandits.evaluation.cells import FOLDS

    estimators, rng, n = obp(path.parent), np.random.default_rng(0), 20_000
    p = 0.5 * rng.dirichlet(np.ones(ARMS)) + 0.5 / ARMS  # so that each arm is chosen
    action = rng.choice(ARMS, size=n, p=p)
    reward = rng.normal(size=n) + action / ARMS
    chances = {f"p{arm}": np.full(n, chance) for arm, chance in enumerate(p)}
    table = {"a": action, "r": reward, **chances}
    log = pb.Log.from_table(table, np.eye(ARMS), action="a", propensity=[*chances], outcome="r")
    judged = pb.replay(log, policy, value="return", clip=1e9)
    spread = np.ascontiguousarray(np.broadcast_to(PI[None, :, None], (n, ARMS, 1)))
    predicted = judged.setting.thetas[np.arange(n) % FOLDS][:, :, None]
    given = {"reward": reward, "action": action, "pscore": p[action], "action_dist": spread}
    found = judged.estimates()["value"]
    ipw = estimators.InverseProbabilityWeighting().estimate_policy_value(**given)
    snipw = estimators.SelfNormalizedInverseProbabilityWeighting().estimate_policy_value(**given)
    given["estimated_rewards_by_reg_model"] = predicted
    doubly = estimators.DoublyRobust().estimate_policy_value(**given)
    return {
        "IPW": max(abs(found["arm by arm"] - ipw), abs(found["linear weights"] - ipw)),
        "SNIPW": abs(found["arm by arm, self-normalised"] - snipw),
        "DR": max(
            abs(found["arm by arm, doubly robust"] - doubly),
            abs(found["linear weights, doubly robust"] - doubly),
        ),
    }


def ledger(path: Path, decisions: int) -> dict[str, float]:
    """Time a ledger's decisions on 100 of 1,000 items, each judged by a policy of its own.

    They are written to the ledger fifty at a time, chosen at random: to ask for a million
    one by one takes many times as long as to judge them.
    """
    import projbandits as pb

    rng = np.random.default_rng(0)
    items, theta = rng.normal(size=(1000, 5)), rng.normal(size=5)
    U = pb.Subspace.coordinates(range(3), d=5)
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=0)
    for first in range(0, decisions, 50):
        _decided(decider, items, theta, range(first, min(first + 50, decisions)), rng)
    decider.refresh()
    _load()
    start, work = time.perf_counter(), time.process_time()
    found = pb.replay(pb.Log.from_ledger(decider), _softmax, value="return").estimates()
    return {
        "seconds": time.perf_counter() - start,
        "work": time.process_time() - work,
        "rows": decisions,
        "model": float(found.loc["model", "value"]),
    }


def _decided(decider: Any, items: Any, theta: Any, steps: range, rng: Any) -> None:
    """Write decisions among 100 items each, and their outcomes, to a decider's ledger."""
    from projbandits.ledger.events import Decided, Offered, Told

    offers = (rng.integers(0, 900, len(steps))[:, None] + np.arange(100)).astype(np.uint16)
    chosen = rng.integers(0, 100, len(steps))
    arms = items[offers[np.arange(len(steps)), chosen]]
    returns = arms @ theta + rng.normal(size=len(steps))
    events: list[Any] = [Offered(0, items)] if steps.start == 0 else []
    for t, rows, index, arm in zip(steps, offers, chosen.tolist(), arms, strict=True):
        events.append(Decided(str(t), 1e9 + t, t + 1, 1, t, index, 0.01, 0.0, 1.0, arm, rows))
    events += [Told(str(t), 1e9 + t, r) for t, r in zip(steps, returns.tolist(), strict=True)]
    decider.history().ledger.transact(lambda tx: [tx.append(event, new=True) for event in events])


def _often(t: int) -> float:
    return 0.5


def _softmax(arms: Any, context: Any) -> Any:
    chances = np.exp(arms[:, 0] - 3.0)
    return chances / chances.sum()


def foreign(path: Path, rows: int) -> dict[str, float]:
    """Time the replay of a decider's table that lost its attrs."""
    import projbandits as pb

    rng = np.random.default_rng(0)
    U = pb.Subspace.coordinates([0, 1], d=3)
    decider = pb.Decider(pb.GENTRY(schedule=_often), subspace=U, seed=0)
    for _ in range(rows):
        decision = decider.ask(rng.normal(size=(6, 3)))
        decider.tell(decision, float(decision.arm.sum() + rng.normal()))
    table = decider.log()
    table.attrs = {}
    start = time.perf_counter()
    pb.replay(table, pb.GENTRY(), subspace=U)
    return {"seconds": time.perf_counter() - start, "rows": rows}


def held(path: Path, rows: int) -> dict[str, float]:
    """Time some work with BLAS held to one thread, and free to start as many as it likes.

    Once with the machine to itself, and once beside two processes for each core that only count.
    """
    works = {"replay": _replaying(rows), "ask": _asking(10), "find": _finding(rows)}
    found: dict[str, float] = {}
    for busy in ("idle", "busy"):
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                  for _ in range(2 * (os.cpu_count() or 1) * (busy == "busy"))]  # fmt: skip
        try:
            for name, work in works.items():
                one, free = _both(work)
                found |= {f"{name}, {busy}, one": one, f"{name}, {busy}, any": free}
        finally:
            for other in others:
                other.kill()
    return found


def _both(work: Callable[[], Any]) -> tuple[float, float]:
    """Return the median seconds of some work, with BLAS held and not."""
    from projbandits import _blas

    libraries = _blas._libraries
    found: dict[bool, list[float]] = {True: [], False: []}
    work()
    for _ in range(3):
        for holds, seconds in found.items():
            _blas._libraries = libraries if holds else list  # type: ignore[assignment]
            start = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - start)
    _blas._libraries = libraries
    return float(np.median(found[True])), float(np.median(found[False]))


def _replaying(rows: int) -> Callable[[], Any]:
    """Return the replay of decisions on 60 arms in 40 dimensions."""
    import projbandits as pb

    rng = np.random.default_rng(0)
    U = pb.Subspace.coordinates(range(20), d=40)
    decider = pb.Decider(pb.GENTRY(schedule=_often), subspace=U, seed=0)
    for _ in range(rows):
        decider.tell(decider.ask(rng.normal(size=(60, 40))), float(rng.normal()))
    table = decider.log()
    return lambda: pb.replay(table, pb.CURSE())


def _asking(rounds: int) -> Callable[[], Any]:
    """Return decisions on 1,000 arms in 100 dimensions, with their outcomes."""
    import projbandits as pb

    arms = np.random.default_rng(0).normal(size=(1000, 100))
    decider = pb.Decider(pb.UE(), subspace=pb.Subspace.coordinates(range(50), d=100), seed=0)

    def work() -> None:
        for _ in range(rounds):
            decider.tell(decider.ask(arms), 1.0)

    return work


def _finding(rows: int) -> Callable[[], Any]:
    """Return how a subspace is found from attributes of items in 40 dimensions."""
    import projbandits as pb

    rng = np.random.default_rng(0)
    X, z = rng.normal(size=(rows, 40)), rng.normal(size=(rows, 2))
    return lambda: pb.find_subspace(attributes=(X, z), leave_out=1)


def alone(name: str, *arguments: Any) -> dict[str, float]:
    """Return what a figure shows in a process of its own, with its peak memory in GB."""
    code = (
        "import json, resource, sys; from pathlib import Path; from benchmarks import logs\n"
        f"found = logs.{name}(Path({str(arguments[0])!r}), *{arguments[1:]!r})\n"
        "found['GB'] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20\n"
        "print(json.dumps({k: float(v) for k, v in found.items()}))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def show_fit(folder: Path, rows: int) -> None:
    """Print `Log.fit` beside pyarrow."""
    path = fit_log(folder, rows)
    reading, fitting = alone("read", path), alone("fit", path)
    ratio = fitting["seconds"] / reading["seconds"]
    print(
        f"fit, {rows:,} rows, d = {D}: {fitting['seconds']:.1f} s, reading "
        f"{reading['seconds']:.1f} s, {ratio:.2f} times; {fitting['GB']:.2f} GB"
    )


def show_replay(folder: Path, rows: int) -> None:
    """Print `replay` beside OBP, and on a cluster."""
    path = action_log(folder, rows)
    ours, arrays, theirs = alone("replayed", path), alone("at_hand", path), alone("by_obp", path)
    away = abs(ours["arm by arm"] - theirs["arm by arm"])
    print(f"replay, {rows:,} rows, {ARMS} arms; apart from OBP by {away:.1e}")
    for where, mine, other in (
        ("from the file", ours, theirs["seconds"]),
        ("of arrays at hand", arrays, theirs["made"]),
        ("of arrays at hand, its array of probabilities too", arrays, theirs["alone"]),
    ):
        print(
            f"- {where}: all estimates with intervals {mine['seconds']:.2f} s, "
            f"{rows / mine['seconds'] / 1e6:.0f} million rows a second, {mine['GB']:.2f} GB; OBP's "
            f"IPW {other:.2f} s, {rows / other / 1e6:.1f} million, {theirs['GB']:.2f} GB: "
            f"{other / mine['seconds']:.1f} times"
        )
    print(
        f"- processor time of arrays at hand: {arrays['work']:.3f} s, OBP's "
        f"{theirs['made work']:.3f} s ({theirs['made work'] / arrays['work']:.1f} times), its call "
        f"alone {theirs['work']:.3f} s ({theirs['work'] / arrays['work']:.1f} times)"
    )
    for what, name in (("the same", "on_dask"), ("with a context", "by_segment_on_dask")):
        both = alone(name, path)
        times = ("seconds", "first", "work")
        values = [each for each in both if f"{each}*" in both and each not in times]
        away = max(abs(both[f"{each}*"] - both[each]) for each in values)
        print(
            f"- {what}: {both['seconds']:.2f} s in one process, {both['seconds*']:.2f} s on a Dask "
            f"cluster of two ({both['seconds*'] / both['seconds']:.2f} times; the first time "
            f"{both['first*']:.1f} s); apart by {away:.1e}"
        )


def show_equal(folder: Path, rows: int) -> None:
    """Print how far estimates are from OBP's."""
    found = alone("equal", folder / "none")
    away = [f"{name} {value:.1e}" for name, value in found.items() if name != "GB"]
    print(f"differences from OBP: {', '.join(away)}")


def show_ledger(folder: Path, rows: int) -> None:
    """Print how long a ledger takes."""
    found = alone("ledger", folder / "none", rows)
    print(
        f"ledger, {rows:,} decisions on 100 of 1,000 items: {found['seconds']:.1f} s "
        f"({found['work']:.1f} s of work), {found['GB']:.2f} GB with the ledger itself"
    )


def show_foreign(folder: Path, rows: int) -> None:
    """Print how tables without attrs grow."""
    for size in (rows, 2 * rows, 4 * rows):
        found = alone("foreign", folder, size)
        print(f"a table without attrs, {size:,} rows: {found['seconds']:.1f} s")


def show_held(folder: Path, rows: int) -> None:
    """Print what holding BLAS to one thread saves."""
    found = alone("held", folder, rows)
    for name, what in (
        ("replay", f"replay of {rows:,} decisions on 60 arms in 40 dimensions"),
        ("ask", "10 decisions on 1,000 arms in 100 dimensions"),
        ("find", f"find_subspace from {rows:,} items in 40 dimensions"),
    ):
        for busy in ("idle", "busy"):
            one, free = (found[f"{name}, {busy}, {how}"] for how in ("one", "any"))
            print(f"{what}, {busy} machine: BLAS in one thread {one:.2f} s, in any {free:.2f} s")


FIGURES: dict[str, tuple[Callable[[Path, int], None], int]] = {
    "equal": (show_equal, 0),
    "foreign": (show_foreign, 2000),
    "threads": (show_held, 500),
    "fit": (show_fit, 20_000_000),
    "replay": (show_replay, 5_000_000),
    "ledger": (show_ledger, 1_000_000),
}


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=FIGURES, help="one figure")
    parser.add_argument("--scale", type=float, default=1.0, help="a share of the rows")
    parser.add_argument("--folder", type=Path, help="where to keep what is made")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, (show, rows) in FIGURES.items():
            if given.only in (None, name):
                show(folder, int(rows * given.scale))


if __name__ == "__main__":
    print(f"{os.cpu_count()} cores, {resource.getpagesize()} bytes a page", file=sys.stderr)
    main()
