"""`projbandits ledger`: what is in a store, and whether it is sound."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from projbandits.cli.options import Json
from projbandits.cli.output import show

if TYPE_CHECKING:
    from projbandits.ledger.database import Database
    from projbandits.ledger.store import Store

BROKEN = 1
"""The exit code when a promise is not kept."""

Url = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="PROJBANDITS_STORE",
        help="Where the ledgers are: sqlite:///films.db, or postgresql://user@host/database.",
    ),
]
Name = Annotated[str, typer.Argument(help="What the decider is called in the store.")]

ledger_app = typer.Typer(help="Look into a store of ledgers, and check it.")


def open_store_at(url: str, name: str | None = None) -> Store:
    """Return a store that is there, and has a ledger of this name."""
    from projbandits.deciding.stores import open_store
    from projbandits.exceptions import UnknownDecisionError

    try:
        found = open_store(url, make=False)
    except UnknownDecisionError as error:
        raise ValueError(f"--store must hold deciders: {error}") from error
    if name is not None and name not in found.names():
        raise ValueError(f"NAME must be one of {found.names()}, got {name!r}")
    return found


def database_at(url: str) -> Database:
    """Return a database that holds ledgers, without making one of a mistyped name."""
    return open_store_at(url).database


@ledger_app.command("list")
def list_ledgers(store: Url, json: Json = False) -> None:
    """List the ledgers of a store: their events, the strategies they began with, and when."""
    import pandas as pd

    found = open_store_at(store)
    rows = [_summary(found, name) for name in found.names()]
    columns = ["events", "strategy", "opened"]
    table = pd.DataFrame(rows, columns=["name", *columns]).set_index("name")
    show(table, as_json=json)


@ledger_app.command("show")
def show_ledger(name: Name, store: Url, json: Json = False) -> None:
    """Show what a decider believes, and what it waits for."""
    import pandas as pd

    import projbandits as pb

    found = open_store_at(store, name)
    decider = pb.Decider.open(store, name)
    pending = decider.pending
    facts = {
        **_summary(found, name),
        "head": decider.history().head,
        "strategy": repr(decider.strategy),
        "subspace": repr(decider.subspace),
        "decisions": decider.steps,
        "observations": decider.ridge.n,
        "pending": len(pending),
        "pending_since": day(min((d.asked for d in pending), default=None)),
    }
    table = pd.DataFrame({"fact": list(facts), "value": list(map(str, facts.values()))})
    show(table.set_index("fact"), as_json=json)


@ledger_app.command("export")
def export(
    name: Name,
    path: Annotated[Path, typer.Argument(help="The Parquet file to write.")],
    store: Url,
) -> None:
    """Write the log of a decider, a row per decision, as a Parquet file."""
    import projbandits as pb

    if path.exists():
        raise ValueError(f"path must be a new file, {path} is there: remove it, or name another")
    open_store_at(store, name)
    decider = pb.Decider.open(store, name)
    typer.echo(f"{path}: {decider.export(path):,} decisions", err=True)


@ledger_app.command("check")
def check(name: Name, store: Url, json: Json = False) -> None:
    """Check a ledger: nothing missing, nothing twice, the belief right, every decision made again.

    Exits with 1 if something is wrong.
    """
    import pandas as pd
    from rich.console import Console
    from rich.progress import Progress

    from projbandits.deciding.check import Finding, check_promises
    from projbandits.ledger.history import History

    found = open_store_at(store, name)
    said = found.problems()
    whole = Finding("the database is sound", not said, "; ".join(said) or "it finds no fault")
    console = Console(stderr=True)
    bar = Progress(console=console, transient=True)
    with bar if console.is_terminal else nullcontext():  # older rich ends a disabled bar by a line
        task = bar.add_task(f"checking {name}")
        findings = check_promises(
            History(found.open(name)),
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    rows = [
        (f.promise, {True: "yes", False: "NO", None: "?"}[f.kept], f.found)
        for f in (whole, *findings)
    ]
    table = pd.DataFrame(rows, columns=["promise", "kept", "found"]).set_index("promise")
    show(table, as_json=json)
    if "NO" in table["kept"].tolist():
        raise typer.Exit(BROKEN)


@ledger_app.command("verify")
def verify(
    name: Name,
    store: Url,
    head: Annotated[
        str, typer.Option(help="POSITION:HASH, as `show` or an audit printed it; kept elsewhere.")
    ],
) -> None:
    """Compare a ledger with a head that was kept elsewhere: nothing before it may have changed.

    Exits with 1 if something did.
    """
    from projbandits.exceptions import DamagedError
    from projbandits.ledger.history import History

    try:
        position = History(open_store_at(store, name).open(name)).verify(head)
    except DamagedError as error:
        typer.echo(f"projbandits: {error}", err=True)
        raise typer.Exit(BROKEN) from error
    typer.echo(f"{name}: events 1 to {position} are those of the head, and others may follow")


def _summary(store: Store, name: str) -> dict[str, Any]:
    from projbandits.ledger.history import History

    history = History(store.open(name))
    opened: Any = next(history.events())[1]
    return {
        "name": name,
        "events": history.position,
        "strategy": opened.label,
        "opened": day(opened.time),
    }


def day(seconds: float | None) -> str:
    """Return a time as text, and nothing if there is none."""
    if seconds is None:
        return ""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))
