"""What is made by the services: regions, and a simulation and an export that ended."""

from uuid import uuid4

from django.utils import timezone
from django_q.models import Task

from console import operations, simulations
from console.filters import JobFilter
from console.views.simulate import EXAMPLE_SCENARIO
from federation.models import Region, RegionHealth
from jobs.domain.caller import SYSTEM
from scheduling.services.scenarios import Wish

REGIONS = 20


def finish() -> None:
    """Name regions, run the example of the page of simulations, and export some jobs."""
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


def _simulate() -> None:
    key, wish, now = str(uuid4()), Wish(scenario=EXAMPLE_SCENARIO), timezone.now()
    Task.objects.create(
        id=uuid4().hex, name="simulate the example", func="console.simulations.run",
        args=(key, wish), result=simulations.run(key, wish), success=True,
        group=f"{simulations.GROUP}:{key}", started=now, stopped=now,
    )  # fmt: skip


def _export() -> None:
    asked = JobFilter(state="active", queue="queue-1")
    made = operations.start(operations.Request(operations.EXPORT, asked), SYSTEM)
    while made.state == "running":
        operations.go_on(made.pk, made.slices)
        made.refresh_from_db()
