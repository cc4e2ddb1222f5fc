"""What a process counts of itself, as Prometheus reads it."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Where the latency histogram is cut, in seconds."""

HELP = {
    "requests_total": "Requests that were answered, by status.",
    "decisions_total": "Decisions that this process made.",
    "outcomes_total": "Outcomes that this process took.",
    "flushes_total": "Transactions that this process made durable.",
    "request_seconds": "How long requests took.",
    "requests_in_flight": "Requests that are being worked on.",
    "pending": "Decisions in the ledger without an outcome.",
    "oldest_pending_seconds": "For how long the oldest of them has been waiting.",
    "ledger_decisions": "Decisions in the ledger, whoever made them.",
    "ledger_outcomes": "Outcomes in the ledger, whoever told them.",
}
"""What is measured, in words."""

Labels = tuple[tuple[str, str], ...]


class Metrics:
    r"""Counters and histograms.

    Examples
    --------
    >>> from projbandits.service.metrics import Metrics
    >>> metrics = Metrics()
    >>> metrics.count("decisions", 2, decider='a"b')
    >>> print(metrics.text({}), end="")
    # HELP projbandits_decisions_total Decisions that this process made.
    # TYPE projbandits_decisions_total counter
    projbandits_decisions_total{decider="a\"b"} 2
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, Counter[Labels]] = defaultdict(Counter)
        self._buckets: dict[Labels, list[int]] = {}
        self._sums: Counter[Labels] = Counter()

    def count(self, name: str, by: int = 1, **labels: str) -> None:
        """Add to a counter."""
        with self._lock:
            self._counts[name][tuple(labels.items())] += by

    def reach(self, name: str, total: int) -> None:
        """Set a counter that is kept elsewhere."""
        with self._lock:
            self._counts[name][()] = total

    def took(self, seconds: float, **labels: str) -> None:
        """Note how long a request took."""
        key = tuple(labels.items())
        with self._lock:
            buckets = self._buckets.setdefault(key, [0] * (len(BOUNDS) + 1))
            buckets[bisect_left(BOUNDS, seconds)] += 1
            self._sums[key] += seconds  # type: ignore[assignment]

    def text(
        self, gauges: Mapping[str, Iterable[tuple[Labels, float]]], only: str | None = None
    ) -> str:
        """Return everything in Prometheus' text format.

        Parameters
        ----------
        gauges : mapping
            Those that are known only now.
        only : str, optional
            Leave out what is about other deciders than this one.
        """
        lines = list[str]()
        with self._lock:
            for name, counts in self._counts.items():
                lines += _head(f"{name}_total", "counter")
                lines += [
                    f"projbandits_{name}_total{_written(labels)} {value}"
                    for labels, value in counts.items()
                    if only in (None, dict(labels).get("decider", only))
                ]
            if self._buckets:
                lines += _head("request_seconds", "histogram")
            for labels, buckets in self._buckets.items():
                total = 0
                for bound, value in zip((*map(str, BOUNDS), "+Inf"), buckets, strict=True):
                    total += value
                    le = _written((*labels, ("le", bound)))
                    lines.append(f"projbandits_request_seconds_bucket{le} {total}")
                at = _written(labels)
                lines.append(f"projbandits_request_seconds_sum{at} {self._sums[labels]:.6f}")
                lines.append(f"projbandits_request_seconds_count{at} {total}")
        for name, values in gauges.items():
            lines += _head(name, "gauge")
            lines += [f"projbandits_{name}{_written(labels)} {value}" for labels, value in values]
        return "".join(f"{line}\n" for line in lines)


def _head(name: str, kind: str) -> list[str]:
    said = [f"# TYPE projbandits_{name} {kind}"]
    return [f"# HELP projbandits_{name} {HELP[name]}", *said] if name in HELP else said


def _written(labels: Labels) -> str:
    if not labels:
        return ""
    escaped = (
        (name, value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n"))
        for name, value in labels
    )
    return "{" + ",".join(f'{name}="{value}"' for name, value in escaped) + "}"
