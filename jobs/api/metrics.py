"""Metrics: text for Prometheus, a few numbers as JSON. Spec: contract 32.4."""

from typing import Any

from django_prometheus.exports import ExportToDjangoView
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.api.base import JSONRenderer, Negotiation, Renderer
from jobs.api.openapi import operation
from jobs.api.plain import PlainView
from jobs.api.schemas import NUMBER, integer, obj, text
from jobs.conf import conf
from jobs.domain.errors import InvalidRequest
from jobs.services.exposition import exposition
from jobs.services.health import uptime_seconds
from jobs.services.summary import summary

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


class TextRenderer(Renderer):
    """Prometheus text; the exact type `text/plain` when the client asks for just that."""

    media_type = TEXT


class PlainTextRenderer(Renderer):
    """The same without parameters. Spec: contract 32.4."""

    media_type = PLAIN_TEXT


class MetricsNegotiation(Negotiation):
    """Choose the spelling of the text type."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        """Answer `Accept: text/plain` with exactly that."""
        is_plain = request.META.get("HTTP_ACCEPT", "").strip() == "text/plain"
        chosen = renderers[1] if is_plain else renderers[0]
        return chosen, chosen.media_type


class Metrics(PlainView):
    """Everything Prometheus may know."""

    is_global = True
    scopes = {"GET": "ojs:admin:read"}
    renderer_classes = [TextRenderer, PlainTextRenderer]
    content_negotiation_class = MetricsNegotiation

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Need no key when the deployment says so."""
        if not conf().metrics_public:
            super().initial(request, *args, **kwargs)

    @operation("getMetrics", {200: None}, media={TEXT: text(), PLAIN_TEXT: text()})
    def get(self, request: Request) -> Response:
        """Show the lifecycle metrics and those of the server processes."""
        return Response(prometheus_text(request))


def prometheus_text(request: Request) -> bytes:
    """Return everything in the text format."""
    return exposition() + bytes(ExportToDjangoView(request).content)


class SummaryNegotiation(Negotiation):
    """`format=prometheus` asks for text, whatever the client accepts."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        """Choose by the query first."""
        if request.query_params.get("format") == "prometheus":
            return MetricsNegotiation().select_renderer(request, renderers[2:])
        return super().select_renderer(request, renderers)


class MetricsSummary(PlainView):
    """A few numbers for dashboards without Prometheus."""

    is_global = True
    scopes = {"GET": "ojs:admin:read"}
    renderer_classes = [Renderer, JSONRenderer, TextRenderer, PlainTextRenderer]
    content_negotiation_class = SummaryNegotiation

    @operation(
        "getMetricsSummary",
        {200: SUMMARY},
        query={"format": {"type": "string", "enum": ["json", "prometheus", ""]}},
        media={TEXT: text(), PLAIN_TEXT: text()},
    )
    def get(self, request: Request) -> Response:
        """Show the numbers of the whole system, or the same text as /metrics."""
        wanted = request.query_params.get("format", "")
        if wanted not in {"", "json", "prometheus"}:
            raise InvalidRequest.field("format", "must be json or prometheus", wanted[:100])
        if wanted == "prometheus":
            return Response(prometheus_text(request))
        found = summary()
        return Response(
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
