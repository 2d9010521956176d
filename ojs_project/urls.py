"""Every URL of the standalone server."""

import sys

from django.contrib import admin
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.generic import RedirectView

from jobs.api.problems import database_error
from jobs.domain.errors import BackendError, InvalidRequest, NotFound, PermissionDenied
from ojs_project.problems import problem_answer

urlpatterns = [
    path("", include("ojs_project.urls_api")),
    path("console/", include("console.urls")),
    path("admin/", admin.site.urls),
    path("", RedirectView.as_view(url="/console/")),
    path("favicon.ico", RedirectView.as_view(url="/static/ojs/icon.svg")),
]


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer requests that Django itself refuses."""
    return problem_answer(request, InvalidRequest("the request is malformed"), "Bad request")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer a logged-in user who lacks a permission."""
    return problem_answer(request, PermissionDenied("your account may not do this"), "Not allowed")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer unknown paths."""
    return problem_answer(request, NotFound(f"no resource at {request.path[:200]}"), "Not found")


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer failures outside the API's views."""
    cause = sys.exception()  # Django handles this exception while it calls this view
    if isinstance(cause, DatabaseError | InterfaceError):
        problem = database_error(cause)
    else:
        problem = BackendError("the server failed to answer")
    return problem_answer(request, problem, "Server error")


handler400 = bad_request
handler403 = forbidden
handler404 = not_found
handler500 = server_error
