"""A WSGI application with little work around each request."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from django.core.cache import close_caches
from django.core.handlers.base import reset_urlconf
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, reset_queries
from django.http import FileResponse, HttpResponse

from jobs.api.wire.answer import Answer
from jobs.api.wire.media import SEND
from jobs.database import thread_connection
from jobs.fastpath.handler import Handler

if TYPE_CHECKING:
    from jobs.fastpath.entry import Entry


LATER: Final = iter(())  # the body of an answer that comes later, by the function of the environ


class Application:
    """Answers with the handler: a complete body as a list, a stream as another iterable."""

    def __init__(self, entry: "Entry | None" = None) -> None:
        """Load the middleware. `entry` answers hot operations; None: the handler answers all."""
        self._handler = Handler()
        self._entry = entry

    def is_hot(self, environ: dict[str, Any]) -> bool:
        """Return whether the entry answers a request, which then waits only for short statements.

        Other waits of such a request call `prepare_wait` first.
        """
        return self._entry is not None and self._entry.is_hot(environ)

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request."""
        mine: Any = thread_connection()  # of the engine ojs_project.database
        mine.close_if_suspect()
        if self._entry is not None:
            found = self._entry.answer(environ, _later(environ))
            if found is not None:
                _look_after_connection()
                if isinstance(found, Answer):
                    start_response(*_head(found))
                    return [found.content]
                return LATER
        response = self._handler(environ, start_response)
        if isinstance(
            response, Answer
        ):  # it has nothing else to close, and its end has no receiver
            _look_after_connection()
            return [response.content]
        if isinstance(response, FileResponse):  # a small file of the console
            body = [b"".join(response)]
        elif isinstance(response, HttpResponse):
            body = [response.content]
        else:
            return response
        response.close()
        return body


def _later(environ: dict[str, Any]) -> Callable[[Answer], None] | None:
    send = environ.get(SEND)
    return send and (lambda answer: send(*_head(answer), answer.content))


def _head(answer: Answer) -> tuple[str, list[tuple[str, str]]]:
    return f"{answer.status_code} {answer.reason_phrase}", list(answer.headers.items())


def reduce_receivers() -> None:
    """Disconnect Django's work around each request, which took 7 % of the API's time.

    It is not needed here: connections are checked when a request ends, the cache has no connection,
    queries are not logged.
    """
    request_started.disconnect(close_old_connections)
    request_started.disconnect(reset_queries)
    request_finished.disconnect(close_caches)
    request_finished.disconnect(reset_urlconf)  # no request has its own URLconf
    request_finished.disconnect(close_old_connections)
    request_finished.connect(_look_after_connection)


def _look_after_connection(**_: Any) -> None:
    """Close an unusable or outdated connection; Django checks all aliases, a request uses one."""
    thread_connection().close_if_unusable_or_obsolete()
