"""The lean entry: answers the hot operations without Django's request handler.

A dictionary finds the view, and a small object replaces Django's request. The view is the one that
DRF serves: the same checks, codecs, services and errors. Every other request, and each request that
needs more of Django, takes the usual way.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, ClassVar, Final

from django.conf import settings
from django.http import QueryDict
from django.urls import Resolver404, resolve
from django.utils.log import log_response

from jobs import spans
from jobs.api import transport
from jobs.api.base import OJSView
from jobs.api.jobs.jobs import JobCollection
from jobs.api.problems import as_ojs_error, plain_error
from jobs.api.wire.answer import Answer
from jobs.conf import conf
from jobs.domain.errors import OJSError
from jobs.domain.wire.ids import PATTERN, new_id
from jobs.gather import Later

FIRST_ERROR: Final = 400  # of HTTP statuses
JOBS: Final = "/ojs/v1/jobs"
HOT: Final = {
    "POST": (
        JOBS,
        "/ojs/v1/jobs/batch",
        "/ojs/v1/workers/fetch",
        "/ojs/v1/workers/ack",
        "/ojs/v1/workers/ack/batch",
        "/ojs/v1/workers/nack",
        "/ojs/v1/workers/nack/batch",
        "/ojs/v1/workers/heartbeat",
    ),
    "GET": ("/ojs/v1/health",),
}
JOB: Final = "/ojs/v1/jobs/"  # before an id: GET of one job
# middleware whose work this module does itself
DONE_HERE: Final = ("jobs.api.transport.Transport", "ojs_project.middleware.PagesOnly")


class Waiting(Enum):
    """The place of an answer that comes later."""

    FOR_STATEMENT = auto()


Refusal = Callable[[Any], OJSError | None]


@dataclass(frozen=True, slots=True)
class Route:
    """The view of a hot operation, and the name of its URL."""

    view: type[OJSView]
    options: Mapping[str, Any]
    name: str
    pattern: str  # its path without values
    handler: str
    is_later: bool  # the handler may answer later


class LeanRequest:
    """The members of Django's request that the views of hot operations use."""

    __slots__ = ("META", "_body", "method", "path_info", "resolver_match")

    COOKIES: ClassVar[dict[str, str]] = {}  # a request with cookies takes the usual way

    def __init__(self, environ: dict[str, Any], method: str, path: str) -> None:
        """Take a WSGI environ."""
        self.META = environ
        self.method, self.path_info = method, path
        self.resolver_match = None
        self._body: bytes | None = None

    @property
    def path(self) -> str:
        """The path; this server has no prefix before it."""
        return self.path_info

    @property
    def body(self) -> bytes:
        """The body, read once; the length was checked."""
        if self._body is None:
            length = int(self.META.get("CONTENT_LENGTH") or 0)
            self._body = self.META["wsgi.input"].read(length)
        return self._body

    @property
    def GET(self) -> QueryDict:  # noqa: N802 - Django's name
        """The parameters of the query."""
        return QueryDict(self.META.get("QUERY_STRING", ""))

    def is_secure(self) -> bool:
        """Return whether the request came by TLS."""
        return bool(self.META["wsgi.url_scheme"] == "https")


class Entry:
    """Answers hot operations; None for a request that must take the usual way."""

    def __init__(self, refusal: Refusal) -> None:
        """Find the views. `refusal` checks the host name of a request."""
        self._refusal = refusal
        self._routes = {
            (method, path): _route(method, path) for method, paths in HOT.items() for path in paths
        }
        self._job = _route("GET", JOB + new_id())
        self._determines = transport.is_used()

    def is_hot(self, environ: dict[str, Any]) -> bool:
        """Return whether this entry answers a request."""
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        is_known = (method, path) in self._routes or (
            method == "GET" and path.startswith(JOB) and PATTERN.fullmatch(path, len(JOB))
        )
        return bool(is_known and "HTTP_COOKIE" not in environ and not environ.get("SCRIPT_NAME"))

    def answer(
        self, environ: dict[str, Any], later: Callable[[Answer], None] | None = None
    ) -> Answer | Waiting | None:
        """Answer a request. If its statement is shared, `later` gets the answer instead."""
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if not self.is_hot(environ):
            return None
        route, given = self._routes.get((method, path)), {}
        if route is None:
            route, given = self._job, {"job_id": path[len(JOB) :]}
        request: Any = LeanRequest(environ, method, path)
        problem = (self._determines and transport.determine(request)) or self._refusal(request)
        if problem:
            refused: Any = plain_error(problem, request)
            return _logged(refused, request)
        return _answered(route, request, given, later)


def _route(method: str, path: str) -> Route:
    found = resolve(path)
    func: Any = found.func
    name, soon = method.lower(), f"{method.lower()}_soon"
    is_later = hasattr(func.view_class, soon)
    handler = soon if is_later else name
    return Route(
        func.view_class, func.view_initkwargs, found.url_name or "", found.route, handler, is_later
    )


def _answered(
    route: Route,
    request: Any,
    given: Mapping[str, str],
    later: Callable[[Answer], None] | None,
) -> Answer | Waiting:
    view = route.view(**route.options)
    view.begin(request)
    view.span = spans.serving(request.META, request.method)

    def completed(outcome: "Callable[[], Answer]") -> Answer:  # quoted: evaluated at each call
        with spans.within(view.span):
            try:
                answer = outcome()
            except Exception as problem:  # the view knows all kinds
                answer = view.handle_exception(problem)
            answer = view.complete(answer, request.method, route.name, route.pattern)
            return _logged(answer, request)

    def begin() -> Any:
        with spans.within(view.span):
            view.check(request.method)
            return getattr(view, route.handler)(request, **given)

    if not route.is_later:
        return completed(begin)
    try:
        found = begin()
    except Exception as problem:
        refused = problem  # Python deletes the name of a handler
        return completed(lambda: _raise(refused))
    if not isinstance(found, Later):
        return completed(lambda: found)
    if later is None:
        return completed(found.now)
    found.submit(lambda outcome: later(_whole(lambda: completed(outcome), request)))
    return Waiting.FOR_STATEMENT


def _whole(complete: Callable[[], Answer], request: Any) -> Answer:
    """Return a completed answer, or an error if the view fails to complete it."""
    try:
        return complete()
    except Exception as problem:
        refused: Any = plain_error(as_ojs_error(problem), request)
        return _logged(refused, request)


def _raise(problem: Exception) -> Answer:
    raise problem


def _logged(answer: Answer, request: Any) -> Answer:
    if answer.status_code >= FIRST_ERROR:
        log_response("%s: %s", answer.reason_phrase, request.path, response=answer, request=request)
    return answer


def is_possible() -> bool:
    """Return whether the settings leave nothing to do that this entry omits."""
    return (
        conf().lean_entry
        and not settings.DEBUG
        and tuple(settings.MIDDLEWARE) == DONE_HERE
        and settings.SECURE_PROXY_SSL_HEADER is None
        and _is_at_root()
    )


def _is_at_root() -> bool:
    """Return whether the API has no prefix: a request in hot paths must not wait for a look-up."""
    try:
        return getattr(resolve(JOBS).func, "view_class", None) is JobCollection
    except Resolver404:
        return False
