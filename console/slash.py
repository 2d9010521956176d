"""Redirects of paths without the final slash of all pages."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.urls import Resolver404, resolve
from django.utils.http import escape_leading_slashes
from django.views import View


class WithSlash(View):
    """Redirects to the path with a slash if it is a page; forms keep their data."""

    def dispatch(self, request: HttpRequest, *_args: Any, **_kwargs: Any) -> HttpResponse:
        """Redirect, or answer 404 for other paths."""
        try:
            is_page = "ojs_console" in resolve(f"{request.path_info}/").app_names
        except Resolver404:
            is_page = False
        if not is_page:
            raise Http404
        query = request.META.get("QUERY_STRING", "")
        there = escape_leading_slashes(f"{request.path}/") + (f"?{query}" if query else "")
        return HttpResponsePermanentRedirect(there, preserve_request=True)
