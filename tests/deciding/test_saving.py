"""A decider's file: it goes on exactly, and damage or a kill never passes for a decider."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest

import projbandits as pb
from projbandits.ledger.events import GENESIS, encode, kind_of, link
from tests.deciders import fingerprint
from tests.worlds import U3

U = pb.Subspace.without("age", columns=["age", "price", "size"])


def constant(t: int) -> float:
    return 0.5


def played(strategy: pb.GENTRY | None = None) -> pb.Decider:
    decider = pb.Decider(strategy or pb.GENTRY(alpha=3.0), subspace=U, seed=1)
    rng = np.random.default_rng(0)
    for t in range(30):
        decision = decider.ask(rng.normal(size=(5, 3)))
        if t % 3:
            decider.tell(decision.id, float(rng.normal()))
    return decider


def test_a_restored_copy_repeats_neither_ids_nor_choices(tmp_path: Path) -> None:
    """What was asked after the save stays with whoever asked it."""
    one = played()
    one.save(tmp_path / "decider")
    lost = [one.ask(np.eye(3)) for _ in range(30)]  # and then it crashed
    copies = [pb.Decider.load(tmp_path / "decider") for _ in range(2)]
    made = [[copy.ask(np.eye(3)) for _ in range(30)] for copy in copies]
    ids = [decision.id for some in (lost, *made) for decision in some]
    assert len(set(ids)) == len(ids)
    choices = [tuple(decision.index for decision in some) for some in (lost, *made)]
    assert len(set(choices)) == 3
    before = fingerprint(copies[0])
    with pytest.raises(KeyError, match="is unknown"):
        copies[0].tell(lost[0].id, 1.0)
    assert fingerprint(copies[0]) == before


def test_columns_and_the_warning_are_remembered(tmp_path: Path) -> None:
    one = pb.Decider(subspace=pb.Subspace.span(np.ones((2, 1))), seed=0)
    with pytest.warns(UserWarning, match="cannot identify"):
        one.ask(pd.DataFrame([[1.0, 0.0]], columns=["b", "a"]))
    one.save(tmp_path / "decider")
    two = pb.Decider.load(tmp_path / "decider")
    assert two.columns == ("b", "a")
    two.ask(pd.DataFrame([[0.0, 1.0]], columns=["a", "b"]))


def test_a_strategy_that_a_file_cannot_hold_is_asked_for(tmp_path: Path) -> None:
    strategy = pb.GENTRY(schedule=constant)
    played(strategy=strategy).save(tmp_path / "decider")
    with pytest.raises(ValueError, match=r"pass it to Decider\.open or Decider\.load"):
        pb.Decider.load(tmp_path / "decider")
    with pytest.raises(ValueError, match=r"strategy must be GENTRY\(schedule=constant\)"):
        pb.Decider.load(tmp_path / "decider", strategy=pb.GENTRY())
    assert pb.Decider.load(tmp_path / "decider", strategy=strategy).steps == 30


def test_damage_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    path, decider = tmp_path / "decider", played()
    decider.save(path)
    content, head = path.read_bytes(), decider.history().head
    refused = 0
    for at in [*range(0, 100, 3), *range(100, len(content), 197)]:
        path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        try:
            loaded = pb.Decider.load(path)
        except ValueError as error:
            refused += "path must be a" in str(error)
        else:
            assert loaded.history().head == head  # a byte that nothing uses
    assert refused > 50
    for length in (0, 10, 50, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="path must be a"):
            pb.Decider.load(path)


def test_foreign_files_and_other_formats_are_named(tmp_path: Path) -> None:
    path = tmp_path / "other"
    np.save(path, np.eye(2))
    with pytest.raises(ValueError, match="is something else"):
        pb.Decider.load(path.with_suffix(".npy"))
    path.write_bytes(b"projbandits decider, format 3\n")
    with pytest.raises(ValueError, match="has another format: read it with the version"):
        pb.Decider.load(path)
    pb.Decider(subspace=U3, store=f"sqlite:///{tmp_path}/store.db", name="a").close()
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as raw:
        raw.execute("UPDATE projbandits_schema SET version = 99")
    with pytest.raises(ValueError, match=r"must have layout 3, got .*99.*: read it with"):
        pb.Decider.load(tmp_path / "store.db")
    with pytest.raises(FileNotFoundError):
        pb.Decider.load(tmp_path / "nowhere")


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "decider"
    decider = played()
    decider.save(path)
    before = path.read_bytes()
    decider.ask(np.eye(3))

    def full(descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        decider.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["decider"]


WRITER = """
import sys, numpy as np, projbandits as pb
d = 60
decider = pb.Decider(subspace=pb.Subspace.coordinates([0], d=d), seed=0)
X = np.eye(d)
while True:
    decider.tell(decider.ask(X).id, 1.0)
    decider.save(sys.argv[1])
    print(decider.steps, flush=True)
"""


def test_killed_at_any_moment_the_file_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "decider"
    for round_ in range(4):
        command = [sys.executable, "-c", WRITER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(5):
                said = int(writer.stdout.readline())
            time.sleep(0.0037 * round_)
            writer.send_signal(signal.SIGKILL)
            said = max([said, *map(int, writer.stdout.read().split())])
        loaded = pb.Decider.load(path)
        assert loaded.steps in (said, said + 1)
        assert loaded.ridge.n == loaded.steps


def test_what_is_pending_is_read_only_after_loading_too(tmp_path: Path) -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    decider.ask(np.eye(3))
    decider.save(tmp_path / "decider")
    with pytest.raises(ValueError, match="read-only"):
        pb.Decider.load(tmp_path / "decider").pending[0].arm[0] = 9.0


def test_saving_follows_links_and_names_a_missing_folder(tmp_path: Path) -> None:
    decider = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    decider.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").is_file()
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        decider.save(tmp_path / "nowhere" / "file")


def test_a_large_set_of_arms_has_the_same_chances_after_loading(tmp_path: Path) -> None:
    # Above 4,096 arms D_k is sought among some of them; a FiniteArms is no exception.
    rng = np.random.default_rng(0)
    arms = pb.FiniteArms(rng.normal(size=(5000, 3)))
    decider = pb.Decider(pb.GENTRY(alpha=0.5), subspace=U3, seed=1)
    for _ in range(6):
        for decision in decider.ask(arms, count=2):
            decider.tell(decision, float(rng.normal()))
    decider.save(tmp_path / "decider")
    for log in (decider.log(), pb.Decider.load(tmp_path / "decider").log()):
        stated = [p[i] for p, i in zip(log["probabilities"], log["position"], strict=True)]
        np.testing.assert_allclose(stated, log["propensity"], atol=1e-12)


def test_offers_of_any_size_are_kept_once(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(10_000, 20))
    U = pb.Subspace.coordinates(range(10), d=20)
    decider = pb.Decider(pb.GENTRY(), subspace=U, seed=1)
    for _ in range(5):
        _, second = decider.ask(X, count=2)
        decider.tell(second, 1.0)
    decider.save(tmp_path / "decider")
    assert (tmp_path / "decider").stat().st_size < X.nbytes + 60_000
    loaded = pb.Decider.load(tmp_path / "decider")
    assert loaded.explain(second.id).reason == decider.explain(second).reason
    assert loaded.audit().about.looked_at == 10
    assert len(pb.replay(loaded.log(), pb.GENTRY()).outcomes) == 5


def test_a_saved_file_is_a_store_and_one_from_a_store_has_one_decider(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/films.db"
    pb.Decider(pb.GENTRY(), subspace=U3, store=url, name="books").ask(np.eye(3))
    one = pb.Decider(pb.GENTRY(), subspace=U3, seed=0, store=url, name="films")
    one.tell(one.ask(np.eye(3)), 1.0)
    one.save(tmp_path / "decider")
    assert pb.Decider.load(tmp_path / "decider").history().head == one.history().head
    again = pb.Decider.open(f"sqlite:///{tmp_path}/decider", "decider")
    assert again.history().head == one.history().head
    one.close()
    again.close()


def test_a_file_that_was_crafted_is_refused(tmp_path: Path) -> None:
    """Whoever changes an event can make its hashes anew, but not what it says true."""
    path = tmp_path / "decider"
    one = pb.Decider(pb.GENTRY(), subspace=U3, seed=0)
    one.tell(one.ask(np.eye(3)), 1.0)
    events = [event for _, event in one.history().events()]
    nan = float("nan")
    for crafted in (
        [*events[:3], msgspec.structs.replace(events[3], outcome=nan)],
        [*events[:3], msgspec.structs.replace(events[3], decided=2)],
        [*events[:3], msgspec.structs.replace(events[3], id="nobody")],
        [*events[:2], msgspec.structs.replace(events[2], propensity=2.0)],
        [*events[:2], msgspec.structs.replace(events[2], arm=np.full(3, np.inf))],
        [*events[:2], msgspec.structs.replace(events[2], index=3)],
        [*events[:2], events[2], events[2]],
        [events[0], msgspec.structs.replace(events[1], vectors=np.eye(2))],
        [msgspec.structs.replace(events[0], half_life=(nan, "seconds"))],
        [msgspec.structs.replace(events[0], subspace=np.full((3, 1), nan))],
        events[1:],
    ):
        one.save(path)
        digest, rows = GENESIS, list[Any]()
        for position, event in enumerate(crafted, 1):
            body = encode(event)
            digest = link(digest, body)
            id = getattr(event, "id", None)
            rows.append((1, position, kind_of(event), id, body, digest))
        with closing(sqlite3.connect(path, isolation_level=None)) as raw:
            raw.execute("DELETE FROM projbandits_events")
            raw.executemany("INSERT INTO projbandits_events VALUES (?, ?, ?, ?, ?, ?)", rows)
        with pytest.raises(ValueError, match="path must be an intact saved decider"):
            pb.Decider.load(path)
