"""The commands that simulate: a plan from a file, or a comparison typed in."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from projbandits.cli import options

if TYPE_CHECKING:
    from projbandits.results import Result

STORE = "store"


def simulate(
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC.toml", exists=True, dir_okay=False, help="What to run.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Where to write.", show_default="out/ and the spec's name")
    ] = None,
    threads: options.Threads = None,
    cluster: options.Cluster = None,
    json: options.Json = False,
) -> None:
    """Run the strategies of a TOML file and write a table, curves and a figure to a folder.

    The folder also keeps finished trials: if the run is stopped for any reason, the same command
    continues it. A folder that holds anything else is refused.
    """
    from projbandits import specs
    from projbandits.cli.output import show
    from projbandits.simulation import simulate as run
    from projbandits.simulation.workers import workers

    plan = specs.read(spec)
    folder = Path("out", spec.stem) if out is None else out
    check_folder(folder)
    with workers(threads, cluster) as executor:
        result = run(
            plan.problem,
            plan.strategies,
            **plan.options,
            executor=executor,
            cache_dir=folder / STORE,
        )
    written = write(result, folder)
    show(result.summary(), as_json=json, title=_title(result))
    tell_written(written)


def compare(
    problem: options.Problem,
    strategies: Annotated[
        list[str], typer.Argument(metavar="STRATEGY", help="Such as GENTRY 'UE(alpha=0.5)'.")
    ],
    trials: options.Trials = 2000,
    horizon: options.Horizon = 10_000,
    seed: options.Seed = 0,
    baseline: Annotated[
        str | None,
        typer.Option(help="The strategy to compare with.", show_default="the first"),
    ] = None,
    engine: options.Engine = "auto",
    out: Annotated[
        Path | None, typer.Option(help="Keep the trials in this folder.", show_default="nowhere")
    ] = None,
    threads: options.Threads = None,
    cluster: options.Cluster = None,
    json: options.Json = False,
) -> None:
    """Run strategies in the same worlds and show how their regrets differ, world by world.

    The difference is the strategy's projection regret minus the baseline's, with its paired 95 %
    interval; better is the share of the worlds in which the strategy has the lower regret.

    With --out the folder keeps the finished trials, table, curves and figure. If the run is stopped
    for any reason, the same command continues it. Raise --trials or add strategies, and only what
    is missing is run.
    """
    from projbandits import specs
    from projbandits._validation import one_of
    from projbandits.cli.output import show
    from projbandits.simulation import simulate as run
    from projbandits.simulation.workers import workers

    world_source = specs.problem(problem)
    chosen = [specs.strategy(text) for text in strategies]
    base = chosen[0] if baseline is None else specs.strategy(baseline)
    one_of("baseline", repr(base), [repr(strategy) for strategy in chosen])
    size: dict[str, Any] = {"trials": trials, "horizon": horizon, "seed": seed, "engine": engine}
    if out is not None:
        check_folder(out)
        size["cache_dir"] = out / STORE
    try:
        with workers(threads, cluster) as executor:
            result = run(world_source, chosen, **size, executor=executor)
    except KeyboardInterrupt:
        if out is not None:
            raise
        raise KeyboardInterrupt(
            "stopped, nothing was kept: with --out FOLDER it can be continued"
        ) from None
    written = [] if out is None else write(result, out)
    differences = result.paired(repr(base))
    differences = differences.rename(columns={"low": "difference_low", "high": "difference_high"})
    frame = result.summary().drop(columns=["return_regret", "engine"]).join(differences)
    show(frame, as_json=json, title=f"{_title(result)}, against {base}")
    tell_written(written)


def check_folder(folder: Path) -> None:
    """Make the folder of a run; refuse one that holds anything else or cannot be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = {path.name for path in folder.iterdir()}
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(
            f"out must be a folder that can be written to, got {str(folder)!r}: {error.strerror}"
        ) from error
    if names - {STORE} and not (folder / STORE / "manifest.json").exists():
        raise ValueError(
            f"out must be a new or an empty folder, or one that the same command made, "
            f"{str(folder)!r} holds {sorted(names)[0]!r}; nothing was changed"
        )


def write(result: Result, folder: Path) -> list[Path]:
    """Write the table, curves and figure; each file appears whole or not at all."""
    from projbandits import plots
    from projbandits._files import whole
    from projbandits.plots.style import pictures

    png, pdf = pictures(plots.figure_pair(result, title=result.problem))
    makers: dict[str, Callable[[Path], Any]] = {
        "summary.csv": result.summary().to_csv,
        "regret.png": lambda path: path.write_bytes(png),
        "regret.pdf": lambda path: path.write_bytes(pdf),
    }
    result.save(folder / "curves.parquet")
    for name, make in makers.items():
        with whole(folder / name) as part:
            make(part)
    return [folder / name for name in ("curves.parquet", *makers)]


def tell_written(paths: list[Path]) -> None:
    """Say which files were written."""
    for path in paths:
        typer.echo(f"wrote {path}", err=True)


def _title(result: Result) -> str:
    return (
        f"projection regret at step {result.steps[-1]:,} in {result.trials:,} worlds of "
        f"{result.problem}"
    )
