"""Base of the endpoints that answer with something else than JSON; their errors are JSON."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from jobs.api.base import JSONRenderer, Negotiation, OJSView, Renderer


class OneRenderer(Negotiation):
    """There is one form, whatever the client accepts."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        """Use it."""
        return renderers[0], renderers[0].media_type


class PlainView(OJSView):
    """`renderer_classes` names the form of the answer."""

    content_negotiation_class: type[Negotiation] = OneRenderer

    def handle_exception(self, exc: Exception) -> Response:
        """Render problems in the OJS shape."""
        self.request.accepted_renderer, self.request.accepted_media_type = (
            Negotiation().select_renderer(self.request, [Renderer(), JSONRenderer()])
        )
        return super().handle_exception(exc)
