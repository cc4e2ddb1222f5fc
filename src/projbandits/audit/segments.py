"""Who asked, as segments of the decisions: the values of a column of the context, or of a note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from projbandits.audit.protected import groups
from projbandits.features.contexts import named

ALL = "all"
"""The segment of all decisions together."""

OTHERS = "others"
"""The segment of all values but the most frequent ones."""

NOT_SAID = "not said"
"""The segment of a decision that does not say it."""

MOST_SEGMENTS = 20


@dataclass(frozen=True)
class Segments:
    """What tells the segment of a value.

    Parameters
    ----------
    names : tuple of str
        The segments of values, in order.
    cut : list of tuples, or None
        For numbers, the segments with tests for membership.
    """

    names: tuple[str, ...]
    cut: list[tuple[str, Any]] | None = None

    @classmethod
    def of(cls, values: Iterable[Any]) -> Segments | None:
        """Return the segments of the values of decisions, None if no decision has one.

        Numbers of more than six values are cut at their terciles. Of other values the twenty most
        frequent have a segment each. A value that is called like a segment of the audit's own is
        written in quotes.

        Examples
        --------
        >>> from projbandits.audit.segments import Segments
        >>> segment = Segments.of(["a", "all", "a", None])
        >>> segment("a"), segment("all"), segment(None)
        ('a', "'all'", 'not said')
        >>> Segments.of(range(30)).names
        ('up to 9.67', '9.67 to 19.3', 'above 19.3')
        """
        said = [value for value in values if value is not None]
        if not said:
            return None
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in said):
            cut = groups(np.array(said, dtype=np.float64))
            return cls(tuple(name for name, _ in cut), cut)
        kept = [name for name, _ in Counter(map(named, said)).most_common(MOST_SEGMENTS)]
        return cls(tuple(sorted(map(_quoted, kept))))

    def __call__(self, value: Any) -> str:
        """Return the segment of what came with a decision."""
        if value is None:
            return NOT_SAID
        if self.cut is not None:
            return next((name for name, inside in self.cut if inside(value)), OTHERS)
        name = _quoted(named(value))
        return name if name in self.names else OTHERS

    def order(self, segment: str) -> int:
        """Return where a segment stands: all decisions first, what is left over last."""
        return [ALL, *self.names, OTHERS, NOT_SAID].index(segment)


def _quoted(name: str) -> str:
    return repr(name) if name in (ALL, OTHERS, NOT_SAID) else name
