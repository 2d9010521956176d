"""The prefix under which a project includes the API, for paths in answers and middleware."""

from functools import cache
from typing import Final

from django.http import HttpRequest
from django.urls import NoReverseMatch, get_script_prefix, reverse

from jobs.conf import read_anew

API: Final = "/ojs/v1"
MANIFEST: Final = "/ojs/manifest"
SHORT: Final = "/v1/"
VARIABLE: Final = frozenset("<^(\\")  # in a route: the prefix has parameters


def mount_of(request: HttpRequest, root: str = f"{API}/") -> str:
    """Return the part of a request's path before the API's own path; "" at the root of a server.

    `root` is the beginning of the API's own path.
    """
    match = request.resolver_match
    if match is None:  # the lean entry serves no prefix
        return ""
    before, found, _ = f"/{match.route or ''}".rpartition(root)
    path = request.path_info
    if VARIABLE & set(before):
        at = path.rfind(root)
        before = path[: at if at >= 0 else path.rfind(SHORT)]
    return request.path.removesuffix(path) + before if found else ""


@cache
def configured() -> str:
    """Return the prefix in the URL configuration, which paths of requests begin with."""
    try:
        path = reverse("ojs-manifest")
    except NoReverseMatch:
        return ""
    return path.removeprefix(get_script_prefix().rstrip("/")).removesuffix(MANIFEST)


read_anew(configured, setting="ROOT_URLCONF")
