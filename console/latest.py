"""Pages that a replica may serve, and the latest data for a user who has just changed something.

A cookie marks the user for as long as a replica may lag, in whichever process the next page is
made. See docs/replicas.md.
"""

from collections.abc import Callable
from math import ceil
from typing import Final

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse

from jobs.conf import conf
from jobs.services.read import replica

COOKIE: Final = "ojs_latest"


def latest_from_now(response: HttpResponseBase) -> HttpResponseBase:
    """Let the next pages of this user show the change that was made now."""
    if conf().replica_database:
        response.set_cookie(
            COOKIE,
            "1",
            max_age=ceil(conf().replica_max_lag_ms / 1000),
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response


def from_replica(request: HttpRequest, page: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """Return a page that the replica serves where it can. Templates read, too."""

    def rendered() -> HttpResponseBase:
        response = page()
        return response.render() if isinstance(response, SimpleTemplateResponse) else response

    return replica.read(rendered, is_latest=COOKIE in request.COOKIES)
