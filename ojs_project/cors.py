"""What browsers may ask from pages of other origins: values for django-cors-headers.

Spec: contract 31.4. The settings take them while OJS_CORS_ORIGINS is set.
"""

from typing import Final

from corsheaders.defaults import default_headers

# the API, not the pages: these are for who is logged in here
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
