"""Runs Django's page middleware for pages only, so that API requests do not pay for it."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from jobs.api.base import plain_error
from ojs_project.hosts import refusal

Handler = Callable[[HttpRequest], HttpResponse]
# Everything from the server itself; the API documentation page is outside the console
CSP = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'"


class PagesOnly:
    """Wraps the view in `PAGE_MIDDLEWARE` when the path starts with one of `PAGE_PREFIXES`.

    Django calls the hooks of middleware only for what `MIDDLEWARE` names, so the hooks of the
    wrapped ones are called here; without `process_view` nothing would check CSRF tokens.
    """

    def __init__(self, get_response: Handler) -> None:
        """Build the chain once."""
        self._api: Handler = get_response
        self._pages: Handler = get_response
        self._members: list[Any] = []  # outermost first
        self._prefixes = settings.PAGE_PREFIXES  # looked up once: settings take a detour
        for path in reversed(settings.PAGE_MIDDLEWARE):
            try:
                self._pages = import_string(path)(self._pages)
            except MiddlewareNotUsed:
                continue
            self._members.insert(0, self._pages)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer by the chain that the path asks for."""
        if not self._is_page(request):
            problem = refusal(request)
            return plain_error(problem, request) if problem else self._api(request)
        response = self._pages(request)
        if request.path_info.startswith("/console/"):
            response.headers["Content-Security-Policy"] = CSP
        return response

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """Ask each wrapped middleware; the first answer counts."""
        return self._first("process_view", request, view, args, kwargs)

    def process_exception(self, request: HttpRequest, problem: Exception) -> HttpResponse | None:
        """Ask each wrapped middleware, innermost first; the first answer counts."""
        return self._first("process_exception", request, problem, reverse=True)

    def _first(
        self, hook: str, request: HttpRequest, *facts: Any, reverse: bool = False
    ) -> HttpResponse | None:
        if not self._is_page(request):
            return None
        for member in reversed(self._members) if reverse else self._members:
            answer: HttpResponse | None = None
            if hasattr(member, hook):
                answer = getattr(member, hook)(request, *facts)
            if answer is not None:
                return answer
        return None

    def _is_page(self, request: HttpRequest) -> bool:
        return request.path_info.startswith(self._prefixes)
