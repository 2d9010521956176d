"""The actions of operators on a job."""

from typing import Final

from django.http import QueryDict

from console.actions.action import Action
from jobs.domain.access.caller import Caller
from jobs.domain.errors import NotFound
from jobs.services.operate import operate
from jobs.services.read.show import show


def own_job(form: QueryDict, who: Caller) -> str:
    """Return the id of the job that a form names. Raises NotFound for another tenant's job."""
    job_id = form.get("id", "")
    if who.tenant is not None and show(job_id).tenant != who.tenant:
        raise NotFound.of("job", job_id)
    return job_id


def _retry(form: QueryDict, who: Caller) -> str:
    job = operate.retry_job(own_job(form, who), None, who)
    return f"Job {job.id} is available again."


def _cancel(form: QueryDict, who: Caller) -> str:
    job, _ = operate.cancel_job(own_job(form, who), who, who.reason or "cancelled in the console")
    return f"Job {job.id} is cancelled."


def _delete(form: QueryDict, who: Caller) -> str:
    operate.delete_job(own_job(form, who), who)
    return f"Job {form.get('id', '')} is deleted."


ACTIONS: Final = (
    Action("retry", "jobs.change", _retry, "Retry"),
    Action("cancel", "jobs.change", _cancel, "Cancel", "danger", "Cancel this job?"),
    Action("delete", "jobs.delete", _delete, "Delete", "danger", "Delete this job permanently?"),
)
