"""Every URL of the standalone server."""

import sys

from django.conf import settings
from django.contrib import admin
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import include, path
from django.views.generic import RedirectView

from jobs.api.answer import PASSING, RETRY_AFTER
from jobs.api.base import database_error, plain_error
from jobs.api.urls import fallback
from jobs.domain.errors import BackendError, InvalidRequest, NotFound, OJSError, PermissionDenied

urlpatterns = [
    path("", include("jobs.api.urls")),
    path("", include("federation.api.urls")),
    path("", include("scheduling.api.urls")),
    path("", include("tenancy.api.urls")),
    path("", include("versioning.api.urls")),
    path("", include("versioning.api.schema_urls")),
    path("", include("webhooks.api.urls")),
    path("", include("workflows.api.urls")),
    path("console/", include("console.urls")),
    path("admin/", admin.site.urls),
    path("", RedirectView.as_view(url="/console/")),
    path("favicon.ico", RedirectView.as_view(url="/static/ojs/icon.svg")),
    *fallback,
]


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what Django itself refuses."""
    return _problem(request, InvalidRequest("the request is not acceptable"), "Not acceptable")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what a logged-in user may not do."""
    return _problem(request, PermissionDenied("your account may not do this"), "Not allowed")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer unknown paths."""
    return _problem(request, NotFound(f"no resource at {request.path[:200]}"), "Not found")


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer failures outside the API's views."""
    cause = sys.exception()  # Django handles it while it asks for this answer
    if isinstance(cause, DatabaseError | InterfaceError):
        problem = database_error(cause)
    else:
        problem = BackendError("the server failed to answer")
    return _problem(request, problem, "Something broke")


def _problem(request: HttpRequest, problem: OJSError, title: str) -> HttpResponse:
    """Answer with a page where pages are, else in the OJS shape."""
    if not request.path_info.startswith(settings.PAGE_PREFIXES):
        return plain_error(problem, request)
    page = render_to_string("ojs/console/problem.html", {"title": title, "text": f"{problem}."})
    answer = HttpResponse(page, status=problem.status)
    if problem.status in PASSING:
        answer.headers["Retry-After"] = RETRY_AFTER
    return answer


handler400 = bad_request
handler403 = forbidden
handler404 = not_found
handler500 = server_error
