"""Dates in tables, as numbers of days since 1970."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from projbandits._tables import is_missing

ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
"""How a date is written."""

EPOCH = datetime(1970, 1, 1)
SECONDS_A_DAY = 86_400.0


def days_of(entry: Any) -> float | None:
    """Return a date in days since 1970, nan if it is missing, and None if it is no date.

    A time of day counts as part of a day; where it has no zone, it is taken to be UTC.

    Examples
    --------
    >>> from datetime import date
    >>> from projbandits._dates import days_of
    >>> days_of("1970-01-03"), days_of(date(1970, 1, 3)), days_of("1970-01-02T06:00+06:00")
    (2.0, 2.0, 1.0)
    >>> days_of("03/01/1970"), days_of("")
    (None, nan)
    """
    if is_missing(entry):
        return math.nan
    if isinstance(entry, np.datetime64):
        entry = entry.astype("datetime64[us]").item()
    if isinstance(entry, str):
        if ISO.fullmatch(entry) is None:
            return None
        try:
            entry = datetime.fromisoformat(entry)
        except ValueError:
            return None
    if isinstance(entry, datetime):
        if entry.tzinfo is not None:
            entry = entry.astimezone(UTC).replace(tzinfo=None)
        return float((entry - EPOCH).total_seconds() / SECONDS_A_DAY)
    return float(entry.toordinal() - EPOCH.toordinal()) if isinstance(entry, date) else None


def written(days: float) -> str:
    """Return a number of days since 1970 as a date, with the time if there is one.

    Examples
    --------
    >>> from projbandits._dates import written
    >>> written(2.0), written(2.25)
    ('1970-01-03', '1970-01-03T06:00:00')
    """
    moment = EPOCH + timedelta(seconds=round(days * SECONDS_A_DAY, 6))
    return moment.date().isoformat() if days.is_integer() else moment.isoformat()
