"""Bound the number of passwords tried for one account and from one address. Spec: contract 31.

The database counts a try before the password is checked. So the bound holds over all processes and
for concurrent tries. A login that succeeds takes its try back. A window begins with its first try
and ends by itself; refused tries do not prolong it.

An account that logged in from an address lately has a window of its own there. So strangers who try
passwords elsewhere do not lock out the account's owner.
"""

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv6Address, ip_address
from typing import Final

from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from jobs import queries
from jobs.conf import conf
from jobs.domain.access.caller import Caller
from jobs.domain.errors import RateLimited
from jobs.models import LoginWindow
from jobs.services.audit.audit import record

ACCOUNT: Final = "account"
ADDRESS: Final = "address"
FAMILIAR: Final = "known"
FAMILIAR_DAYS: Final = 30
MAX_NAME: Final = 150  # characters of a user name


@dataclass(frozen=True, slots=True)
class Attempt:
    """A login that may check its password."""

    address: str  # digests
    account: str
    familiar: str  # account and address together


def begin(name: str, source: str) -> Attempt:
    """Count a login whose password is about to be checked. Raises RateLimited."""
    network = _network(source)
    familiar = _digest(name, network)
    is_familiar = LoginWindow.objects.filter(
        kind=FAMILIAR, digest=familiar, ends_at__gt=Now()
    ).exists()
    attempt = Attempt(_digest(network), familiar if is_familiar else _digest(name), familiar)
    shown = name[:MAX_NAME].replace("\x00", "")
    _count(ADDRESS, attempt.address, conf().login_address_failures, shown, source)
    _count(ACCOUNT, attempt.account, conf().login_account_failures, shown, source)
    return attempt


def succeeded(attempt: Attempt) -> None:
    """Forget the failures of the account, and store that it is used at its address."""
    until = timezone.now() + timedelta(days=FAMILIAR_DAYS)
    LoginWindow.objects.filter(kind=ADDRESS, digest=attempt.address).update(tries=F("tries") - 1)
    LoginWindow.objects.filter(kind=ACCOUNT, digest=attempt.account).delete()
    LoginWindow.objects.update_or_create(
        kind=FAMILIAR, digest=attempt.familiar, defaults={"ends_at": until}
    )


def delete_expired_windows() -> int:
    """Remove windows that have ended; returns how many."""
    return LoginWindow.objects.filter(ends_at__lt=Now()).delete()[0]


def _count(kind: str, digest: str, most: int, name: str, source: str) -> None:
    if not most:
        return
    tries, left_s = queries.login_try(kind, digest, conf().login_window_ms)
    if tries <= most:
        return
    if tries == most + 1:  # once per window, so that further tries do not fill the log
        record(
            Caller("anonymous", address=source),
            "auth.login_locked",
            name if kind == ACCOUNT else source,
            outcome="denied",
            data={"by": kind, "seconds": left_s},
        )
    minutes = max(1, -(-left_s // 60))
    raise RateLimited(
        f"too many logins failed, try again in {minutes} min",
        headers={"Retry-After": str(max(1, left_s))},
    )


def _network(source: str) -> str:
    """Return the address; of IPv6 the network that one customer usually has."""
    try:
        found = ip_address(source.partition("%")[0])
    except ValueError:
        return source
    if not isinstance(found, IPv6Address):
        return str(found)
    mapped = found.ipv4_mapped
    return str(mapped) if mapped is not None else str(IPv6Address(int(found) >> 64 << 64))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()
