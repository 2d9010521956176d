"""A simulation that ended, as the task cluster leaves it."""

from uuid import uuid4

from django.utils import timezone
from django_q.models import Task

from console import simulations
from console.views.simulate import EXAMPLE_SCENARIO
from scheduling.services.scenarios import Wish


def simulate() -> str:
    """Run the example of the page; returns the simulation's key."""
    key, wish, now = str(uuid4()), Wish(scenario=EXAMPLE_SCENARIO), timezone.now()
    Task.objects.create(
        id=uuid4().hex, name="simulate the example", func="console.simulations.run",
        args=(key, wish), result=simulations.run(key, wish), success=True,
        group=f"{simulations.GROUP}:{key}", started=now, stopped=now,
    )  # fmt: skip
    return key
