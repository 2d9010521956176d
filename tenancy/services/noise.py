"""Noisy tenants as stored data: the loop `noise` writes it, every process reads it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.db.models.functions import Now

from tenancy.conf import conf
from tenancy.domain.noise import Reason, Signal
from tenancy.domain.throttle import Hold
from tenancy.models import Noise, Throttle

MISSED = 3  # looks; without a look for so long, no tenant counts as noisy


def fresh() -> QuerySet[Noise]:
    """Return the noisy tenants of the last looks; empty if the loop has stopped."""
    since = timedelta(milliseconds=MISSED * conf().noise_interval_ms)
    return Noise.objects.filter(seen_at__gt=Now() - since)


def loud() -> list[str]:
    """Return the ids of noisy or throttled tenants; one statement."""
    held = Throttle.objects.filter(hold=Hold.APPLIED).values_list("tenant_id")
    return [one for (one,) in fresh().values_list("tenant").union(held)]


def signals(tenants: Collection[str]) -> dict[str, tuple[Signal, ...]]:
    """Return the signals of the noisy tenants among `tenants`."""
    rows = fresh().filter(tenant__in=tenants)
    return {row.tenant: tuple(_read(one) for one in row.signals) for row in rows}


def _read(stored: Mapping[str, Any]) -> Signal:
    return Signal(**{**stored, "reason": Reason(stored["reason"])})


def note(found: Mapping[str, Sequence[Signal]]) -> int:
    """Store which tenants are noisy now; returns how many changed.

    Call it in a transaction that excludes concurrent calls.
    """
    noisy = set(Noise.objects.values_list("tenant", flat=True))
    Noise.objects.filter(tenant__in=noisy - found.keys()).delete()
    rows = [
        Noise(tenant=one, seen_at=Now(), signals=[_stored(signal) for signal in said])
        for one, said in sorted(found.items())
    ]
    Noise.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["tenant"], update_fields=["seen_at", "signals"]
    )
    return len(noisy ^ found.keys())


def _stored(signal: Signal) -> dict[str, Any]:
    return {**asdict(signal), "reason": str(signal.reason)}
