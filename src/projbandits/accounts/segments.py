"""Who asked, as segments of the decisions: the values of a column of the context, or of a note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from projbandits.accounts.protected import groups
from projbandits.deciding.contexts import named

ALL = "all"
"""The segment of all decisions together."""

OTHERS = "others"
"""The segment of all values but the most frequent ones."""

NOT_SAID = "not said"
"""The segment of a decision that does not say it."""

MOST_SEGMENTS = 20
OWN = (ALL, OTHERS, NOT_SAID)


def segments(values: Iterable[Any]) -> Callable[[Any], str] | None:
    """Return what tells the segment of a value, None if no decision has one.

    Numbers of more than six values are cut at their terciles. Of other values the twenty most
    frequent have a segment each. A value that is called like a segment of the audit's own is
    written in quotes.

    Examples
    --------
    >>> from projbandits.accounts.segments import segments
    >>> segment = segments(["a", "all", "a", None])
    >>> segment("a"), segment("all"), segment(None)
    ('a', "'all'", 'not said')
    >>> segments(range(30))(29)
    'above 19.3'
    """
    said = [value for value in values if value is not None]
    if not said:
        return None
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in said):
        cut = groups(np.array(said, dtype=np.float64))
        return lambda value: NOT_SAID if value is None else _within(cut, value)
    kept = {name for name, _ in Counter(map(named, said)).most_common(MOST_SEGMENTS)}

    def segment(value: Any) -> str:
        if value is None:
            return NOT_SAID
        name = named(value)
        if name not in kept:
            return OTHERS
        return repr(name) if name in OWN else name

    return segment


def _within(cut: list[tuple[str, Any]], value: float) -> str:
    return next((name for name, inside in cut if inside(value)), OTHERS)
