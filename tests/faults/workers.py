"""A process that asks and tells, and notes in a file of its own what it was promised.

Each line of the journal is written before a call (`ask`, `tell`) or after it returned (`asked`,
`told`), with the time. A line is handed to the operating system before the next step, so it
survives the death of the process. A worker that finds a journal goes on where that ends: it makes
the last call again, with the same id.
"""

import os
import random
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

import projbandits as pb

Answer = TypeVar("Answer")

NAME = "films"
ITEMS = np.random.default_rng(0).normal(size=(60, 4))
OFFERED = 8
U = pb.Subspace.coordinates(range(2), d=4)


class Line(NamedTuple):
    """What a worker noted: when (in nanoseconds), what, about which id, and the figures."""

    time: int
    what: str
    id: str
    figures: tuple[str, ...]


def make(url: str) -> pb.Decider:
    """Make the decider that all workers share, or join it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pb.Decider(pb.GENTRY(), subspace=U, seed=0, store=url, name=NAME)


def offer(id: str) -> np.ndarray:
    """Return what is on offer under an id: always the same."""
    rng = random.Random(zlib.crc32(id.encode()))
    return ITEMS[rng.sample(range(len(ITEMS)), OFFERED)]


def outcome(id: str) -> float:
    """Return the outcome of a decision: always the same."""
    return (zlib.crc32(id.encode()) % 1000) / 1000


def lines(journal: Path) -> Iterator[Line]:
    """Read a journal; a last line without its end was never written."""
    if journal.exists():
        for line in journal.read_text().split("\n")[:-1]:
            when, what, id, *figures = line.split(" ")
            yield Line(int(when), what, id, tuple(figures))


def work(url: str, folder: Path, worker: int, until: float) -> None:
    """Ask and tell until a time; tell decisions of others too."""
    mine = folder / f"{worker}.journal"
    journal = os.open(mine, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def note(what: str, id: str, *figures: object) -> None:
        text = " ".join(map(str, (time.monotonic_ns(), what, id, *figures)))
        os.write(journal, f"{text}\n".encode())

    before = list(lines(mine))
    made = sum(line.what == "asked" for line in before)
    waiting = [line.id for line in before if line.what == "asked"]
    told = {line.id for line in before if line.what == "told"}
    waiting = [id for id in waiting if id not in told]
    rng = random.Random(f"{worker} {len(before)}")
    joined = patiently(lambda: make(url), until)
    if joined is None:
        return
    (decider,) = joined

    def tell(id: str) -> None:
        note("tell", id)
        if patiently(lambda: decider.tell(id, outcome(id)), until) is not None:
            note("told", id)

    while time.time() < until:
        action = rng.random()
        if waiting and (len(waiting) > 20 or action < 0.5):
            tell(waiting.pop(rng.randrange(len(waiting))))  # in any order
        elif action < 0.6:
            theirs = other(folder, rng)
            if theirs is not None:
                tell(theirs)
        else:
            id = f"{worker}-{made}"
            note("ask", id)
            asked = patiently(partial(decider.ask, offer(id), request_id=id), until)
            if asked is not None:
                note("asked", id, asked[0].index, asked[0].propensity.hex())
                made += 1
                waiting.append(id)


def patiently(call: Callable[[], Answer], until: float) -> tuple[Answer] | None:
    """Make a call again while its store is away, as its user would; None when time is up."""
    while time.time() < until + 20:
        try:
            return (call(),)
        except OSError:
            time.sleep(0.05)
    return None


def other(folder: Path, rng: random.Random) -> str | None:
    """Return an id that some worker was given."""
    journal = rng.choice(sorted(folder.glob("*.journal")))
    asked = [line.id for line in lines(journal) if line.what == "asked"]
    return rng.choice(asked) if asked else None
