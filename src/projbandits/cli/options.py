"""Options and arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pandas as pd

Problem = Annotated[
    str, typer.Argument(metavar="PROBLEM", help="Such as random_arms or 'random_arms(d=10, u=5)'.")
]
Trials = Annotated[int, typer.Option(help="How many worlds.")]
Horizon = Annotated[int, typer.Option(help="How many steps in each world.")]
Seed = Annotated[int, typer.Option(help="The same seed gives the same numbers.")]
Engine = Annotated[str, typer.Option(help="auto, events, compiled or reference.")]
Threads = Annotated[
    int | None, typer.Option(help="How many threads to use.", show_default="all cores")
]
Cluster = Annotated[
    str | None,
    typer.Option(help="The address of a Dask scheduler to run on, such as tcp://10.0.0.1:8786."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def read_table(option: str, path: Path) -> pd.DataFrame:
    """Return the table in a CSV or Parquet file, with one treatment of missing values."""
    import pandas as pd

    from projbandits.tables import read_csv

    if not path.is_file():
        raise ValueError(f"{option} must be a file that is there, got {path}")
    return read_csv(path.read_bytes()) if path.suffix == ".csv" else pd.read_parquet(path)
