"""WSGI application of the standalone server."""

import gc
import multiprocessing
import os
import signal
import threading

if multiprocessing.parent_process():
    # A worker of granian has the handlers of its parent until it serves; they would swallow a
    # SIGTERM that comes while the imports below run, and the stop would end in a kill much later.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import django
from django.conf import settings
from django.core.cache import close_caches
from django.core.handlers.base import reset_urlconf
from django.core.signals import request_finished, request_started
from django.db import DEFAULT_DB_ALIAS, close_old_connections, connections, reset_queries
from django.http import HttpResponse
from django.urls import get_resolver

from jobs import bounds
from jobs.api.answer import Answer
from ojs_project import memory
from ojs_project.handler import Handler

REST = 2 * 1024 * 1024  # bytes of a refused request that are read though nobody wants them
YOUNG = 10_000  # objects; Python's own 700 made collecting 3 % of the API's time


def _look_after_connection(**_: Any) -> None:
    """Do what Django does for the connections of all aliases: a request here uses one."""
    connections[DEFAULT_DB_ALIAS].close_if_unusable_or_obsolete()


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ojs_project.settings")
bounds.for_process(bounds.Work.REQUESTS)
django.setup(set_prefix=False)
_django = Handler()
if multiprocessing.parent_process() and threading.current_thread() is threading.main_thread():
    # granian sets its own handlers later; a byte in the pipe tells us, whoever handles the signal
    from ojs_project.shutdown import follow_signals

    follow_signals()

if not settings.DEBUG:
    # What Django does around each request and nobody needs here took 7 % of the API's time:
    # connections are looked after when a request ends, the cache has none, queries are not logged.
    request_started.disconnect(close_old_connections)
    request_started.disconnect(reset_queries)
    request_finished.disconnect(close_caches)
    request_finished.disconnect(reset_urlconf)  # no request has another
    request_finished.disconnect(close_old_connections)
    request_finished.connect(_look_after_connection)
import_module("ojs_project.streaming").install()  # it needs the applications loaded
get_resolver().url_patterns  # noqa: B018 - loads the views, which stay, too
memory.share_heap()
gc.freeze()  # what is loaded by now stays: collections need not walk through it
memory.use_large_pages()
gc.set_threshold(YOUNG, 10, 10)  # requests leave few cycles: look for them less often


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer a request; a whole body goes as a list, which granian sends at once, not in chunks."""
    connections[DEFAULT_DB_ALIAS].close_if_suspect()  # type: ignore[attr-defined]  # our engine's
    response = _django(environ, start_response)
    if not isinstance(response, HttpResponse):
        return response
    if response.status_code >= 400:  # noqa: PLR2004 - an HTTP status
        _read_rest(environ)
    body = [response.content]
    if isinstance(response, Answer):  # has nothing else to close, and nobody hears of its end
        _look_after_connection()
    else:
        response.close()
    return body


def _read_rest(environ: dict[str, Any]) -> None:
    """Read what a refusal left unread: granian ends the connection otherwise.

    The client would then fail with the next request that it sends on it. Larger bodies are not
    worth the time.
    """
    length = environ.get("CONTENT_LENGTH") or ""
    if length.isdecimal() and 0 < int(length) <= REST:
        environ["wsgi.input"].read(REST)
