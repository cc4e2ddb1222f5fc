"""The service as a process: how it starts, and how it ends."""

import re
import socket
import threading
from dataclasses import replace
from pathlib import Path

import httpx
import pandas as pd
import pytest

import projbandits as pb
from projbandits.service.registry import Hub
from projbandits.service.settings import Settings, listening, prepare, read_settings
from tests.service.conftest import FILMS, MAKE, bearer
from tests.service.processes import Process, free_port


@pytest.mark.parametrize("processes", [1, 2])
def test_it_starts_with_nothing_and_ends_within_five_seconds_with_all_it_acknowledged(
    tmp_path: Path, processes: int
) -> None:
    url = f"sqlite:///{tmp_path}/films.db"
    service = Process(url, processes=processes)
    service.wait()
    assert f"dashboard: {service.address}/" in service.printed()
    assert service.token is not None
    told, stopped = list[bool](), threading.Event()

    def work(worker: int) -> None:
        with httpx.Client(base_url=f"{service.address}{path}", headers=headers) as mine:
            while not stopped.is_set():
                try:
                    answer = mine.post("/ask", json={"filter": {}})
                    answer = mine.post("/tell", json={"id": answer.json()["id"], "outcome": 1.0})
                    answer.raise_for_status()
                    told.append(True)
                except httpx.TransportError:
                    return  # it is gone

    headers, path = bearer(service.token), "/v1/deciders/films"
    with httpx.Client(base_url=service.address, headers=headers) as client:
        assert client.put(path, json=MAKE).status_code == 201
        assert client.put(f"{path}/items", json=FILMS).status_code == 200
    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    while len(told) < 20:
        assert all(worker.is_alive() for worker in workers)
    took = service.stop()
    stopped.set()
    for worker in workers:
        worker.join()
    assert took < 5
    assert "Cancel" not in service.printed()  # nothing was cut off
    decider = pb.Decider.open(url, "films")
    assert decider.ridge.n >= len(told)  # what was sent but not answered may be in too
    decider.close()
    assert prepare(Settings(store=url)) is None  # a token is made once


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_answers_from_a_socket_that_processes_share_do_not_wait_for_the_client(host: str) -> None:
    with listening(host, free_port()) as shared:
        with socket.create_connection(shared.getsockname()[:2], timeout=30):
            accepted, _ = shared.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_settings_come_from_a_file_and_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    file.write_text(
        f"""
        store = "sqlite:///{tmp_path}/films.db"
        port = 9000
        [limits]
        rows = 100
        [deciders.films]
        columns = ["length", "age"]
        protected = ["age"]
        strategy = "GENTRY()"
        expire = {{ after = "24h", outcome = 0.0 }}
        """
    )
    settings = read_settings(file, {"port": 9001, "host": None})
    assert (settings.port, settings.limits["rows"]) == (9001, 100)
    assert settings.address == "http://127.0.0.1:9001/"
    assert prepare(settings) is not None
    assert prepare(settings) is None  # the same deciders again
    assert repr(pb.Decider.open(settings.store, "films").strategy) == "GENTRY()"
    declared = settings.deciders["films"]
    pb.Decider.open(settings.store, "films").learn([[1.0, 1.0]], [1.0])
    for field, value, said in (
        ("expire", {"after": "1h"}, None),  # the only one that may change
        ("strategy", "CURSE()", "deciders.films: strategy must be 'GENTRY()', as 'films' was"),
        ("colums", ["x"], "deciders.films: colums must be a known field: did you mean 'columns'?"),
    ):
        changed = replace(settings, deciders={"films": {**declared, field: value}})
        if said is None:
            prepare(changed)
            continue
        with pytest.raises(ValueError, match=re.escape(said)):
            prepare(changed)


def test_a_file_declares_contexts_dates_and_what_is_to_be_learnt(tmp_path: Path) -> None:
    file = tmp_path / "service.toml"
    file.write_text(
        f"""
        store = "sqlite:///{tmp_path}/films.db"
        [deciders.films.features]
        numeric = {{ length = [100.0, 20.0] }}
        date = {{ released = {{ reference = 2026-01-31, mean = 0.0, scale = 365.25 }} }}
        context = {{ segment = ["young", "old"], hour = {{ mean = 12, scale = 6 }} }}
        interactions = [["segment", "length"]]
        [deciders.others.features]
        numeric = {{ length = "learn" }}
        context = ["segment"]
        """
    )
    settings = read_settings(file, {})
    prepare(settings)
    features = pb.Decider.open(settings.store, "films").features
    assert features is not None
    same = pb.Features(
        numeric={"length": (100.0, 20.0)},
        date={"released": {"reference": "2026-01-31", "mean": 0.0, "scale": 365.25}},
        context={"segment": ["young", "old"], "hour": {"mean": 12, "scale": 6}},
        interactions=[("segment", "length")],
    ).fit()
    assert features.to_json() == same.to_json()
    hub = Hub(settings.store)
    assert hub.declared_names() == ["films", "others"]  # which waits for its catalogue
    table = pd.DataFrame({"length": [90.0, 120.0], "segment": ["young", "old"]}, index=["a", "b"])
    hub.put_items("others", table)
    found = hub.decider("others").columns
    hub.close()
    assert found == ("constant", "length", "segment=old", "segment=young", "segment=other")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stroe = 'x'", "did you mean 'store'"),
        ("port = 1", "--store must say"),
        ("store = 'x'\nlimits = 3", "limits must be a table"),
        ("store = 'x'\n[limits]\nrows = -1", "rows must be at least 1, got -1"),
        ("store = 'x'\n[limits]\nrows = 1.5", "rows must be a whole number, got 1.5"),
        ("store = 'x'\n[limits]\nseconds = 0", "seconds must be positive, got 0"),
        ("store = 'x'\nport = 70000", "port must be at most 65535, got 70000"),
        ("store = 'x'\nprocesses = 0", "processes must be at least 1, got 0"),
        ("store = 3", "store must be a text, got 3"),
        ("store = 'x'\ncertificate = 'cert.pem'", "service.toml takes store, .*got 'certificate'"),
        ("store = 'x'\ndeciders = 3", "deciders must be a table, got 3"),
        ("store = 'x'\ndeciders.films = 3", "deciders.films must be a table, got 3"),
        ("store = 'x'\n[limits]\nrwos = 1", "did you mean 'rows'"),
        ("port = ", "must be a TOML file"),
    ],
)
def test_settings_that_cannot_be_used_are_refused_by_name(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "service.toml"
    file.write_text(text)
    with pytest.raises((ValueError, TypeError), match=said):
        read_settings(file, {})
