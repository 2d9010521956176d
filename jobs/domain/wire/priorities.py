"""Priorities on the wire: a number or a name. Spec: contract 1.1, D9."""

from typing import Final

MAX_PRIORITY: Final = 100
NAMES: Final = {"high": 10, "normal": 0, "low": -10}  # in any case
RULE: Final = f"must be an integer from -{MAX_PRIORITY} to {MAX_PRIORITY}, or high, normal, low"


def parse_priority(raw: object) -> int:
    """Return a priority; 10.0 is accepted as in JSON, true is not. Raises ValueError."""
    if isinstance(raw, str):
        if raw.lower() in NAMES:
            return NAMES[raw.lower()]
    elif isinstance(raw, float) and raw.is_integer():
        raw = int(raw)
    if not isinstance(raw, int) or isinstance(raw, bool) or abs(raw) > MAX_PRIORITY:
        raise ValueError(RULE)
    return raw


def read_priority(text: str) -> int:
    """Return the priority in typed text: digits or a name. Raises ValueError."""
    stripped = text.strip()
    digits = stripped.removeprefix("-")
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= len(str(MAX_PRIORITY))
    return parse_priority(int(stripped) if is_number else stripped)
