"""`projbandits audit`: whether the protected part had an influence, from a ledger in a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from projbandits.cli.ledgers import Name, open_store_at
from projbandits.cli.options import Json, read_table


def audit(
    store: Annotated[
        str,
        typer.Argument(help="Where the ledger is: sqlite:///films.db, or postgresql://host/db."),
    ],
    name: Name,
    by: Annotated[
        str | None,
        typer.Option(help="A column of the context or a key of meta, as a viewer's segment."),
    ] = None,
    attributes: Annotated[
        Path | None,
        typer.Option(
            help="A CSV or Parquet file of attributes that the decider never saw. Its first column "
            "has the items' labels, unless it has the columns of the features, or the raw ones."
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write the page for the person who signs to this file.")
    ] = None,
    json: Json = False,
) -> None:
    """Show from the log whether the part that must not count had an influence."""
    import projbandits as pb
    from projbandits.features.contexts import item_columns

    table = None if attributes is None else read_table("--attributes", attributes)
    open_store_at(store, name)
    decider = pb.Decider.open(store, name)
    if table is not None:
        made = set(decider.columns or ["?"])
        raw = made if decider.features is None else item_columns(decider.features)
        if not made <= set(table.columns) and not raw <= set(table.columns):
            table = table.set_index(table.columns[0])
    found = decider.audit(attributes=table, by=by)
    if html is not None:
        found.to_html(html)
        typer.echo(f"{html} is written", err=True)
    typer.echo(found.to_json() if json else str(found))
