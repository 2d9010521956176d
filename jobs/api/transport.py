"""Determine the trusted facts of a request: client address, transport and certificate.

Spec: contract 31.4. This Django middleware is in the chain only while one of its settings is set.
Later code reads the address from `REMOTE_ADDR` and the transport from `request.is_secure()`, as it
does without proxies.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

from jobs.api.access.access import SUBJECT
from jobs.api.mount import configured
from jobs.api.problems import plain_error
from jobs.conf import conf, read_anew
from jobs.domain.access import peers
from jobs.domain.errors import TLSRequired

Handler = Callable[[HttpRequest], HttpResponse]

FORWARDED_FOR, FORWARDED_PROTO = "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO"
REASON: Final = {"reason": "tls_required"}
# probes of the machine itself have no certificate
HEALTH: Final = frozenset(
    {"/health", "/healthz", "/livez", "/ready", "/readyz", "/ojs/v1/health", "/v1/health"}
)


class Transport:
    """Trusts headers of known proxies, drops those of others, and refuses plain HTTP if set so."""

    def __init__(self, get_response: Handler) -> None:
        """Leave the chain if no setting needs it."""
        if not is_used():
            raise MiddlewareNotUsed
        self._next = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Determine the request's source, then answer it."""
        problem = determine(request)
        return plain_error(problem, request) if problem else self._next(request)


def is_used() -> bool:
    """Return whether a setting makes the source of a request differ from its connection."""
    return bool(conf().require_tls or conf().trusted_proxies)


def determine(request: HttpRequest) -> TLSRequired | None:
    """Determine the request's source; returns the refusal of plain HTTP."""
    if conf().trusted_proxies:
        _apply_forwarded_headers(request.META)
    if conf().require_tls and not request.is_secure() and request.path_info not in _probed():
        return TLSRequired("plain HTTP is not served", details=REASON)
    return None


@cache
def _probed() -> frozenset[str]:
    return frozenset(configured() + path for path in HEALTH)


read_anew(_probed, setting="ROOT_URLCONF")


def _apply_forwarded_headers(meta: dict[str, Any]) -> None:
    """Use the forwarded headers of a trusted peer; drop them from any other peer."""
    trusted = peers.networks(conf().trusted_proxies)
    peer = str(meta.get("REMOTE_ADDR", ""))
    subject = meta.pop(_header(conf().tls_subject_header or ""), None)
    forwarded = meta.get(FORWARDED_FOR)
    if not peers.is_within(peer, trusted):
        meta.pop(FORWARDED_FOR, None)
        meta.pop(FORWARDED_PROTO, None)
        return
    if forwarded:
        meta["REMOTE_ADDR"] = peers.client_of(peer, [forwarded], trusted)
    if protocol := meta.get(FORWARDED_PROTO):
        # the last value is the nearest proxy's; a client may have sent earlier values
        secure = protocol.rpartition(",")[2].strip().lower() == "https"
        meta["wsgi.url_scheme"] = "https" if secure else "http"
    if subject:
        meta[SUBJECT] = subject.strip()


def _header(name: str) -> str:
    """Return the key of a header in META; for an empty name a key that no header has."""
    return f"HTTP_{name.upper().replace('-', '_')}"
