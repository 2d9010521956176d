"""Middleware of the server: what every path must be, and what pages alone pass through."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from jobs.api.base import check_path, plain_error
from jobs.domain.errors import InvalidRequest, OJSError
from ojs_project.hosts import refusal
from ojs_project.problems import problem_answer

Handler = Callable[[HttpRequest], HttpResponse]
# Everything comes from the server itself, and nothing is inline. The API documentation page has a
# policy of its own.
CSP = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
FILES = "/static/"  # may be kept by browsers, and run nothing by themselves


class CheckedPaths:
    """Refuses paths that no route can take, before a view or a static file is looked for."""

    def __init__(self, get_response: Handler) -> None:
        """Wrap the next handler."""
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer 400, or let the request pass."""
        try:
            check_path(request)
        except InvalidRequest as problem:
            return problem_answer(request, problem, "Not acceptable")
        return self._next(request)


class PagesOnly:
    """Wraps the view in `PAGE_MIDDLEWARE` when the path starts with one of `PAGE_PREFIXES`.

    Django calls the hooks of middleware only for what `MIDDLEWARE` names, so the hooks of the
    wrapped ones are called here; without `process_view` nothing would check CSRF tokens.
    """

    def __init__(self, get_response: Handler) -> None:
        """Build the chain once."""
        self._api: Handler = CheckedPaths(get_response)
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
        if not request.path_info.startswith(FILES):
            response.headers["Content-Security-Policy"] = CSP
            response.headers["Cache-Control"] = "no-store"
        return response

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """Ask each wrapped middleware; the first answer counts."""
        return self._first("process_view", request, view, args, kwargs)

    def process_exception(self, request: HttpRequest, problem: Exception) -> HttpResponse | None:
        """Answer a refusal that a page raised; else ask each middleware, innermost first."""
        if isinstance(problem, OJSError) and self._is_page(request):
            return problem_answer(request, problem, "Not possible")
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
