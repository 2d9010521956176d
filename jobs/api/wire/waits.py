"""The query of requests that wait for an end: `?wait=true&timeout=10`. Spec: contract 24.6."""

from typing import Any, Final

from rest_framework.request import Request

from jobs.api.schemas import integer
from jobs.domain.errors import InvalidRequest
from jobs.domain.wire.bounds import MAX_RESULT_WAIT_S

MAX_WAIT_S, MAX_DIGITS = 25, 6
WAIT: Final[dict[str, Any]] = {
    "wait": {"type": "string", "enum": ["true", "false", ""]},
    "timeout": {
        **integer(0, MAX_RESULT_WAIT_S),
        "description": "Seconds, at most 25 are waited",
    },
}


def decode_wait(request: Request) -> float:
    """Read how many seconds to wait for the end of a job. Raises InvalidRequest."""
    query = request.query_params
    wait = query.get("wait", "")
    if wait not in {"", "true", "false"}:
        raise InvalidRequest.field("wait", "must be true or false", wait[:100])
    raw = query.get("timeout") or str(MAX_WAIT_S)
    if not (
        raw.isascii() and raw.isdigit() and len(raw) < MAX_DIGITS and int(raw) <= MAX_RESULT_WAIT_S
    ):
        raise InvalidRequest.field(
            "timeout", f"must be whole seconds from 0 to {MAX_RESULT_WAIT_S}", raw[:100]
        )
    return min(MAX_WAIT_S, int(raw)) if wait == "true" else 0
