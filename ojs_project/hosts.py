"""Which names of this server are answered: `OJS_ALLOWED_HOSTS`, for the API as for pages.

A page of anybody's can have its own name lead to this machine, and then talk to a server here as if
it were its own. Where no key is asked for, the name is all that gives it away.
"""

from functools import cache, lru_cache
from typing import Final

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host

from jobs.api.transport import HEALTH
from jobs.conf import read_anew
from jobs.domain.errors import InvalidRequest

PROBED: Final = HEALTH | {"/metrics"}  # probes and scrapers go by address
KEPT: Final = 64  # names that are remembered


def refusal(request: HttpRequest) -> InvalidRequest | None:
    """Say why a request of the API is not answered under the name that it came to; None: it is."""
    name = request.META.get("HTTP_HOST") or request.META.get("SERVER_NAME", "")
    if _is_served(name, _allowed()) or request.path_info in PROBED:
        return None
    return InvalidRequest.field("Host", "must be one of OJS_ALLOWED_HOSTS", name)


@cache
def _allowed() -> tuple[str, ...]:
    return tuple(settings.ALLOWED_HOSTS)


read_anew(_allowed, setting="ALLOWED_HOSTS")


@lru_cache(KEPT)
def _is_served(name: str, allowed: tuple[str, ...]) -> bool:
    domain, _ = split_domain_port(name)
    return bool(domain and validate_host(domain, allowed))
