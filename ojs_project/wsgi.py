"""WSGI application of the standalone server."""

import gc
import os
from collections.abc import Callable, Iterable
from typing import Any

import django
from django.conf import settings
from django.core.cache import close_caches
from django.core.handlers.base import reset_urlconf
from django.core.signals import request_finished, request_started
from django.db import DEFAULT_DB_ALIAS, close_old_connections, connections, reset_queries
from django.http import FileResponse, HttpResponse
from django.urls import get_resolver

from jobs import bounds
from jobs.api.answer import Answer
from ojs_project import memory
from ojs_project.handler import Handler

YOUNG = 10_000  # objects; with Python's default of 700 the collector took 3 % of the API's time


def _look_after_connection(**_: Any) -> None:
    """Close an unusable or outdated connection; Django checks all aliases, a request uses one."""
    connections[DEFAULT_DB_ALIAS].close_if_unusable_or_obsolete()


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ojs_project.settings")
bounds.for_process(bounds.Work.REQUESTS)
django.setup(set_prefix=False)
_django = Handler()
if not settings.DEBUG:
    # Django's work around each request took 7 % of the API's time. It is not needed here:
    # connections are checked when a request ends, the cache has no connection, queries are not
    # logged.
    request_started.disconnect(close_old_connections)
    request_started.disconnect(reset_queries)
    request_finished.disconnect(close_caches)
    request_finished.disconnect(reset_urlconf)  # no request has its own URLconf
    request_finished.disconnect(close_old_connections)
    request_finished.connect(_look_after_connection)
get_resolver().url_patterns  # noqa: B018 - loads the views before `gc.freeze`
memory.share_heap()
gc.freeze()  # loaded objects stay: the collector need not scan them
memory.use_large_pages()
gc.set_threshold(YOUNG, 10, 10)  # requests leave few cycles: collect less often


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request: a complete body as a list, a stream as another iterable."""
    connections[DEFAULT_DB_ALIAS].close_if_suspect()  # type: ignore[attr-defined]  # our engine's
    response = _django(environ, start_response)
    if isinstance(response, Answer):  # it has nothing else to close, and its end has no receiver
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
