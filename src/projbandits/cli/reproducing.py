"""The command that reproduces the paper."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from projbandits.cli import options

if TYPE_CHECKING:
    from projbandits.paper import Verdict


def reproduce(
    figures: Annotated[
        list[str] | None,
        typer.Argument(metavar="FIGURE", help="Such as fig-a fig-wine; all by default."),
    ] = None,
    trials: Annotated[
        int | None, typer.Option(help="How many worlds.", show_default="2000")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(help="How many steps in each world.", show_default="10000")
    ] = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    cluster: options.Cluster = None,
    out: Annotated[
        Path | None, typer.Option(help="Where to write.", show_default="out, or out-quick")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small size that takes seconds.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Run the paper's experiments, draw its figures, and say which of its claims hold.

    Everything goes to a folder, with report.html as the place to start. If the run is stopped
    for any reason, the same command continues it. A folder that holds another run is refused.
    Without the wine data, all the rest is run. A figure that is named must have its data.
    """
    import pandas as pd

    from projbandits.cli.output import show
    from projbandits.paper import QUICK
    from projbandits.paper import reproduce as run
    from projbandits.simulation.workers import workers

    size: dict[str, Any] = dict(QUICK) if quick else {}
    size |= {k: v for k, v in (("trials", trials), ("horizon", horizon)) if v is not None}
    folder = Path("out-quick" if quick else "out") if out is None else out
    with workers(threads, cluster) as executor:
        done = run(figures or (), **size, seed=seed, out=folder, executor=executor)
    rows: list[tuple[Any, ...]] = [
        (claim.name, verdict.outcome, verdict.given, verdict.tuned or "", claim.origin, claim.text)
        for claim, verdict in done.verdicts.items()
    ]
    rows += [
        (claim.name, why, "", "", claim.origin, claim.text) for claim, why in done.not_run.items()
    ]
    columns = ["claim", "verdict", "given", "tuned", "origin", "text"]
    frame = pd.DataFrame([tuple(map(str, row)) for row in rows], columns=columns)
    frame = frame.set_index("claim")
    if json:
        numbers: list[Any] = [_numbers(verdict) for verdict in done.verdicts.values()]
        numbers += [[] for _ in done.not_run]
        frame = frame.assign(numbers=numbers)
    show(frame, as_json=json, title="What the paper claims, and what these results say")
    typer.echo(f"report: {done.report}", err=True)


def _numbers(verdict: Verdict) -> list[dict[str, str | float | None]]:
    """Return the numbers behind a verdict; unknown ones are null in JSON."""
    return [
        {"reading": reading.name, "what": c.what, "asked_for": c.demand, "verdict": str(c.outcome)}
        | {k: v if math.isfinite(v) else None for k, v in c.estimate._asdict().items()}
        for reading in verdict.readings
        for c in reading.conditions
    ]
