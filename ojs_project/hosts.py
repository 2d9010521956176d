"""The host names that this server answers, for the API and for pages: `OJS_ALLOWED_HOSTS`.

Danger: DNS rebinding. Any web page can let its own host name resolve to this machine and then call
a server here as its own origin. Without authentication, only the host name reveals such a request.
"""

from functools import cache, lru_cache
from typing import Final

from django.conf import settings
from django.http import HttpRequest
from django.http.request import split_domain_port, validate_host

from jobs.api.transport import HEALTH
from jobs.conf import read_anew
from jobs.domain.errors import InvalidRequest

PROBED: Final = HEALTH | {"/metrics"}  # probes and scrapers use the address
KEPT: Final = 64  # judged host names in the cache


def refusal(request: HttpRequest) -> InvalidRequest | None:
    """Return the refusal of an API request by its host name; None: the name is served."""
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
