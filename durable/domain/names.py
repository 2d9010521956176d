"""The rules for names of steps and signals, and for payloads. Spec: contract 34.2."""

import re
from typing import Final

from jobs.domain.errors import InvalidRequest, PayloadTooLarge

MAX_NAME: Final = 200  # characters of the name of a step or a signal
MAX_PAYLOAD_BYTES: Final = 65_536
NAME: Final = re.compile(rf"[^\x00-\x1f\x7f]{{1,{MAX_NAME}}}")


def check_name(field: str, raw: object) -> str:
    """Check the name of a step or a signal. Raises InvalidRequest."""
    if not isinstance(raw, str) or not NAME.fullmatch(raw):
        rule = f"must be a string of 1 to {MAX_NAME} characters without control characters"
        raise InvalidRequest.field(field, rule, raw)
    return raw


def check_size(size: int) -> None:
    """Check the size of a payload. Raises PayloadTooLarge."""
    if size > MAX_PAYLOAD_BYTES:
        raise PayloadTooLarge.of("payload", MAX_PAYLOAD_BYTES, size)
