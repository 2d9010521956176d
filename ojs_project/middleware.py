"""Runs Django's page middleware for pages only, so that API requests do not pay for it."""

import warnings
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

Handler = Callable[[HttpRequest], HttpResponse]
# Everything from the server itself; the API documentation page is outside the console
CSP = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"


def pages_only(get_response: Handler) -> Handler:
    """Wrap the view in `PAGE_MIDDLEWARE` when the path starts with one of `PAGE_PREFIXES`."""
    pages: Handler = get_response
    with warnings.catch_warnings():
        # static files that were not collected come from the apps' folders
        warnings.filterwarnings("ignore", "No directory at", UserWarning)
        for path in reversed(settings.PAGE_MIDDLEWARE):
            try:
                pages = import_string(path)(pages)
            except MiddlewareNotUsed:
                continue

    def middleware(request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith(settings.PAGE_PREFIXES):
            return get_response(request)
        response = pages(request)
        if request.path_info.startswith("/console/"):
            response.headers["Content-Security-Policy"] = CSP
        return response

    return middleware
