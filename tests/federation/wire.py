"""A federation of this server, called us, and stubs; requests to the router over HTTP."""

from datetime import timedelta
from typing import Any

from federation.domain.meta import PREFIX
from federation.domain.region import Region
from federation.models import RegionHealth
from federation.services.registry import regions
from federation.services.registry.configure import put_configuration, put_region
from tests.federation.stub import Stub
from tests.tenancy.wire import answer, event_data, send

__all__ = ["answer", "event_data", "federate", "job", "pass_time", "place", "send"]

LOCAL = "us"


def federate(*stubs: Stub, local: dict[str, Any] | None = None, **config: Any) -> None:
    """Register this server as us, with the stubs, and configure the federation.

    The settings of the test run name us as the local region.
    """
    put_region(Region(LOCAL, "http://127.0.0.1:9", **{"allow_insecure": True, **(local or {})}))
    for stub in stubs:
        put_region(stub.region())
    put_configuration(config)


def job(**meta: Any) -> dict[str, Any]:
    """Return an envelope with federation members in `meta`, given without their prefix."""
    said = {PREFIX + name: value for name, value in meta.items()}
    return {"type": "tests.noop", "args": [], "meta": said}


def place(status: int = 201, /, *, headers: dict[str, str] | None = None, **meta: Any) -> Any:
    """Send a job to the router and return the answer."""
    named = {name.replace("-", "_"): value for name, value in (headers or {}).items()}
    return answer(send("POST", "federation/jobs", job(**meta), **named), status)


def pass_time(region: str, seconds: float) -> None:
    """Move the stored times of a region into the past."""
    row = RegionHealth.objects.get(region=region)
    for name in ("checked_at", "opened_at", "probe_until"):
        if (at := getattr(row, name)) is not None:
            setattr(row, name, at - timedelta(seconds=seconds))
    row.save()
    regions.clear()
