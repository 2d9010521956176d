"""Middleware of the server: checks of every path, and middleware for pages only."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from jobs.api.base import check_path
from jobs.api.problems import plain_error
from jobs.domain.errors import InvalidRequest, OJSError
from ojs_project.hosts import refusal
from ojs_project.problems import problem_answer

Handler = Callable[[HttpRequest], HttpResponse]
# All content comes from the server itself, and nothing is inline. The API documentation page has
# its own policy.
CSP = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
MORE_CSP = "ojs_csp"  # an attribute of a response: further directives, which add to these
FILES = "/static/"  # browsers may cache these files, which run nothing by themselves


class CheckedPaths:
    """Refuses paths that no route can match, before a view or a static file is searched."""

    def __init__(self, get_response: Handler) -> None:
        """Wrap the next handler."""
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer 400, or pass the request on."""
        try:
            check_path(request)
        except InvalidRequest as problem:
            return problem_answer(request, problem, "Bad request")
        return self._next(request)


class PagesOnly:
    """Wraps the view in `PAGE_MIDDLEWARE` when the path starts with one of `PAGE_PREFIXES`.

    Django calls hooks of middleware only for the classes in `MIDDLEWARE`. This class therefore
    calls the hooks of the wrapped middleware; without `process_view` nothing would check CSRF
    tokens.
    """

    def __init__(self, get_response: Handler) -> None:
        """Build both chains once."""
        self._api: Handler = CheckedPaths(get_response)
        self._pages: Handler = get_response
        self._members: list[Any] = []  # outermost first
        self._prefixes = settings.PAGE_PREFIXES  # a lookup in the settings is slow
        for path in reversed(settings.PAGE_MIDDLEWARE):
            try:
                self._pages = import_string(path)(self._pages)
            except MiddlewareNotUsed:
                continue
            self._members.insert(0, self._pages)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer by the chain of pages or by the chain of the API, depending on the path."""
        if not self._is_page(request):
            problem = refusal(request)
            return plain_error(problem, request) if problem else self._api(request)
        response = self._pages(request)
        if not request.path_info.startswith(FILES):
            response.headers["Content-Security-Policy"] = CSP + getattr(response, MORE_CSP, "")
            response.headers["Cache-Control"] = "no-store"
        return response

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """Call each wrapped middleware; the first answer counts."""
        return self._first("process_view", request, view, args, kwargs)

    def process_exception(self, request: HttpRequest, problem: Exception) -> HttpResponse | None:
        """Answer a refusal that a page raised; else call each middleware, innermost first."""
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
