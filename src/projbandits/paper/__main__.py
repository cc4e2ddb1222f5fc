"""Run setting a at a small size and write its figure, table and data: `make reproduce`."""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from projbandits import plots
from projbandits.paper.experiments import FIG_A
from projbandits.results import Result
from projbandits.simulation import simulate


def main() -> None:
    """Parse, simulate, write, and say where everything is."""
    parser = argparse.ArgumentParser(prog="python -m projbandits.paper", description=__doc__)
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--horizon", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("out"))
    options = parser.parse_args()

    options.out.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as executor:
        result = simulate(
            FIG_A.problem,
            FIG_A.strategies,
            trials=options.trials,
            horizon=options.horizon,
            seed=options.seed,
            engine="reference",
            executor=executor,
        )
    base = options.out / FIG_A.name
    result.save(base.with_suffix(".parquet"))
    result.summary().to_csv(base.with_suffix(".csv"))
    figure = plots.figure_pair(result, title=FIG_A.title)
    figure.savefig(base.with_suffix(".png"))
    figure.savefig(base.with_suffix(".pdf"))
    _print(result, base)


def _print(result: Result, base: Path) -> None:
    console = Console()
    table = Table(
        box=SIMPLE_HEAD,
        title=f"{FIG_A.title}\nregret at step {result.horizon:,}, {result.trials} trials",
    )
    table.add_column("strategy", no_wrap=True)
    for name in ("mean", "95 % interval", "median", "p90", "found"):
        table.add_column(name, justify="right", no_wrap=True)
    for label, row in result.summary().iterrows():
        table.add_row(
            str(label),
            f"{row['mean']:,.0f}",
            f"{row['low']:,.0f} to {row['high']:,.0f}",
            f"{row['median']:,.0f}",
            f"{row['p90']:,.0f}",
            f"{row['found_best']:.0%}",
        )
    console.print(table)
    written = {".png": "figure", ".pdf": "figure", ".csv": "table", ".parquet": "data"}
    for suffix, what in written.items():
        console.print(f"{what:>7}: {base.with_suffix(suffix)}", highlight=False)


if __name__ == "__main__":
    main()
