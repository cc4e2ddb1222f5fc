"""What an audit's numbers mean, in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from projbandits._checks import Array
from projbandits.accounts.protected import Protected
from projbandits.strategies import LinearStrategy


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """The numbers of an audit.

    Parameters
    ----------
    strategy : LinearStrategy
        Who decided.
    protected : Protected
        What must not count.
    learnt : bool
        Whether any outcome was known at any of the decisions.
    cases : int
        How many decisions were audited.
    left_out : tuple of two int
        How many were not: their arms were too many to keep, or infinitely many.
    score : float
        The largest change of a score, relative to the scores' size.
    guesses : int
        How many best guesses changed.
    shifts : ndarray
        How far the choice probabilities moved, where they are known.
    lost : tuple of three float
        The return given up by projection, learning and exploring.
    """

    strategy: LinearStrategy
    protected: Protected
    learnt: bool
    cases: int
    left_out: tuple[int, int]
    score: float
    guesses: int
    shifts: Array
    lost: tuple[float, float, float]

    @property
    def role(self) -> bool | None:
        """Whether the protected part played a role in what was wanted, None if no one can tell."""
        if not self.protected.varied or not self.learnt:
            return None
        if self.score > 0 or self.guesses > 0:
            return True
        return None if self.strategy.learns_on == "projection" else False

    @property
    def moved(self) -> int:
        """How many choice probabilities changed."""
        return int((self.shifts > 1e-12).sum())

    def verdict(self) -> str:
        """Return whether the protected part played a role, and then whether in exploring."""
        if not self.protected.pieces:
            return "Nothing is protected: the subspace is the whole space."
        if not self.protected.varied:
            return (
                "Nothing can be concluded: the protected part never varied in what was offered, "
                "so there is no other one to try."
            )
        if not self.learnt:
            return (
                "Nothing can be concluded: no outcome was known at any of these decisions, so "
                "every score was zero."
            )
        if self.role:
            said = (
                "The protected part played a role in what was wanted: with another one, "
                f"{self.guesses} of {self.cases} best guesses changed, and scores by up to "
                f"{self.score:.0%} of their size."
            )
        elif self.role is None:
            said = (
                "Nothing can be concluded: with another protected part no score and no best guess "
                f"changed in {self.cases} decisions, but {self.strategy!r} learns on projected "
                "arms, so what it believes may rest on it."
            )
        else:
            said = (
                "The protected part played no role in what was wanted: with another one, no score "
                f"and no best guess changed in {self.cases} decisions."
            )
        return f"{said} {self._exploring()}"

    def _exploring(self) -> str:
        if not len(self.shifts):
            return (
                "Whether it played one in exploring is unknown, since the strategy states no "
                "probabilities."
            )
        if not self.moved:
            return "Nor did it in exploring: no choice probability changed."
        far = f"choice probabilities moved by {self.shifts.mean():.2g} on average"
        if self.role:
            return f"All in all, {far} (total variation)."
        return f"It did in exploring, which looks at whole arms: {far} (total variation)."

    def warnings(self) -> list[str]:
        """Return what the user must be told beside it, proxies apart."""
        said = []
        if self.role and self.strategy.aims_at == "return":
            said.append(
                f"{self.strategy!r} aims at the return, so the protected part counts in its "
                "scores: choose a strategy that aims at the projection, such as EIIDS or GENTRY"
            )
        elif self.role:
            said.append(
                f"scores of {self.strategy!r} changed with the protected part, though it says "
                "that it aims at the projection"
            )
        if self.protected.pieces and self.strategy.learns_on == "projection":
            said.append(
                f"{self.strategy!r} learns on projected arms, so the protected part's effect on "
                "the outcomes goes to kept features that go together with it: its scores may rest "
                "on it, which changing arms cannot show"
            )
        said += [
            f"{name!r} never varied in what was offered, so nothing can be concluded about it"
            for name in self.protected.pieces
            if name not in self.protected.varied
        ]
        return said

    def findings(self) -> dict[str, tuple[float, str]]:
        """Return each finding with its value and what it means."""
        many, infinite = self.left_out
        known = len(self.shifts)
        cause = {
            True: ": best guesses moved, and exploration may have too",
            False: ": scores did not move, so this is exploration, which looks at whole arms",
        }[self.score > 0 or self.guesses > 0]
        most = f"; by at most {self.shifts.max():.3g} (total variation)" if known else ""
        most += cause if self.moved else ""
        projection, learning, exploring = self.lost
        kind = "a decision, estimated: "
        return {
            "decisions audited": (self.cases, f"of {self.cases + many + infinite} in the log"),
            "decisions left out": (
                many + infinite,
                f"{many} among too many arms to keep, {infinite} on infinite sets",
            ),
            "largest change of a score": (
                self.score,
                "when the protected part of every arm was changed; relative to the scores' size",
            ),
            "best guesses that changed": (self.guesses, "of the decisions audited"),
            "choice probabilities that changed": (
                self.moved if known else np.nan,
                f"of {known} known{most}",
            ),
            "mean change of the probabilities": (
                float(self.shifts.mean()) if known else np.nan,
                "total variation",
            ),
            "return given up": (
                projection + learning + exploring,
                f"{kind}the best return on offer less that of the choice; it has three parts",
            ),
            "return given up by the projection": (
                projection,
                f"{kind}the best return less that of the arm that is best in what is wanted, by "
                "today's belief",
            ),
            "return given up by learning": (
                learning,
                f"{kind}that return less that of the best guess at the time; below 0 where wrong "
                "guesses had more",
            ),
            "return given up by exploring": (
                exploring,
                f"{kind}the return of the best guess less that of the choice",
            ),
        }
