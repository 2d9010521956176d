"""Refusals outside the API's views: a page for browsers, else the OJS error body."""

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from console.access import frame
from jobs.api.problems import plain_error
from jobs.api.wire.answer import PASSING, RETRY_AFTER
from jobs.domain.errors import OJSError


def problem_answer(request: HttpRequest, problem: OJSError, title: str) -> HttpResponse:
    """Answer with a page below the prefixes of pages, else in the OJS shape."""
    if not request.path_info.startswith(settings.PAGE_PREFIXES):
        return plain_error(problem, request)
    shown = {**_frame(request, problem), "title": title, "text": f"{problem}."}
    page = render_to_string("ojs/console/problem.html", shown, request=request)
    answer = HttpResponse(page, status=problem.status, headers=problem.headers)
    if problem.status in PASSING:
        answer.headers.setdefault("Retry-After", RETRY_AFTER)
    return answer


def _frame(request: HttpRequest, problem: OJSError) -> dict[str, Any]:
    """Return the menus of the console; none before the login, or if the server itself failed."""
    is_own_failure = problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return {} if is_own_failure or not hasattr(request, "user") else frame(request)
