"""Values for django-cors-headers: the requests that browsers may send from other origins.

Spec: contract 31.4. The settings use them while OJS_CORS_ORIGINS is set.
"""

from typing import Final

from corsheaders.defaults import default_headers

# only the API: pages are for logged-in users of this origin
URLS: Final = r"/(ojs|v1)/|/(health|healthz|livez|ready|readyz|metrics)$"
TAKEN: Final = (
    *default_headers, "idempotency-key", "last-event-id", "ojs-block-timeout", "ojs-version",
    "traceparent", "tracestate", "x-api-key", "x-ojs-pool", "x-ojs-tenant", "x-ojs-tenant-id",
    "x-request-id",
)  # fmt: skip
SHOWN: Final = (
    "Allow", "Idempotency-Replayed", "Location", "OJS-Version", "Retry-After", "WWW-Authenticate",
    "X-OJS-Max-Batch-Size", "X-OJS-Progress", "X-OJS-Queue-Bound", "X-OJS-Queue-Depth",
    "X-OJS-Queue-Pressure", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
    "X-Request-ID",
)  # fmt: skip
