"""The OpenAPI description says what the service does: a client made from it finds no failure."""

import os
import subprocess
import sys
from pathlib import Path

import httpx

from tests.service.conftest import FILMS, MAKE, bearer
from tests.service.processes import Process

CONFIGURATION = """
hooks = "{hooks}"

[parameters]
"path.name" = "films"

[[operations]]
include-operation-id = "delete"
parameters = {{ "path.name" = "gone" }}

[checks.positive_data_acceptance]
# 422: it follows the schema, but names what is not there, or what cannot be learnt from.
expected-statuses = ["2xx", "404", "409", "413", "422", "429"]
"""

HOOKS = """
import schemathesis


@schemathesis.check
def what_follows_the_schema_is_not_refused_by_it(ctx, response, case):
    positive = case.meta is not None and case.meta.generation.mode.is_positive
    # To JSON Schema 1.0 is an integer.
    if positive and response.status_code == 422 and "got float" not in response.text:
        assert response.json().get("kind") != "SchemaError", response.text
"""


def test_requests_made_from_the_description_find_no_failure(tmp_path: Path) -> None:
    hooks, configuration = tmp_path / "hooks.py", tmp_path / "schemathesis.toml"
    hooks.write_text(HOOKS)
    configuration.write_text(CONFIGURATION.format(hooks=hooks))
    service = Process(f"sqlite:///{tmp_path}/films.db")
    try:
        service.wait()
        headers = bearer(str(service.token))
        with httpx.Client(base_url=service.address, headers=headers, timeout=30) as client:
            for name in ("films", "gone"):
                client.put(f"/v1/deciders/{name}", json=MAKE).raise_for_status()
                client.put(f"/v1/deciders/{name}/items", json=FILMS).raise_for_status()
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(configuration)]
        command += ["run", f"{service.address}/openapi.json", "--seed", "0", "--max-examples", "2"]
        command += ["--header", f"Authorization: {headers['authorization']}", "--no-shrink"]
        command += ["--phases", "examples,coverage,fuzzing,stateful", "--continue-on-failure"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONUTF8": "1"},
            capture_output=True,
            text=True,
            timeout=300,
        )
    finally:
        service.kill()
    assert done.returncode == 0, done.stdout + done.stderr
