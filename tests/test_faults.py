"""Short forms of `python -m tests.faults`: an outcome in CAPITALS must not occur."""

import gc
import os
import random
import subprocess
import sys

import pytest

from tests.databases import Server
from tests.faults import disorder, files, forks, kills, services, signals
from tests.faults.verdicts import Outcomes

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def assert_fine(found: Outcomes) -> None:
    wrong = [what for what in found if any(word.isupper() for word in what.split(":")[0].split())]
    assert not wrong, found


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> tuple[str, Server | None]:
    if request.param == "sqlite":
        return request.param, None
    return request.param, request.getfixturevalue("postgresql")


def test_what_was_promised_is_there_once_whoever_is_killed(
    store: tuple[str, Server | None],
) -> None:
    kind, server = store
    found = kills.kills(kind, 6, random.Random(0), server)
    assert_fine(found)
    assert min(found["decisions kept"], found["outcomes kept"]) > 0


def test_what_was_promised_is_there_once_when_connections_are_cut(postgresql: Server) -> None:
    assert_fine(kills.cuts("postgresql", 5, random.Random(0), postgresql))


def test_what_was_promised_is_there_once_when_the_server_is_killed(postgresql: Server) -> None:
    assert_fine(kills.restarts("postgresql", 1, random.Random(0), postgresql))


def test_forked_children_have_ids_randomness_and_connections_of_their_own(
    store: tuple[str, Server | None],
) -> None:
    kind, server = store
    for fault in (forks.forks, forks.servers):
        found = fault(kind, 3, random.Random(0), server)
        assert_fine(found)
        assert found["children that worked"] == 3


def test_signals_inside_calls_lose_nothing_and_double_nothing(
    store: tuple[str, Server | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, server = store
    # A signal may strike while a connection is being opened or deleted, where nobody can take
    # notice, and again while pytest does.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    found = signals.signals(kind, 3, random.Random(0), server)
    gc.collect()  # connections that were cut short
    assert_fine(found)
    assert found["calls struck"] > 0


def test_outcomes_may_come_in_any_order_and_from_anywhere(
    store: tuple[str, Server | None],
) -> None:
    kind, server = store
    found = disorder.disorder(kind, 100, random.Random(0), server)
    assert_fine(found)
    assert found["beliefs right"] == 8
    assert min(found[what] for what in ("amend", "withdraw", "expire", "change", "crash")) > 0


def test_a_full_disk_is_named_and_nothing_is_half_done() -> None:
    if os.geteuid() == 0:
        assert_fine(files.full("sqlite", 2, random.Random(0)))
        return
    namespace = ["unshare", "--map-root-user", "--mount"]  # where anybody may mount a small disk
    command = [*namespace, sys.executable, "-m", "tests.faults", "full", "--tries", "2"]
    subprocess.run(command, check=True)


def test_a_read_only_file_is_named() -> None:
    assert_fine(files.read_only("sqlite", 1, random.Random(0)))


def test_a_damaged_file_is_refused_by_name_or_unharmed() -> None:
    found = files.damage("sqlite", 30, random.Random(0))
    assert_fine(found)
    assert found["flipped: refused by name"] > 0


def test_what_a_service_acknowledged_is_there_once_when_it_is_killed() -> None:
    found = services.services("sqlite", 1, random.Random(0))
    assert_fine(found)
    assert min(found["decisions kept"], found["outcomes kept"]) > 0
