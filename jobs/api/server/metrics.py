"""Metrics: text for Prometheus, a few numbers as JSON. Spec: contract 32.4."""

from typing import Any

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import NUMBER, integer, obj, text
from jobs.api.wire.answer import Answer
from jobs.conf import conf
from jobs.domain.errors import InvalidRequest
from jobs.fastpath import counters
from jobs.fastpath.deferred_metrics import write_now
from jobs.services.health.exposition import exposition
from jobs.services.health.health import uptime_seconds
from jobs.services.health.summary import summary

TEXT, PLAIN_TEXT = "text/plain; version=0.0.4; charset=utf-8", "text/plain"
COUNTS = (
    "uptime_seconds", "jobs_enqueued_total", "jobs_completed_total", "jobs_failed_total",
    "jobs_active", "queues_active", "workers_active",
)  # fmt: skip
SUMMARY = obj(
    {
        **{name: integer(0) for name in COUNTS},
        "avg_latency_ms": NUMBER,
        "throughput_per_second": NUMBER,
    }
)


class Metrics(OJSView):
    """All metrics for Prometheus."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Require no key if the settings say so."""
        if not conf().metrics_public:
            super().initial(request, *args, **kwargs)

    @operation("getMetrics", {200: None}, media={TEXT: text(), PLAIN_TEXT: text()})
    def get(self, request: Request) -> Answer:
        """Show the lifecycle metrics and the metrics of the server processes."""
        return prometheus_text(request)


def prometheus_text(request: Request) -> Answer:
    """Return all metrics in the text format, as `text/plain` when only that is accepted."""
    write_now()
    text = exposition() + counters.exposed()
    is_plain = request.META.get("HTTP_ACCEPT", "").strip() == PLAIN_TEXT
    return Answer(text, media=PLAIN_TEXT if is_plain else TEXT)


class MetricsSummary(OJSView):
    """A few numbers for dashboards without Prometheus."""

    @operation(
        "getMetricsSummary",
        {200: SUMMARY},
        query={"format": {"type": "string", "enum": ["json", "prometheus", ""]}},
        media={TEXT: text(), PLAIN_TEXT: text()},
    )
    def get(self, request: Request) -> Answer:
        """Show the numbers of the whole system, or the same text as /metrics."""
        wanted = request.query_params.get("format", "")
        if wanted not in {"", "json", "prometheus"}:
            raise InvalidRequest.field("format", "must be json or prometheus", wanted[:100])
        if wanted == "prometheus":
            return prometheus_text(request)
        found = summary()
        return Answer(
            {
                "uptime_seconds": uptime_seconds(),
                "jobs_enqueued_total": found.enqueued,
                "jobs_completed_total": found.completed,
                "jobs_failed_total": found.failed,
                "jobs_active": found.active,
                "queues_active": found.queues,
                "workers_active": found.workers,
                "avg_latency_ms": found.latency_ms,
                "throughput_per_second": found.per_second,
            }
        )
