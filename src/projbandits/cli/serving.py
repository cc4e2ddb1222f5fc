"""`projbandits serve` and `projbandits token`: decisions over HTTP, and who may ask for them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated, Any

import typer

from projbandits.cli.ledgers import Url, database_at, day
from projbandits.cli.options import Json
from projbandits.cli.output import show

token_app = typer.Typer(help="Make, list and revoke the tokens of a service.")


def _part(name: str) -> Any:
    """Return a part of the service, or say what it needs."""
    try:
        return importlib.import_module(f"projbandits.service.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "projbandits":
            raise
        raise ModuleNotFoundError(
            f"this needs the package {error.name!r}: pip install 'projbandits[serve]'"
        ) from error


def serve(
    config: Annotated[
        Path | None, typer.Argument(help="A TOML file; see docs/serving.md.", show_default=False)
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            envvar="PROJBANDITS_STORE", help="sqlite:///films.db, or postgresql://user@host/name."
        ),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Where to listen.", show_default="127.0.0.1")] = (
        None
    ),
    port: Annotated[int | None, typer.Option(help="The port.", show_default="8000")] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="How many processes answer.", show_default="1")
    ] = None,
) -> None:
    """Serve decisions over HTTP until stopped.

    The first start makes the store and prints a token, once.
    """
    starting = _part("settings")
    given = {"store": store, "host": host, "port": port, "processes": processes}
    settings = starting.read_settings(config, given)
    first = starting.prepare(settings)
    typer.echo(f"dashboard: {settings.address}")
    if first is not None:
        typer.echo(f"token: {first}")
        typer.echo("It administers everything and is not shown again.", err=True)
    starting.serve(settings)


@token_app.command("create")
def create_token(
    store: Url,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="decide, observe or administer; several times for several."),
    ] = None,
    decider: Annotated[
        str | None, typer.Option(help="The one decider it is for.", show_default="all")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="When it ends, such as 30d.", show_default="never")
    ] = None,
    note: Annotated[str, typer.Option(help="Whose it is.")] = "",
) -> None:
    """Make a token and print it, once."""
    tokens = _part("tokens")
    text, token = tokens.make(
        _documents(store), scope or ["decide"], decider, expires=expires, note=note
    )
    typer.echo(f"token: {text}")
    where = "all deciders" if decider is None else decider
    typer.echo(f"It allows {', '.join(token.scopes)} on {where}; not shown again.", err=True)


@token_app.command("list")
def list_tokens(store: Url, json: Json = False) -> None:
    """List the tokens: what they allow, not what they are."""
    import pandas as pd

    rows = [
        (
            token.id,
            ", ".join(token.scopes),
            token.decider or "all",
            day(token.made),
            day(token.until) or "never",
            token.note,
        )
        for token in _part("tokens").kept(_documents(store)).values()
    ]
    columns = ["id", "allows", "decider", "made", "ends", "note"]
    show(pd.DataFrame(rows, columns=columns).set_index("id"), as_json=json)


@token_app.command("revoke")
def revoke_token(
    id: Annotated[str, typer.Argument(help="Its id, as `token list` shows it.")], store: Url
) -> None:
    """Revoke a token; servers notice within a second."""
    _part("tokens").revoke(_documents(store), id)
    typer.echo(f"{id} is revoked", err=True)


def _documents(store: str) -> Any:
    from projbandits.ledger.documents import Documents

    return Documents(database_at(store))
