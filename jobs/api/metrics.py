"""Metrics for Prometheus. Spec: contract 32.4."""

from typing import Any

from django_prometheus.exports import ExportToDjangoView
from rest_framework.request import Request
from rest_framework.response import Response

from jobs.api.base import Negotiation, Renderer
from jobs.api.openapi import operation
from jobs.api.plain import PlainView
from jobs.api.schemas import text
from jobs.conf import conf
from jobs.services.exposition import exposition

TEXT, PLAIN_TEXT = "text/plain; version=0.0.4; charset=utf-8", "text/plain"


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
        processes = ExportToDjangoView(request).content
        return Response(exposition() + processes)
