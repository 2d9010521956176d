"""Cross-origin requests of browsers; in the chain only while OJS_CORS_ORIGINS is set.

Spec: contract 31.4. The rules come from django-cors-headers.
"""

from corsheaders.middleware import CorsMiddleware
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from jobs.api.wire.headers import chosen_request_id, stamp


class Cors(CorsMiddleware):
    """Gives the answer to a preflight the headers that every answer has."""

    def check_preflight(self, request: HttpRequest) -> HttpResponseBase | None:
        """Answer a preflight; return None for any other request."""
        response = super().check_preflight(request)
        if response is not None:
            stamp(response, chosen_request_id(request), {})
        return response
