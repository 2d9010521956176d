"""Access to the arguments of classified jobs: a permit, and an audit entry for each view."""

from typing import Final

from django.http import HttpRequest

from console.access import may
from console.callers import caller_of
from jobs.domain.access.classified import SEEN, classification
from jobs.domain.job import Job
from jobs.services.audit.audit import record

PERMIT: Final = "jobs.see_classified"


def refusal(request: HttpRequest, job: Job) -> str | None:
    """Return the reason why this user may not see the job's data; None if permitted."""
    word = classification(job)
    if word is None or may(request, PERMIT):
        return None
    return f"This job is {word}: your account may not see its arguments."


def note(request: HttpRequest, job: Job) -> None:
    """Record in the audit log that this user sees the data of a classified job."""
    if word := classification(job):
        record(caller_of(request), SEEN, job.id, data={"classification": word})
