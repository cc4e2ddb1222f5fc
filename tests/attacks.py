"""Attacks on what the library promises; the tests run short forms of them.

By hand, for as long as you like: `python -m tests.attacks flips --tries 600`. An attack returns how
often it came to what; an outcome in CAPITALS must not occur, and makes the command fail.
"""

import argparse
import multiprocessing
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import projbandits as pb
from tests.scales import attack

PROBLEM = pb.problems.random_arms(d=3, arms=6, u=1)
STRATEGIES = [pb.GENTRY(), pb.UE()]
Outcomes = Counter[str]
_barrier: Any = None


def run(**options: Any) -> pb.Result:
    size: dict[str, Any] = {"trials": 32, "horizon": 40, "progress": False, **options}
    return pb.simulate(PROBLEM, STRATEGIES, **size)


def same(one: pb.Result, other: pb.Result) -> bool:
    return all(np.array_equal(value, vars(other)[name]) for name, value in vars(one).items())


def flips(tries: int, rng: np.random.Generator) -> Outcomes:
    """Flip one bit of a store's files, and one of a saved result, this many times each."""
    outcomes: Outcomes = Counter()
    with tempfile.TemporaryDirectory() as folder:
        store, file = Path(folder, "store"), Path(folder, "result.parquet")
        truth = run(cache_dir=store)
        truth.save(file)
        for name, files, read in (
            ("store", sorted(store.iterdir()), lambda: run(cache_dir=store)),
            ("result", [file], lambda: pb.Result.load(file)),
        ):
            for _ in range(tries):
                outcomes[f"{name}: {_flip(files, read, truth, rng)}"] += 1
    return outcomes


def _flip(
    files: list[Path], read: Callable[[], pb.Result], truth: pb.Result, rng: np.random.Generator
) -> str:
    sizes = np.array([file.stat().st_size for file in files])
    file = files[rng.choice(len(files), p=sizes / sizes.sum())]
    content = file.read_bytes()
    flipped = bytearray(content)
    flipped[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    file.write_bytes(flipped)
    try:
        return "unharmed" if same(read(), truth) else "SILENTLY WRONG"
    except ValueError as error:
        return "refused" if file.name in str(error) or str(file.parent) in str(error) else "UNNAMED"
    except Exception as error:
        return type(error).__name__.upper()
    finally:
        file.write_bytes(content)


def starts(tries: int, rng: np.random.Generator) -> Outcomes:
    """Start two processes with two seeds on one new store at the same time, this many times."""
    outcomes: Outcomes = Counter()
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(
            2, mp_context=context, initializer=_meet, initargs=(context.Barrier(2),)
        ) as pool,
    ):
        started = [pool.submit(_start_all, folder, tries, seed) for seed in (0, 1)]
        ran = [each.result() for each in started]  # Python 3.12.1 would take `run` for a local
        truth = [run(seed=seed) for seed in (0, 1)]
        for i in range(tries):
            outcomes[_after_start(Path(folder, str(i)), [seed[i] for seed in ran], truth)] += 1
    return outcomes


def _meet(barrier: Any) -> None:
    global _barrier
    _barrier = barrier


def _start_all(folder: str, tries: int, seed: int) -> list[bool]:
    """Return in which of the stores this seed was run, rather than refused."""
    run(seed=seed)  # compiles
    ran = []
    for i in range(tries):
        _barrier.wait()
        try:
            run(seed=seed, cache_dir=Path(folder, str(i)))
            ran.append(True)
        except ValueError:
            ran.append(False)
    return ran


def _after_start(store: Path, ran: list[bool], truth: list[pb.Result]) -> str:
    if sum(ran) != 1:
        return f"{sum(ran)} RUNS INSTEAD OF ONE"
    winner = ran.index(True)
    try:
        again = run(seed=winner, cache_dir=store)
    except ValueError:
        return "POISONED"
    return "one ran, one was refused" if same(again, truth[winner]) else "SILENTLY WRONG"


def scales(tries: int, rng: np.random.Generator) -> Outcomes:
    """Give a decider columns and outcomes of scales from 1e-12 to 1e12, in `tries` runs."""
    outcomes: Outcomes = Counter()
    for seed in range(tries):
        failure = attack(seed)
        outcomes["a result or a named refusal" if failure is None else f"FAILED: {failure}"] += 1
    return outcomes


ATTACKS = {attack.__name__: attack for attack in (flips, scales, starts)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attack", choices=ATTACKS)
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    outcomes = ATTACKS[options.attack](options.tries, np.random.default_rng(options.seed))
    for outcome, times in sorted(outcomes.items()):
        print(f"{times:>8,}  {outcome}")
    sys.exit(any(word.isupper() for outcome in outcomes for word in outcome.split()))


if __name__ == "__main__":
    main()
