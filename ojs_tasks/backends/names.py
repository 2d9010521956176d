"""The job type of a task's function."""

import re
from hashlib import sha256
from typing import Final

TYPE: Final = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*")
LONGEST: Final = 255
DIGITS: Final = 16  # of the hash


def type_of(path: str) -> str:
    """Return the job type of the function with this dotted path.

    The path itself, if it is a valid type. Otherwise a similar valid name, a hyphen and a hash of
    the path. A function's name has no hyphen, so no two paths have the same type.
    """
    if len(path) <= LONGEST and TYPE.fullmatch(path):
        return path
    similar = ".".join(_segment(part) for part in path.split("."))
    digest = sha256(path.encode()).hexdigest()[:DIGITS]
    return f"{similar[: LONGEST - DIGITS - 1].rstrip('.')}-{digest}"


def _segment(part: str) -> str:
    lower = re.sub(r"[^a-z0-9_-]", "_", part.lower())
    return lower if re.match(r"[a-z]", lower) else f"x{lower}"
