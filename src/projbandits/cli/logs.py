"""The commands that read logs: judge a policy, and fit the estimate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from projbandits.cli import options

if TYPE_CHECKING:
    from projbandits.evaluation import Log
    from projbandits.subspace import Subspace

LogPath = Annotated[
    Path,
    typer.Argument(
        metavar="LOG",
        exists=True,
        help="A Parquet file or a folder of them, a CSV file, or a file of Vowpal Wabbit's JSON "
        "(.json, .dsjson).",
    ),
]
ArmsFile = Annotated[
    Path | None,
    typer.Option(exists=True, dir_okay=False, help="The catalogue: a CSV or Parquet file."),
]
Action = Annotated[str | None, typer.Option(help="The column that names the chosen arm.")]
Propensity = Annotated[
    str | None,
    typer.Option(help="The column with its probability, or one for each arm, with commas."),
]
RewardColumn = Annotated[str, typer.Option(help="The column with the return.")]
Features = Annotated[str | None, typer.Option(help="Columns that are features, with commas.")]
Protected = Annotated[str | None, typer.Option(help="Features that must not count, with commas.")]


def replay(
    log: LogPath,
    policy: Annotated[
        str,
        typer.Argument(
            metavar="POLICY",
            help="A strategy such as 'GENTRY(alpha=2)', the file of a decider, or the name of the "
            "column with the policy's probability of the chosen arm (one for each arm: commas).",
        ),
    ],
    arms: ArmsFile = None,
    action: Action = None,
    propensity: Propensity = None,
    outcome: RewardColumn = "outcome",
    features: Features = None,
    context: Annotated[str | None, typer.Option(help="Columns of the context.")] = None,
    time: Annotated[str | None, typer.Option(help="The column with the time.")] = None,
    protected: Protected = None,
    value: Annotated[str, typer.Option(help="projection or return.")] = "projection",
    clip: Annotated[float, typer.Option(help="The largest weight of the clipped estimate.")] = 10.0,
    bounds: Annotated[
        str | None,
        typer.Option(help="Between which every outcome lies, such as 0,1 for clicks."),
    ] = None,
    threads: options.Threads = None,
    cluster: options.Cluster = None,
    json: options.Json = False,
) -> None:
    """Estimate what a policy would have been worth, from the log of another.

    Estimates that rest on the linear model are marked if the log contradicts it.
    """
    import projbandits as pb
    from projbandits.cli.output import show
    from projbandits.simulation.progress import Progress
    from projbandits.simulation.workers import workers

    if _own(log):
        result = pb.replay(log, _policy(policy, ()), value=value, clip=clip, bounds=_ends(bounds))
    else:
        given = _log(log, arms, action, propensity, outcome, features, context, time)
        subspace, judged = _subspace(given, protected), _policy(policy, given.columns)
        known = given.rows is not None  # how much there is to do
        with (
            workers(threads, cluster) as executor,
            Progress(2.0 * (given.rows or 0), shown=known, text="replaying", unit="rows") as bar,
        ):
            result = pb.replay(
                given,
                judged,
                value=value,
                subspace=subspace,
                clip=clip,
                bounds=_ends(bounds),
                executor=executor,
                progress=bar.advance,
            )
    frame = result.estimates().drop(columns="decisions").rename_axis("estimate")
    show(frame, as_json=json, title=f"{value} value of {policy} on {log}")
    found = result.lack_of_fit()
    typer.echo(found.words, err=True)


def fit(
    log: LogPath,
    arms: ArmsFile = None,
    action: Action = None,
    outcome: RewardColumn = "outcome",
    features: Features = None,
    protected: Protected = None,
    penalty: Annotated[float, typer.Option(help="lambda, the weight of the L2 penalty.")] = 1.0,
    threads: options.Threads = None,
    cluster: options.Cluster = None,
    json: options.Json = False,
) -> None:
    """Fit returns to features, from a whole log that need not fit into memory."""
    from projbandits.cli.output import show
    from projbandits.simulation.progress import Progress
    from projbandits.simulation.workers import workers

    given = _log(log, arms, action, None, outcome, features, None, None)
    known = given.rows is not None  # how much there is to do
    with (
        workers(threads, cluster) as executor,
        Progress(float(given.rows or 0), shown=known, text="fitting", unit="rows") as bar,
    ):
        found = given.fit(
            _subspace(given, protected), penalty, executor=executor, progress=bar.advance
        )
    show(found.table(), as_json=json, title=f"{log}: {found}")


def _own(path: Path) -> bool:
    """Tell whether a file is a log that a decider wrote."""
    if path.is_dir() or path.suffix != ".parquet":
        return False
    from pyarrow import ArrowException
    from pyarrow import parquet as pq

    from projbandits.evaluation.rows import NEEDED

    try:
        return {*NEEDED} <= {*pq.read_schema(path).names}
    except (ArrowException, OSError):
        return False  # whoever reads it says what is wrong


def _log(
    path: Path,
    arms: Path | None,
    action: str | None,
    propensity: str | None,
    outcome: str,
    features: str | None,
    context: str | None,
    time: str | None,
) -> Log:
    import projbandits as pb

    if path.suffix in (".json", ".dsjson", ".jsonl"):
        return pb.Log.from_vw(path, _listed(features))
    catalogue = None if arms is None else options.read_table("--arms", arms)
    chances: Any = _listed(propensity)
    return pb.Log.from_table(
        path,
        catalogue,
        action=action,
        propensity=chances[0] if chances is not None and len(chances) == 1 else chances,
        outcome=outcome,
        features=_listed(features),
        context=_listed(context) or (),
        time=time,
    )


def _subspace(log: Log, protected: str | None) -> Subspace | None:
    from projbandits.subspace import Subspace

    names = _listed(protected)
    return None if names is None else Subspace.without(names, columns=log.names)


def _ends(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise ValueError(f"--bounds must be two numbers such as 0,1, got {text!r}") from None
    return low, high


def _policy(text: str, known: Sequence[str]) -> Any:
    """Return a strategy, a decider or the name of a column, one of the log's."""
    import projbandits as pb
    from projbandits import specs
    from projbandits._validation import did_you_mean

    if Path(text).is_file():
        return pb.Decider.load(text)
    if text.partition("(")[0] in specs.STRATEGIES:
        return specs.strategy(text)
    columns = _listed(text) or []
    if len(columns) == 1 and text not in known:
        names = [*specs.STRATEGIES, *known]
        raise ValueError(
            "POLICY must be a strategy, the file of a decider or a column of the log, got "
            f"{text!r}{did_you_mean(text.partition('(')[0], names)}"
        )
    return columns if len(columns) > 1 else text


def _listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]
