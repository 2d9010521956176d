"""Who sees the arguments of classified jobs: who has a permission for it, and is written down."""

from typing import Final

from django.http import HttpRequest

from console.access import may
from console.callers import caller_of
from jobs.domain.classified import SEEN, classification
from jobs.domain.job import Job
from jobs.services.audit.audit import record

PERMIT: Final = "jobs.see_classified"


def refusal(request: HttpRequest, job: Job) -> str | None:
    """Say why whoever is logged in may not see what a job carries; None: they may."""
    word = classification(job)
    if word is None or may(request, PERMIT):
        return None
    return f"This job is {word}: your account may not see its arguments."


def note(request: HttpRequest, job: Job) -> None:
    """Record that somebody is shown what a classified job carries."""
    if word := classification(job):
        record(caller_of(request), SEEN, job.id, data={"classification": word})
