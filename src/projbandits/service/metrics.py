"""What a process counts of itself, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Where the latency histogram is cut, in seconds."""

GAUGES = {
    "pending": "Decisions in the ledger without an outcome.",
    "oldest_pending_seconds": "For how long the oldest of them has been waiting.",
    "ledger_decisions": "Decisions in the ledger, whoever made them.",
    "ledger_outcomes": "Outcomes in the ledger, whoever told them.",
}
"""The gauges of each decider, in words."""


class Metrics:
    """Counters and latencies of a process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "projbandits_requests", "Requests that were answered.", ["status"],
            registry=self._registry,
        )  # fmt: skip
        self.counts = {
            what: Counter(
                f"projbandits_{what}", f"{what.capitalize()} of this process.", ["decider"],
                registry=self._registry,
            )
            for what in ("decisions", "outcomes")
        }  # fmt: skip
        self.seconds = Histogram(
            "projbandits_request_seconds", "How long requests took.", ["method", "path"],
            registry=self._registry, buckets=BOUNDS,
        )  # fmt: skip

    def text(
        self,
        deciders: Mapping[str, Mapping[str, float]],
        in_flight: int,
        flushes: int,
        only: str | None,
    ) -> str:
        """Return everything in Prometheus' text format.

        Parameters
        ----------
        deciders : mapping
            The gauges of each decider.
        in_flight, flushes : int
            How many requests are worked on, and how many transactions were flushed.
        only : str or None
            Leave out all deciders but this one.
        """
        asked = _Families(self._families(deciders, in_flight, flushes), only)
        return generate_latest(asked).decode()

    def _families(
        self, deciders: Mapping[str, Mapping[str, float]], in_flight: int, flushes: int
    ) -> Iterator[Metric]:
        yield from self._registry.collect()
        yield GaugeMetricFamily(
            "projbandits_requests_in_flight", "Requests that are being worked on.", in_flight
        )
        yield CounterMetricFamily(
            "projbandits_flushes", "Transactions that this process made durable.", flushes
        )
        for what, about in GAUGES.items():
            family = GaugeMetricFamily(f"projbandits_{what}", about, labels=["decider"])
            for name, values in deciders.items():
                family.add_metric([name], values[what])
            yield family


class _Families(CollectorRegistry):
    """Metrics at hand, without the times at which counters began."""

    def __init__(self, found: Iterable[Metric], only: str | None) -> None:
        super().__init__()
        self._found, self._only = found, only

    def collect(self) -> Iterator[Metric]:
        for family in self._found:
            family.samples = [
                sample
                for sample in family.samples
                if not sample.name.endswith("_created")
                and self._only in (None, sample.labels.get("decider", self._only))
            ]
            yield family
