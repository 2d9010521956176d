"""What was found of noisy neighbours: noted by the loop `noise`, read by every process."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet, Value
from django.db.models.functions import Now

from jobs.domain.alerts import Alert
from tenancy.conf import conf
from tenancy.domain.noise import Reason, Signal
from tenancy.domain.throttle import Hold
from tenancy.models import Noise, Throttle

MISSED = 3  # looks after which nobody says any more that a tenant is noisy


def fresh() -> QuerySet[Noise]:
    """Return what the last looks found: nothing where nobody looks any more."""
    since = timedelta(milliseconds=MISSED * conf().noise_interval_ms)
    return Noise.objects.filter(seen_at__gt=Now() - since)


def loud() -> list[str]:
    """Return the ids of tenants that are noisy, or that something is taken from; one statement."""
    held = Throttle.objects.filter(hold=Hold.APPLIED).values_list("tenant_id")
    return [one for (one,) in fresh().values_list("tenant").union(held)]


def alerts() -> list[Alert]:
    """Name the tenants that are noisy, and those that something is taken from."""
    noisy = fresh().values_list("tenant", "since", Value(value=False))
    applied = Throttle.objects.filter(hold=Hold.APPLIED)
    found = noisy.union(applied.values_list("tenant_id", "since", Value(value=True)))
    held = {one for one, _, is_held in found if is_held}
    return [
        _alert(one, since, is_held=is_held)
        for one, since, is_held in sorted(found)
        if is_held or one not in held
    ]


def _alert(tenant: str, since: datetime, *, is_held: bool) -> Alert:
    if is_held:
        text = f"The tenant {tenant} is throttled as a noisy neighbour."
        return Alert("tenant_throttled", tenant, text, since, tenant)
    return Alert(
        "tenant_noisy", tenant, f"The tenant {tenant} is a noisy neighbour.", since, tenant
    )


def signals(tenants: Collection[str]) -> dict[str, tuple[Signal, ...]]:
    """Return the signals of those of the tenants that are noisy."""
    rows = fresh().filter(tenant__in=tenants)
    return {row.tenant: tuple(_read(one) for one in row.signals) for row in rows}


def _read(stored: Mapping[str, Any]) -> Signal:
    return Signal(**{**stored, "reason": Reason(stored["reason"])})


def note(found: Mapping[str, Sequence[Signal]]) -> int:
    """Store which tenants are noisy now; returns how many began to be or ceased.

    Call it in a transaction that nobody else does the same in.
    """
    known = set(Noise.objects.values_list("tenant", flat=True))
    Noise.objects.filter(tenant__in=known - found.keys()).delete()
    rows = [
        Noise(tenant=one, seen_at=Now(), signals=[_stored(signal) for signal in said])
        for one, said in sorted(found.items())
    ]
    Noise.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["tenant"], update_fields=["seen_at", "signals"]
    )
    return len(known ^ found.keys())


def _stored(signal: Signal) -> dict[str, Any]:
    return {**asdict(signal), "reason": str(signal.reason)}
