"""W3C trace context from headers. Spec: contract 32.2."""

import re
from typing import Final

# version 00 ends here; later versions may have more after another dash, and ff is invalid
TRACEPARENT: Final = re.compile(
    r"(?!ff)([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]*)?"
)
VISIBLE: Final = re.compile("[ -~]+")
TRACE: Final = frozenset({"traceparent", "tracestate"})
MAX_PARENT: Final = 256  # characters
MAX_STATE: Final = 512


def trace_context(traceparent: str | None, tracestate: str | None) -> dict[str, str]:
    """Return both as members of meta; {} for an invalid traceparent, which W3C ignores."""
    if traceparent is None or not _is_parent(traceparent):
        return {}
    found = {"traceparent": traceparent}
    if tracestate and len(tracestate) <= MAX_STATE and VISIBLE.fullmatch(tracestate):
        found["tracestate"] = tracestate
    return found


def _is_parent(text: str) -> bool:
    match = TRACEPARENT.fullmatch(text) if len(text) <= MAX_PARENT else None
    return match is not None and (match[1] != "00" or match[2] is None)


def trace_ids(traceparent: object) -> tuple[str, str] | None:
    """Return trace and span of a traceparent in a job's meta; None for any other value."""
    if not isinstance(traceparent, str) or not _is_parent(traceparent):
        return None
    _, trace, span, *_ = traceparent.split("-")
    return trace, span
