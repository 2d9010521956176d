"""Remember secrets that passed a slow hash, so that it runs once a minute, not for each request.

Spec: contract 31.2. An entry is the fast hash of the secret beside the stored hash, so a rotated
key is checked anew. Revocation is checked elsewhere. Only matching secrets are stored: a guess runs
the slow hash each time.
"""

import time
from collections import OrderedDict
from threading import Lock

from jobs import baton
from jobs.domain.access import hashers

KEPT_S = 60.0
MOST = 20_000  # secrets; the oldest leave first

_entries: OrderedDict[tuple[bytes, bytes], float] = OrderedDict()
_lock = Lock()


def verify(secret: str, stored: bytes) -> bool:
    """Return whether this is the hash of the secret; slow at most once in `KEPT_S`."""
    if not hashers.is_slow(stored):
        return hashers.matches(secret, stored)
    entry = hashers.fast(secret), stored
    until = _entries.get(entry)
    if until is not None and time.monotonic() < until:
        return True
    baton.pass_on()
    if not hashers.matches(secret, stored):
        return False
    with _lock:
        _entries[entry] = time.monotonic() + KEPT_S
        _entries.move_to_end(entry)
        while len(_entries) > MOST:
            _entries.popitem(last=False)
    return True


def clear_cache() -> None:
    """Check every secret anew, for tests."""
    with _lock:
        _entries.clear()
