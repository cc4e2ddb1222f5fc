"""Audits and exports that go on after their request."""

import io
import threading
import time
from typing import Any

import pandas as pd
import pytest

from projbandits.exceptions import UnavailableError
from projbandits.service import jobs
from projbandits.service.jobs import Jobs
from projbandits.service.registry import Hub
from tests.service.conftest import MAKE, Service

pytestmark = pytest.mark.filterwarnings("ignore:the arms offered so far:UserWarning")


def decided(films: Service, many: int = 10) -> None:
    for i in range(many):
        films.tell(films.ask(request_id=f"q{i}", meta={"page": i % 2})["id"], i / many)


def ended(films: Service, what: str, id: str) -> Any:
    """Return a job once it has ended."""
    until = time.monotonic() + 60
    while (job := films.ok("GET", f"/{what}/{id}"))["state"] == "running":
        assert 0 <= job["progress"] <= 1
        assert time.monotonic() < until
        time.sleep(0.02)
    return job


def test_an_audit_is_a_job_whose_result_is_kept(films: Service) -> None:
    decided(films)
    answer = films.client.post(f"{films.path}/audits", json={"by": "page"})
    assert answer.status_code == 202
    job = answer.json()
    assert (job["what"], job["state"]) == ("audit", "running")
    job = ended(films, "audits", job["id"])
    assert (job["state"], job["progress"], job["problem"]) == ("done", 1.0, None)
    own = films.hub.decider(films.name).audit(by="page")
    for _ in range(2):
        found = films.ok("GET", f"/audits/{job['id']}/result")
        assert found["verdict"] == own.verdict
        assert found["exposure"] == own.to_dict()["exposure"]
    page = films.client.get(f"{films.path}/audits/{job['id']}/result.html")
    assert "<h1" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    elsewhere = Jobs(Hub(films.url))  # another process
    assert elsewhere.find(films.name, job["id"], "audit").state == "done"
    assert "is unknown" in films.problem(404, "GET", f"/exports/{job['id']}")


def test_an_export_is_a_job_whose_file_is_kept(films: Service) -> None:
    decided(films, 5)
    job = films.client.post(f"{films.path}/exports", json={}).json()
    assert ended(films, "exports", job["id"])["state"] == "done"
    answer = films.client.get(f"{films.path}/exports/{job['id']}/log.parquet")
    table = pd.read_parquet(io.BytesIO(answer.content))
    assert table["id"].tolist() == films.hub.decider(films.name).log()["id"].tolist()


def test_a_job_is_started_once_for_an_id_and_fails_with_its_reason(films: Service) -> None:
    body = {"request_id": "mine"}
    first = films.client.post(f"{films.path}/audits", json=body).json()
    again = films.client.post(f"{films.path}/audits", json=body).json()
    assert first["id"] == again["id"] == "mine"
    assert first["began"] == again["began"]
    job = ended(films, "audits", "mine")
    assert job["state"] == "failed"
    assert "no decision among finitely many arms" in job["problem"]["detail"]
    assert job["problem"]["detail"] in films.problem(422, "GET", "/audits/mine/result")
    assert "is unknown" in films.problem(404, "GET", "/audits/nobody")
    bad = {"request_id": "a/b"}
    assert "request_id must be" in films.problem(422, "POST", "/audits", json=bad)


def test_a_job_shows_how_far_it_is_and_that_its_process_ended(
    films: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, half, go = Jobs(films.hub), threading.Event(), threading.Event()

    def slow(_: object, progress: Any) -> dict[str, bytes]:
        progress(0.5)
        half.set()
        assert go.wait(60)
        return {"parquet": b"x"}

    mine.start(films.name, "export", "slow", slow)
    assert half.wait(60)
    mine.show()
    assert films.ok("GET", "/exports/slow")["progress"] == 0.5
    said = films.problem(409, "GET", "/exports/slow/log.parquet")
    assert "must be done, it is running at 50%" in said
    monkeypatch.setattr(jobs, "LOST", -1.0)
    assert films.ok("GET", "/exports/slow")["state"] == "lost"
    assert "start it again" in films.problem(503, "GET", "/exports/slow/log.parquet")
    monkeypatch.undo()
    go.set()
    assert ended(films, "exports", "slow")["state"] == "done"


def test_the_last_jobs_are_kept_and_a_purge_removes_all(
    films: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided(films, 2)
    monkeypatch.setattr(jobs, "KEPT", 2)
    for id in ("a", "b", "c"):
        films.client.post(f"{films.path}/exports", json={"request_id": id})
        ended(films, "exports", id)
    assert "is unknown" in films.problem(404, "GET", "/exports/a")
    assert films.ok("GET", "/exports/c")["state"] == "done"
    films.ok("DELETE")
    films.ok("POST", "/audits", json={"request_id": "late"})
    assert ended(films, "audits", "late")["state"] == "done"
    films.ok("DELETE", "?purge=true")
    films.ok("PUT", json=MAKE)
    assert "is unknown" in films.problem(404, "GET", "/exports/c")
    left = [kind for kind, name in films.hub.documents.revisions() if films.name in kind + name]
    assert sorted(left) == ["decider", "purged"]


def test_an_audit_that_takes_too_long_names_the_job(
    films: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    monkeypatch.setattr(films.hub.decider(films.name), "audit", lambda **_: go.wait(60))
    limits = films.server.limits
    monkeypatch.setattr(films.server, "limits", type(limits)(seconds=0.2))
    try:
        assert "POST /v1/deciders/" in films.problem(503, "GET", "/audit")
    finally:
        go.set()


def test_a_job_of_a_process_that_ends_is_lost_and_may_be_started_again(films: Service) -> None:
    decided(films, 2)
    mine, begun = Jobs(films.hub), threading.Event()

    def slow(_: object, progress: Any) -> dict[str, bytes]:
        while True:
            progress(0.1)
            begun.set()
            time.sleep(0.001)

    mine.start(films.name, "export", "e", slow)
    assert begun.wait(60)
    mine.close()
    assert films.ok("GET", "/exports/e")["state"] == "lost"
    assert films.ok("POST", "/exports", json={"request_id": "e"})["state"] == "running"
    assert ended(films, "exports", "e")["state"] == "done"


def test_a_job_that_cannot_be_noted_is_none(
    films: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any, **options: Any) -> None:
        raise UnavailableError("the disk is full")

    own = Jobs(films.hub)
    with monkeypatch.context() as patch:
        patch.setattr(films.hub.documents, "write", full)
        for i in range(20):  # more than may wait
            with pytest.raises(UnavailableError):
                own.start(films.name, "export", f"full-{i}", jobs.exported)
    assert own.start(films.name, "export", "again", jobs.exported).state == "running"
    own.close()
