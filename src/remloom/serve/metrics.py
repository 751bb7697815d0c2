"""What a server counts, in Prometheus's format: no tenant, no name and no text is in it."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

from ..errors import InvalidInputError, NotFoundError, RemloomError
from .tenants import Tenants

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600)


class ServerMetrics:
    def __init__(self, tenants: Tenants) -> None:
        self._registry = CollectorRegistry()
        self._operations = Histogram(
            "remloom_operation_seconds",
            "Seconds that operations took, with waiting for a thread.",
            ("operation", "outcome"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._requests = Counter(
            "remloom_requests",
            "Requests by the route that they met.",
            ("route", "status"),
            registry=self._registry,
        )
        self._running = Gauge(
            "remloom_operations_running", "Operations that run or wait.", registry=self._registry
        )
        self._registry.register(_OpenMemories(tenants))

    @contextmanager
    def operation(self, name: str) -> Iterator[None]:
        """Measure an operation: how long it took, and whether it was done, refused or failed."""
        began = perf_counter()
        outcome = "cancelled"
        self._running.inc()
        try:
            yield
            outcome = "done"
        except (InvalidInputError, NotFoundError):
            outcome = "refused"
            raise
        except RemloomError:
            outcome = "failed"
            raise
        except Exception:
            outcome = "broken"
            raise
        finally:
            self._running.dec()
            self._operations.labels(name, outcome).observe(perf_counter() - began)

    def request(self, route: str, status: int) -> None:
        """Count a request. The route is the pattern, never the path that was asked for."""
        self._requests.labels(route, str(status)).inc()

    def render(self) -> bytes:
        return generate_latest(self._registry)


class _OpenMemories(Collector):
    """What the memories that are open say of themselves, added up, when it is asked for."""

    def __init__(self, tenants: Tenants) -> None:
        self._tenants = tenants

    def collect(self) -> Iterator[GaugeMetricFamily]:
        memories = self._tenants.open_memories()
        counts: Tally[tuple[str, str]] = Tally()
        waiting = tail = 0
        for memory in memories:
            # one that is being closed has nothing to say
            with suppress(RemloomError):
                stats = memory.admin.stats()
                waiting += stats.pending
                tail += round(stats.vectors.count * (stats.vectors.exact_share or 0))
                counts.update((job.kind, job.state) for job in memory.jobs.list())
        yield GaugeMetricFamily("remloom_open_tenants", "Memories that are open.", len(memories))
        yield GaugeMetricFamily("remloom_embedding_queue", "Texts that wait for a vector.", waiting)
        yield GaugeMetricFamily(
            "remloom_index_tail",
            "Vectors that searches compare one by one, as no graph has them.",
            tail,
        )
        jobs = GaugeMetricFamily("remloom_jobs", "Jobs in the queues.", labels=("kind", "state"))
        for labels, count in sorted(counts.items()):
            jobs.add_metric(labels, count)
        yield jobs
