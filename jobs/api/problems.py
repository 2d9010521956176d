"""The error body, and the translation of any exception to it. Spec: contract 4."""

import logging
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from rest_framework import exceptions

from jobs.api.access.limiter import Allowance
from jobs.api.wire.answer import Answer
from jobs.api.wire.headers import chosen_request_id, stamp
from jobs.conf import conf
from jobs.domain.errors import (
    BackendError,
    InvalidPayload,
    InvalidRequest,
    NotFound,
    OJSError,
    PermissionDenied,
    RateLimited,
    Unauthenticated,
)
from jobs.domain.sqlstates import MISTAKE
from jobs.repeat import refusal
from jobs.services.storage import refused

logger = logging.getLogger("ojs.api")


def error_body(problem: OJSError, identity: str) -> dict[str, Any]:
    """Build the one error shape. Spec: contract 4.1."""
    docs = conf().docs_url + problem.code
    return {
        "error": {
            "code": problem.code,
            "type": problem.type,
            "message": problem.message,
            "retryable": problem.retryable,
            "details": problem.details,
            "hint": problem.hint,
            "docs_url": docs,
            "doc_url": docs,
            "request_id": identity,
            **problem.extra,
        }
    }


def error_response(problem: OJSError, identity: str) -> Answer:
    """Render an error."""
    return Answer(error_body(problem, identity), status=problem.status, headers=problem.headers)


def plain_error(problem: OJSError, request: HttpRequest) -> HttpResponse:
    """Render an error outside DRF: unknown paths and failures of the framework itself."""
    identity = chosen_request_id(request)
    answer = error_response(problem, identity)
    answer.choose_media_type(request)
    stamp(answer, identity, Allowance().headers())
    return answer


@cache
def _framework_errors() -> Mapping[type[Exception], Callable[[Any], OJSError]]:
    return {
        exceptions.ParseError: lambda e: InvalidPayload(str(e.detail)),
        exceptions.UnsupportedMediaType: lambda e: InvalidRequest(str(e.detail)),
        exceptions.NotAuthenticated: lambda e: Unauthenticated(str(e.detail)),
        exceptions.AuthenticationFailed: lambda e: Unauthenticated(str(e.detail)),
        exceptions.PermissionDenied: lambda e: PermissionDenied(str(e.detail)),
        exceptions.NotFound: lambda e: NotFound("no such resource"),
        exceptions.Throttled: lambda e: RateLimited(str(e.detail)),
        exceptions.ValidationError: lambda e: InvalidRequest(str(e.detail)),
        # an unknown host name, a body that ends early
        SuspiciousOperation: lambda e: InvalidRequest("the request is not acceptable"),
        UnreadablePostError: lambda e: InvalidPayload("the body could not be read"),
    }


def as_ojs_error(exc: Exception, identity: str | None = None) -> OJSError:
    """Translate any exception; an unforeseen one is logged and stays generic.

    `identity` is the id of the request, for the log.
    """
    if isinstance(exc, OJSError):
        return exc
    for kind, translate in _framework_errors().items():
        if isinstance(exc, kind):
            return translate(exc)
    if isinstance(exc, DatabaseError | InterfaceError):
        return database_error(exc, identity)
    _log(exc, identity)
    return BackendError("the server failed to answer")


def database_error(exc: DatabaseError | InterfaceError, identity: str | None = None) -> OJSError:
    """Translate an error of the database: by its code, see `jobs/domain/sqlstates.py`."""
    found = refusal(exc) or MISTAKE
    refused.note(exc)
    if found.error is BackendError:
        _log(exc, identity)
    # the connection may have been lost during a commit: a client that retries must know
    return found.error(found.message, details={} if found.is_undone else {"outcome": "unknown"})


def _log(exc: Exception, identity: str | None) -> None:
    facts = {"request_id": identity} if identity else {}
    logger.error("request.failed", exc_info=exc, extra=facts)
