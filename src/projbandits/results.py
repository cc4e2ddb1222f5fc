"""What a simulation found: arrays, tidy frames, summaries, and files."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projbandits import _joined, _saved, statistics
from projbandits._joined import Pulls
from projbandits._validation import Array, did_you_mean, one_of
from projbandits.statistics import Estimate

if TYPE_CHECKING:
    import pandas as pd

FOUND_BEST_SHARE = 0.9
FOUND_BEST_WINDOW = 200
SEARCH = "search"
"""Stands in brackets after the engine of a strategy whose arms are found by a search."""
METRICS = ("regret", "return_regret", "best_share", "found_best")


class Curve(NamedTuple):
    """A mean (or quantile) over trials at each step, with the ends of its interval."""

    mean: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What `simulate` returns.

    Parameters
    ----------
    strategies : tuple of str
        The labels, in the order asked for.
    steps : ndarray of shape (checkpoint,)
        The steps at which the rest was recorded.
    regret : ndarray of shape (strategy, trial, checkpoint)
        Cumulative projection regret R_U (equation 4), from means (no realised noise).
    return_regret : ndarray of shape (strategy, trial, checkpoint)
        Cumulative regret R against the best return (equation 2).
    best_share : ndarray of shape (strategy, trial, checkpoint), or None
        The share of the last 200 steps, up to each checkpoint, in which a best projection arm
        was played; None on infinite decision sets, and where offers change from step to step.
    found_best : ndarray of shape (strategy, trial), or None
        Whether a best arm was played in more than 90 % of the last 200 steps of the horizon; None
        where `best_share` is.
    engines : tuple of str
        Which engine ran each strategy. "compiled (search)" and "reference (search)" played arms
        that are the ends of a search, which may be below the maximum: see docs/numerics.md.
    parameters : tuple of dict
        The name and fields of each strategy.
    problem : str
        The label of the problem.
    horizon, seed : int
        What was asked for.
    trial_numbers : ndarray of shape (trial,)
        The number of each trial, which together with the seed says which world it is.
    identities : tuple of str
        Digests of the problem and of each strategy, their numbers and code included; empty if
        they are not known.
    pulls : ndarray of int64 and shape (strategy, trial, arm), or None
        How often each arm, or item of a catalogue, was played up to the horizon. None on infinite
        decision sets, in worlds of more than 10,000 arms, where it would take more memory than
        everything else, and in files from before it was kept. Where trials differ in their number
        of arms, those with fewer have zeros at the end.

    Examples
    --------
    >>> import projbandits as pb
    >>> strategies = [pb.GENTRY(), pb.UE()]
    >>> result = pb.simulate(pb.problems.random_arms(), strategies, trials=20, horizon=500)
    >>> result.strategies, result.engines, result.regret.shape[:2]
    (('GENTRY()', 'UE()'), ('events', 'events'), (2, 20))
    >>> result.summary()["mean"].idxmin()
    'GENTRY()'
    """

    strategies: tuple[str, ...]
    steps: NDArray[np.int64]
    regret: Array
    return_regret: Array
    best_share: Array | None
    found_best: NDArray[np.bool_] | None
    engines: tuple[str, ...]
    parameters: tuple[Mapping[str, Any], ...]
    problem: str
    horizon: int
    seed: int
    trial_numbers: NDArray[np.int64]
    identities: tuple[str, ...] = ()
    pulls: Pulls | None = None

    @property
    def trials(self) -> int:
        """The number of trials."""
        return int(self.regret.shape[1])

    def position(self, strategy: str) -> int:
        """Return where a strategy stands on the first axis of the arrays."""
        if strategy not in self.strategies:
            raise ValueError(
                f"strategy must be one of {list(self.strategies)}, got {strategy!r}"
                f"{did_you_mean(strategy, self.strategies)}"
            )
        return self.strategies.index(strategy)

    def only(self, *strategies: str) -> Result:
        """Return the result of some of the strategies alone, in the order given.

        Examples
        --------
        >>> import projbandits as pb
        >>> result = pb.simulate(pb.problems.random_arms(), [pb.GENTRY(), pb.UE()], trials=2,
        ...                      horizon=10)
        >>> result.only("UE()").strategies
        ('UE()',)
        """
        at = [self.position(label) for label in strategies]
        chosen: dict[str, Any] = {}
        for name in (*_joined.BY_TRIAL, "pulls"):
            chosen[name] = None if getattr(self, name) is None else getattr(self, name)[at]
        return replace(
            self,
            **chosen,
            strategies=tuple(strategies),
            engines=tuple(self.engines[i] for i in at),
            parameters=tuple(self.parameters[i] for i in at),
            identities=tuple(self.identities[i] for i in [0, *(1 + i for i in at)])
            if self.identities
            else (),
        )

    @classmethod
    def concat(cls, results: Iterable[Result]) -> Result:
        """Return the trials of several results in one, which is that of a run of all of them.

        They must be parts of one simulation: the same problem, seed, horizon, checkpoints and
        strategies, each run by the same engine, and no trial twice. Problems and strategies are
        compared by their identities, so results without any (of code that cannot be told apart) are
        refused. Strategies may stand in another order; trials are put in the order of their
        numbers. `pulls` is None unless all results have it.

        Parameters
        ----------
        results : iterable of Result
            The parts, for example of machines that ran other trials each.

        Examples
        --------
        >>> import projbandits as pb
        >>> parts = [pb.simulate(pb.problems.random_arms(), pb.UE(), trials=trials, horizon=10)
        ...          for trials in (range(0, 30), range(30, 50))]
        >>> pb.Result.concat(parts)
        Result(RandomArms(...), 1 strategies, 50 trials, horizon 10)
        """
        parts = list(results)
        for part in parts:
            if not isinstance(part, Result):
                raise TypeError(f"results must hold results only, got {part!r}")
        if not parts:
            raise ValueError("results must hold at least one result, got none")
        known = set(parts[0].strategies)
        same = [p.only(*parts[0].strategies) if set(p.strategies) == known else p for p in parts]
        return replace(parts[0], **_joined.joined([vars(part) for part in same]))

    def curve(
        self,
        strategy: str,
        metric: str = "regret",
        level: float = 0.95,
        quantile: float | None = None,
    ) -> Curve:
        """Return the mean over trials at each checkpoint, with Student's confidence interval.

        Parameters
        ----------
        strategy : str
            A label.
        metric : {"regret", "return_regret", "best_share", "found_best"}
            What to average; "found_best" is the share of trials whose best share exceeds 0.9 at
            the checkpoint, with a Wilson interval.
        level : float
            The confidence level.
        quantile : float, optional
            A quantile over trials instead of the mean, 0.5 for the median, with order statistics
            for its interval.
        """
        one_of("metric", metric, METRICS)
        if metric in ("best_share", "found_best") and self.best_share is None:
            raise ValueError(
                f"metric {metric!r} needs finitely many arms, the same at each step, got "
                f"{self.problem}"
            )
        kept: Array = getattr(self, "best_share" if metric == "found_best" else metric)
        values = kept[self.position(strategy)]
        if metric == "found_best":
            share = (values > FOUND_BEST_SHARE).mean(axis=0)
            return Curve(*statistics.wilson(share, self.trials, level))
        if quantile is not None:
            return Curve(*statistics.quantile(values, quantile, level))
        mean = values.mean(axis=0)
        half = statistics.half_width(values, level)
        return Curve(mean, mean - half, mean + half)

    def summary(self, level: float = 0.95) -> pd.DataFrame:
        """Return one row for each strategy: its regret at the last checkpoint.

        Columns: mean, the ends low and high of its interval, median, p90, the mean return
        regret, found_best (the share of trials), and the engine.
        """
        import pandas as pd

        last = self.regret[:, :, -1]
        curves = [self.curve(label, level=level) for label in self.strategies]
        columns = {
            "mean": last.mean(axis=1),
            "low": [curve.low[-1] for curve in curves],
            "high": [curve.high[-1] for curve in curves],
            "median": np.median(last, axis=1),
            "p90": np.quantile(last, 0.9, axis=1),
            "return_regret": self.return_regret[:, :, -1].mean(axis=1),
        }
        if self.found_best is not None:
            columns["found_best"] = self.found_best.mean(axis=1)
        frame = pd.DataFrame(columns, index=pd.Index(self.strategies, name="strategy"))
        return frame.assign(engine=list(self.engines))

    def paired(self, baseline: str | None = None, level: float = 0.95) -> pd.DataFrame:
        """Return how each other strategy's regret at the last checkpoint differs from a baseline's.

        All strategies meet the same worlds, so differences are taken trial by trial: what makes
        one world harder than another drops out, and their intervals are narrower than those of
        the two means.

        Parameters
        ----------
        baseline : str, optional
            A label, by default that of the first strategy.
        level : float
            The confidence level.

        Returns
        -------
        DataFrame
            Columns: difference (the mean over trials, negative if the strategy does better than
            the baseline), the ends low and high of its interval, and better, the share of trials
            in which its regret is below the baseline's.

        Examples
        --------
        >>> import projbandits as pb
        >>> result = pb.simulate(pb.problems.random_arms(), [pb.GENTRY(), pb.CURSE()], trials=50,
        ...                      horizon=2000)
        >>> result.paired().round(2)
                  difference     low     high  better
        strategy
        CURSE()       773.83  521.14  1026.52    0.04
        """
        import pandas as pd

        last = self.regret[:, :, -1]
        base = self.position(self.strategies[0] if baseline is None else baseline)
        others = [i for i in range(len(self.strategies)) if i != base]
        difference = last[others] - last[base]
        mean = difference.mean(axis=1)
        half = statistics.half_width(difference.T, level)
        columns = {
            "difference": mean,
            "low": mean - half,
            "high": mean + half,
            "better": (difference < 0).mean(axis=1),
        }
        labels = [self.strategies[i] for i in others]
        return pd.DataFrame(columns, index=pd.Index(labels, name="strategy"))

    def against(self, parameter: str, level: float = 0.95) -> pd.DataFrame:
        """Return the final regret as a function of one parameter of the strategies.

        One row for each strategy that has the parameter: its family (the label without that
        parameter), its label, the parameter, and the mean with its interval. Families are in the
        order of the strategies, and within a family the parameter increases.
        """
        import pandas as pd

        rows = []
        for i, fields in enumerate(self.parameters):
            if parameter in fields and parameter not in ("strategy", "defaults"):
                curve = self.curve(self.strategies[i], level=level)
                rows.append(
                    {
                        "family": _family(fields, parameter),
                        "strategy": self.strategies[i],
                        parameter: fields[parameter],
                        "mean": curve.mean[-1],
                        "low": curve.low[-1],
                        "high": curve.high[-1],
                    }
                )
        if not rows:
            names = {name for fields in self.parameters for name in fields}
            known = sorted(names - {"strategy", "defaults"})
            raise ValueError(
                f"parameter must be a field of one of the strategies, got {parameter!r}: "
                f"they have {known}"
            )
        frame = pd.DataFrame(rows)
        order = frame["family"].drop_duplicates().tolist()  # as they were asked for
        place = frame["family"].map(order.index)
        frame = frame.assign(place=place).sort_values(["place", parameter], ignore_index=True)
        return frame.drop(columns="place")

    def exponent(self, strategy: str, level: float = 0.95) -> Estimate:
        """Return b of the power law n^b that fits the mean regret over the last decade of steps.

        With a bootstrap interval over trials; see `projbandits.statistics.exponent`.

        Examples
        --------
        >>> import projbandits as pb
        >>> result = pb.simulate(pb.problems.random_arms(), pb.UE(), trials=20, horizon=1000)
        >>> 0.5 < result.exponent("UE()").value < 1.1
        True
        """
        return statistics.exponent(self.steps, self.regret[self.position(strategy)], level)

    def to_frame(self) -> pd.DataFrame:
        """Return a tidy frame, one row for each strategy, trial and checkpoint."""
        import pandas as pd

        shape = self.regret.shape
        labels = pd.CategoricalDtype(list(self.strategies))
        strategy, trial, checkpoint = np.indices(shape).reshape(3, -1)
        columns: dict[str, Any] = {
            "strategy": pd.Categorical.from_codes(strategy, dtype=labels),
            "trial": self.trial_numbers[trial],
            "step": self.steps[checkpoint],
            "regret": self.regret.ravel(),
            "return_regret": self.return_regret.ravel(),
        }
        if self.best_share is not None:
            columns["best_share"] = self.best_share.ravel()
        return pd.DataFrame(columns)

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the mean regret curves and return the matplotlib Axes.

        The options are those of `projbandits.plots.regret`.
        """
        # By name and only now: results must not depend on plots, nor load matplotlib early.
        return importlib.import_module("projbandits.plots").regret(self, ax=ax, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to one Parquet file: `to_frame()`, with the rest as metadata.

        `pulls` is a column of lists, with a value at the last checkpoint of each trial.

        The file appears whole or not at all, and carries a checksum of all that is in it.
        """
        _saved.write(Path(path), vars(self), self.to_frame())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a result that `save` wrote, if its checksum matches."""
        return cls(**_saved.read(path))

    def _repr_html_(self) -> str:
        # By name and only now: nothing here depends on how a notebook shows it.
        return str(importlib.import_module("projbandits.notebook").result(self))

    def __repr__(self) -> str:
        return (
            f"Result({self.problem}, {len(self.strategies)} strategies, "
            f"{self.trials} trials, horizon {self.horizon})"
        )


def _family(fields: Mapping[str, Any], without: str) -> str:
    changed = {n: v for n, v in fields.items() if n not in ("strategy", "defaults", without)}
    shown = [f"{n}={v!r}" for n, v in changed.items() if v != fields["defaults"].get(n)]
    return f"{fields['strategy']}({', '.join(shown)})" if shown else str(fields["strategy"])
