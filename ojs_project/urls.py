"""Every URL of the standalone server."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.generic import RedirectView

from jobs.api.base import plain_error
from jobs.api.urls import fallback
from jobs.domain.errors import BackendError, InvalidRequest, NotFound

urlpatterns = [
    path("", include("jobs.api.urls")),
    path("admin/", admin.site.urls),
    path("", RedirectView.as_view(url="/console/")),
    *fallback,
]


def bad_request(request: HttpRequest, _exception: Exception) -> HttpResponse:
    """Answer what Django itself refuses in the OJS shape."""
    return plain_error(InvalidRequest("the request is not acceptable"), request)


def not_found(request: HttpRequest, _exception: Exception) -> HttpResponse:
    """Answer unknown paths in the OJS shape."""
    return plain_error(NotFound(f"no resource at {request.path[:200]}"), request)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer failures outside the views in the OJS shape."""
    return plain_error(BackendError("the server failed to answer"), request)


handler400 = bad_request
handler404 = not_found
handler500 = server_error
