"""What a claim is, and what comes of it: from numbers with intervals to verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from projbandits.paper.experiments import HORIZON, Experiment
from projbandits.results import Result
from projbandits.statistics import Estimate


class Outcome(StrEnum):
    """What came of a claim, of one of its readings, or of a number behind it."""

    HOLDS = "holds"
    MIXED = "mixed"
    """It holds in one reading and does not hold in another."""
    FAILS = "does not hold"
    UNDECIDED = "undecided"


class Origin(StrEnum):
    """Where a claim comes from."""

    PAPER = "claimed by the paper"
    OPEN = "left open by the paper"
    OURS = "not in the paper"


Results = Mapping[str, Result]


class Condition(NamedTuple):
    """An estimate and where it must lie; its interval decides, unless it is too wide.

    Parameters
    ----------
    what : str
        What is estimated.
    estimate : Estimate
        The number with its interval.
    least, most : float
        Where it must lie for the claim to hold.
    brief : str
        What a reader wants to see of it first, in a few words.
    """

    what: str
    estimate: Estimate
    least: float = -math.inf
    most: float = math.inf
    brief: str = ""

    @property
    def outcome(self) -> Outcome:
        """Whether the interval lies inside, outside, or across an end."""
        _, low, high = self.estimate
        if not self.demand:
            return Outcome.HOLDS
        if self.least <= low and high <= self.most:
            return Outcome.HOLDS
        if high < self.least or low > self.most:
            return Outcome.FAILS
        return Outcome.UNDECIDED

    @property
    def demand(self) -> str:
        """The demand in words; a number may be shown without one."""
        if self.least == -math.inf and self.most == math.inf:
            return ""
        if self.least == -math.inf:
            return f"at most {self.most:.3g}"
        if self.most == math.inf:
            return f"at least {self.least:.3g}"
        return f"{self.least:.3g} to {self.most:.3g}"


Check = Callable[[Results], Sequence[Condition]]
Readings = Sequence[tuple[str, Check]]
"""Each way to read a claim, and what must be true then; the first is the paper's."""


class Reading(NamedTuple):
    """What came of a claim if it is read in one way.

    Parameters
    ----------
    name : str
        Which way; empty if there is only one.
    outcome : Outcome
        Whether it holds.
    conditions : tuple of Condition
        The numbers behind that.
    """

    name: str
    outcome: Outcome
    conditions: tuple[Condition, ...]

    @property
    def brief(self) -> str:
        """The numbers in one line."""
        return ", ".join(dict.fromkeys(c.brief for c in self.conditions if c.brief))


@dataclass(frozen=True)
class Verdict:
    """What came of a claim in each of its readings; the first is the one with given alphas."""

    readings: tuple[Reading, ...]
    why: str = ""

    @property
    def outcome(self) -> Outcome:
        """What came of all readings together: mixed if it holds in one and not in another."""
        found = {reading.outcome for reading in self.readings}
        if {Outcome.HOLDS, Outcome.FAILS} <= found:
            return Outcome.MIXED
        return found.pop() if len(found) == 1 else Outcome.UNDECIDED

    @property
    def given(self) -> Outcome:
        """What came of the reading with the alphas given, or of the only one."""
        return self.readings[0].outcome

    @property
    def tuned(self) -> Outcome | None:
        """What came of the reading in which each strategy has its best alpha, if there is one."""
        return self.readings[1].outcome if len(self.readings) > 1 else None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement that the results can bear out or not.

    Parameters
    ----------
    name : str
        A short name.
    text : str
        What is claimed.
    source : str
        Where the paper says it, if it does.
    experiments : tuple of Experiment
        What is needed to check it.
    readings : sequence of (str, callable)
        Each way to read it, and what must be true then: a function from the results to conditions.
        The first is the paper's. The name is empty if there is only one.
    figures : tuple of str
        The figures that show it; together they need its experiments.
    remark : str
        Why it may be otherwise, where the paper leaves room.
    origin : Origin
        Whether it is the paper's, answers a question that the paper leaves open, or is ours.
    """

    name: str
    text: str
    source: str = ""
    experiments: tuple[Experiment, ...]
    readings: Readings
    figures: tuple[str, ...] = ()
    remark: str = ""
    origin: Origin = Origin.PAPER

    @property
    def place(self) -> str:
        """Where the paper says it, or that it does not."""
        return self.source or self.origin.value

    def check(self, results: Results) -> Verdict:
        """Return the verdict: in each reading the claim holds if every condition does.

        The claims are about the paper's horizon; a shorter one decides nothing.
        """
        return judged(self.readings, self.experiments, results)


def judged(readings: Readings, experiments: Sequence[Experiment], results: Results) -> Verdict:
    """Return the verdict on a claim with these readings, checked on these experiments."""
    short = any(results[x.name].horizon < x.horizon_of(HORIZON) for x in experiments)
    checked = []
    for name, check in readings:
        conditions = tuple(check(results))
        found = {condition.outcome for condition in conditions}
        worst = next((o for o in (Outcome.FAILS, Outcome.UNDECIDED) if o in found), Outcome.HOLDS)
        checked.append(Reading(name, Outcome.UNDECIDED if short else worst, conditions))
    why = "The runs are shorter than those that the claim is about." if short else ""
    return Verdict(tuple(checked), why)
