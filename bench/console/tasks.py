"""A simulation and an export that ended, as the task cluster leaves them."""

from uuid import uuid4

from django.utils import timezone
from django_q.models import Task

from console import operations, simulations
from console.filters import JobFilter
from console.views.simulate import EXAMPLE_SCENARIO
from jobs.domain.caller import SYSTEM
from scheduling.services.scenarios import Wish


def finish() -> None:
    """Run the example of the page of simulations, and export some jobs."""
    _simulate()
    _export()


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
