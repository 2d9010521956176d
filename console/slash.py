"""The paths of pages end in a slash; without it they lead there."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.urls import Resolver404, resolve
from django.utils.http import escape_leading_slashes
from django.views import View


class WithSlash(View):
    """Redirects to the path with a slash when there is a page; forms keep what they send."""

    def dispatch(self, request: HttpRequest, *_args: Any, **_kwargs: Any) -> HttpResponse:
        """Answer 404 for other paths."""
        try:
            is_page = "ojs_console" in resolve(f"{request.path_info}/").app_names
        except Resolver404:
            is_page = False
        if not is_page:
            raise Http404
        query = request.META.get("QUERY_STRING", "")
        there = escape_leading_slashes(f"{request.path}/") + (f"?{query}" if query else "")
        return HttpResponsePermanentRedirect(there, preserve_request=True)
