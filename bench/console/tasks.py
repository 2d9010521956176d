"""Objects that the services make: regions, and a completed simulation and export."""

from datetime import timedelta
from uuid import uuid4

from django.utils import timezone
from django_q.models import Task

from console import operations, simulations, walk
from console.filters import JobFilter
from console.views.simulate import EXAMPLE_SCENARIO
from federation.models import Region, RegionHealth, RegionMinute, ReplicationPeer
from jobs.domain.access.caller import SYSTEM
from scheduling.services.scenarios import Wish

REGIONS = 20


def finish() -> None:
    """Store regions, run the example simulation of the console, and export some jobs."""
    _regions()
    _simulate()
    _export()


def _regions() -> None:
    Region.objects.bulk_create(
        Region(id=f"region-{n}", url=f"https://ojs-{n}.example.org") for n in range(REGIONS)
    )
    RegionHealth.objects.bulk_create(
        RegionHealth(region_id=f"region-{n}", ewma_ms=20 + n) for n in range(REGIONS)
    )
    _minutes()
    ReplicationPeer.objects.create(region="region-gone")  # no longer registered


def _minutes() -> None:
    now = timezone.now().replace(second=0, microsecond=0)
    RegionMinute.objects.bulk_create(
        RegionMinute(
            region_id=f"region-{n}", slot=(now - timedelta(minutes=back)).minute,
            at=now - timedelta(minutes=back), answers=6, total_ms=120 + back, failures=0,
        )
        for n in range(REGIONS)
        for back in range(60)
    )  # fmt: skip


def _simulate() -> None:
    key, wish, now = str(uuid4()), Wish(scenario=EXAMPLE_SCENARIO), timezone.now()
    Task.objects.create(
        id=uuid4().hex, name="simulate the example", func="console.simulations.run",
        args=(key, wish), result=simulations.run(key, wish), success=True,
        group=f"{simulations.GROUP}:{key}", started=now, stopped=now,
    )  # fmt: skip


def _export() -> None:
    asked = JobFilter(state="active", queue="queue-1")
    made = operations.start(operations.Request(walk.EXPORT, asked), SYSTEM)
    while made.state == "running":
        operations.go_on(made.pk, made.slices)
        made.refresh_from_db()
