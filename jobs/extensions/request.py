"""Hooks into each request of the HTTP API."""

from collections.abc import Collection, Mapping
from typing import Any

from jobs.extensions.registry import Extension


class RequestHooks(Extension):
    """Hooks that read the headers of a request, before any service runs.

    Headers are spelled as in WSGI: `HTTP_X_TENANT`.
    """

    def tenant_of(self, headers: Mapping[str, Any]) -> str | None:
        """Return the tenant that a request names in its headers; None: it names none.

        The request then sees and changes only data of this tenant, like a key bound to it. Raises
        OJSError for invalid headers.
        """
        return None

    def tenant_headers(self) -> Mapping[str, Any]:
        """Return the headers that `tenant_of` reads as parameters of OpenAPI, by component name."""
        return {}

    def default_tenant(self, scope: str) -> str | None:
        """Return the tenant of a request that names none and needs this scope; None: any tenant."""
        return None

    def request_options(self, headers: Mapping[str, Any]) -> Collection[str]:
        """Return the options in a request's headers: see `Caller.asks`. Raises OJSError."""
        return ()
