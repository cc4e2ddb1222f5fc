"""A write-ahead log that is damaged, and one that ends in the middle of a transaction."""

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import projbandits as pb
from projbandits.exceptions import DamagedError
from projbandits.ledger import write_ahead
from projbandits.ledger.write_ahead import FRAME_HEADER, HEADER, log_damage
from tests.naive import write_ahead_checksum
from tests.worlds import U3

PAGE = 4096
FRAME = FRAME_HEADER + PAGE


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_ahead, "PAUSE", 0.0)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a store as a process leaves it that is killed: all of it is in the log."""
    folder = tmp_path_factory.mktemp("killed")
    decider = pb.Decider(
        pb.GENTRY(), subspace=U3, seed=0, store=f"sqlite:///{folder}/a.db", name="a"
    )
    for _ in range(20):
        decider.tell(decider.ask(np.eye(3)), 1.0)
    shutil.copy(folder / "a.db", folder / "films.db")
    shutil.copy(folder / "a.db-wal", folder / "films.db-wal")
    decider.close()
    return folder / "films.db"


def _log(path: Path) -> Path:
    return Path(f"{path}-wal")


def _commits(data: bytes) -> list[int]:
    """Return the frames that end a transaction."""
    frames = range((len(data) - HEADER) // FRAME)
    return [i for i in frames if any(data[HEADER + i * FRAME + 4 : HEADER + i * FRAME + 8])]


@pytest.mark.parametrize("order", ["<u4", ">u4"])
def test_checksums_are_those_of_the_format(order: str) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(2**32, size=(5, 26), dtype=np.uint32).astype(order)
    start = rng.integers(2**32, size=(5, 2), dtype=np.uint32)
    expected = [
        write_ahead_checksum(row.tolist(), (int(s), int(t)))
        for row, (s, t) in zip(rows, start, strict=True)
    ]
    assert write_ahead._summed(rows, start).tolist() == [list(pair) for pair in expected]


def test_a_changed_byte_is_found_unless_it_could_be_a_transaction_that_never_ended(
    killed: Path, tmp_path: Path
) -> None:
    path, data = tmp_path / "films.db", _log(killed).read_bytes()
    before_last = _commits(data)[-2]
    rng = np.random.default_rng(0)
    for at in [*range(0, HEADER, 3), *rng.integers(HEADER, len(data), size=60).tolist()]:
        changed = bytearray(data)
        changed[at] ^= 1 << int(rng.integers(8))
        _log(path).write_bytes(changed)
        frame = (at - HEADER) // FRAME
        assert (log_damage(str(path)) is None) == (frame > before_last), at


def test_a_log_that_ends_anywhere_is_sound(killed: Path, tmp_path: Path) -> None:
    path, data = tmp_path / "films.db", _log(killed).read_bytes()
    for size in [0, 10, HEADER, *np.random.default_rng(0).integers(len(data), size=40).tolist()]:
        _log(path).write_bytes(data[:size])
        assert log_damage(str(path)) is None


def test_nothing_is_opened_that_would_lose_what_was_acknowledged(
    killed: Path, tmp_path: Path
) -> None:
    path = tmp_path / "films.db"
    shutil.copy(killed, path)
    changed = bytearray(_log(killed).read_bytes())
    changed[len(changed) // 2] ^= 1
    _log(path).write_bytes(changed)
    for _ in range(2):  # and SQLite had no chance to forget it
        with pytest.raises(
            DamagedError, match=r"films\.db-wal is damaged: frame .* restore it from a"
        ):
            pb.Decider.open(f"sqlite:///{path}", "a")
    assert _log(path).read_bytes() == changed
    shutil.copy(_log(killed), _log(path))
    decider = pb.Decider.open(f"sqlite:///{path}", "a")
    assert decider.ridge.n == 20
    decider.close()


def test_what_is_left_of_an_older_log_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "films.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE seen (number INTEGER, text TEXT)")
        for i in range(20):
            connection.execute("INSERT INTO seen VALUES (?, ?)", [i, 3000 * "x"])
        connection.execute("PRAGMA wal_checkpoint(RESTART)")
        for i in range(3):
            connection.execute("INSERT INTO seen VALUES (?, ?)", [i, "y"])
        data = _log(path).read_bytes()
    copy = tmp_path / "copy.db"
    commits = _commits(data)
    assert len(commits) > 20
    for frame, found in ((commits[0], True), (commits[-1] - 3, False)):
        changed = bytearray(data)
        changed[HEADER + frame * FRAME + 1000] ^= 1
        _log(copy).write_bytes(changed)
        assert (log_damage(str(copy)) is not None) == found


def test_a_log_that_is_being_written_is_sound(tmp_path: Path) -> None:
    path, ended = tmp_path / "films.db", threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA wal_autocheckpoint=20")  # it begins anew again and again
            connection.execute("CREATE TABLE seen (number INTEGER, text TEXT)")
            while not ended.is_set():
                connection.execute("INSERT INTO seen VALUES (1, ?)", [3000 * "x"])

    writing = threading.Thread(target=write)
    writing.start()
    try:
        found = [log_damage(str(path)) for _ in range(300)]
    finally:
        ended.set()
        writing.join()
    assert set(found) == {None}
