"""Files that are full, read-only, cut short or damaged."""

import os
import random
import shutil
import subprocess
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import projbandits as pb
from projbandits.exceptions import DamagedError, UnavailableError
from projbandits.ledger import ledger
from projbandits.ledger.history import History
from tests.faults.kills import place
from tests.faults.verdicts import Outcomes
from tests.faults.workers import NAME, make, offer, outcome

ROOM = "600k"


@contextmanager
def small_disk() -> Iterator[Path]:
    """Give a folder on a disk that is soon full: a tmpfs of its own, which takes root to make."""
    with tempfile.TemporaryDirectory(prefix="small") as folder:
        command = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", folder]
        subprocess.run(command, check=True, capture_output=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def full(store: str, tries: int, rng: random.Random) -> Outcomes:
    """Fill the disk under a SQLite file, make room again and go on, this many times."""
    found: Outcomes = Counter()
    with small_disk() as folder:
        url, ballast = f"sqlite:///{folder}/films.db", folder / "ballast"
        decider = make(url)
        asked = told = 0
        for attempt in range(tries):
            ballast.write_bytes(b"x" * shutil.disk_usage(folder).free)
            for i in range(200):
                id = f"{attempt}-{i}"
                try:
                    decider.ask(offer(id), request_id=id)
                    asked += 1
                    decider.tell(id, outcome(id))
                    told += 1
                except UnavailableError as error:
                    named = str(folder) in str(error) and "room" in str(error)
                    found["refused by name" if named else f"UNNAMED: {error}"] += 1
                    break
            ballast.unlink()
            decider.ask(offer(id), request_id=id)
            decider.tell(id, outcome(id))  # the same calls again
            found["went on"] += 1
            found += _compared(url, decider)
            if shutil.disk_usage(folder).free < 100_000:
                break
        decider.close()
    return found


def _compared(url: str, decider: pb.Decider) -> Outcomes:
    """Tell whether what a decider believes is what the file says."""
    again = pb.Decider.open(url, NAME)
    same = again.ridge.factor.tobytes() == decider.ridge.factor.tobytes()
    counted = again.ridge.n == sum(record.told for record in again.history())
    return Counter({"the belief is that of the file" if same and counted else "WRONG BELIEF": 1})


def read_only(store: str, tries: int, rng: random.Random) -> Outcomes:
    """Make the file read-only, for this process and for one that opens it."""
    found: Outcomes = Counter()
    with place("sqlite") as (url, _, _):
        path = Path(url.removeprefix("sqlite:///"))
        filled(url, 5).close()
        with _immutable(path):
            try:
                decider = pb.Decider.open(url, NAME)
                decider.ask(offer("x"), request_id="x")
                found["WRITTEN TO A READ-ONLY FILE"] += 1
            except UnavailableError as error:
                named = str(path) in str(error) and "write" in str(error)
                found["refused by name" if named else f"UNNAMED: {error}"] += 1
        decider = pb.Decider.open(url, NAME)
        decider.tell(decider.ask(offer("x"), request_id="x").id, 1.0)
        found["went on"] += decider.ridge.n == 6
    return found


@contextmanager
def _immutable(path: Path) -> Iterator[None]:
    """Keep everybody from writing a folder: root may, unless it is mounted so."""
    if os.geteuid():
        path.chmod(0o444)
        path.parent.chmod(0o555)
        try:
            yield
        finally:
            path.parent.chmod(0o755)
            path.chmod(0o644)
        return
    folder = str(path.parent)
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def filled(url: str, decisions: int) -> pb.Decider:
    """Return a decider that has asked and been told."""
    decider = make(url)
    for i in range(decisions):
        decider.tell(decider.ask(offer(str(i)), request_id=str(i)).id, outcome(str(i)))
    return decider


def damage(store: str, tries: int, rng: random.Random) -> Outcomes:
    """Flip a bit of a SQLite file, or cut it short, this many times, and open it each time."""
    found: Outcomes = Counter()
    with place("sqlite") as (url, folder, _):
        path = Path(url.removeprefix("sqlite:///"))
        every, ledger.EVERY = ledger.EVERY, 100  # so there is a snapshot
        decider = filled(url, 60)
        ledger.EVERY = every
        truth = decider.ridge.factor.tobytes()
        decider.close()
        content = path.read_bytes()
        for attempt in range(tries):
            damaged = bytearray(content)
            if attempt % 4:
                damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            else:
                del damaged[rng.randrange(len(content)) :]
            copy = folder / f"{attempt}.db"
            copy.write_bytes(damaged)
            kind = "flipped" if attempt % 4 else "cut short"
            found[f"{kind}: {_opened(copy, truth)}"] += 1
            for file in folder.glob(f"{attempt}.db*"):
                file.unlink()
    return found


def _opened(path: Path, truth: bytes) -> str:
    """Open a damaged file, use it, and tell what it came to."""
    url = f"sqlite:///{path}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            decider = pb.Decider.open(url, NAME)
            if decider.ridge.factor.tobytes() != truth:
                return "SILENTLY WRONG"
            decider.tell(decider.ask(offer("new"), request_id="new").id, 1.0)
            _everything(decider.history())
            decider.close()
    except (DamagedError, UnavailableError, KeyError) as error:
        return "refused by name" if path.name in str(error) else f"UNNAMED {error!r}"
    return "unharmed"


def _everything(history: History) -> None:
    assert sum(record.told for record in history) == 61
    history.arms()
