"""GET /ojs/v1/unique-jobs. Spec: contract 6, 24.5."""

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import ID, PAGINATION, QUEUE, STATE, TIME, TYPE, array, maybe, obj, text
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import QUERY, page
from jobs.domain.states import state_of
from jobs.domain.wire.times import format_time
from jobs.services.enqueue.unique import unique_jobs

FINGERPRINT_DIGITS = 64  # hexadecimal
UNIQUE_JOB = obj(
    {
        "key": text(FINGERPRINT_DIGITS, FINGERPRINT_DIGITS, pattern="^[0-9a-f]+$"),
        "job_id": ID,
        "type": TYPE,
        "queue": QUEUE,
        "state": STATE,
        "locked_until": maybe(TIME),
    }
)
LIST = obj({"items": array(UNIQUE_JOB), "pagination": PAGINATION})


class UniqueJobs(OJSView):
    """The jobs that block equal jobs."""

    @operation("listUniqueJobs", {200: LIST}, query=QUERY)
    def get(self, request: Request) -> Answer:
        """List the jobs whose own policy would refuse an equal job, newest first.

        `locked_until` is null where the policy has no period: then the job's states decide.
        """
        window = page(request)
        found, total = unique_jobs(self.principal.tenant, limit=window.limit, offset=window.offset)
        items = [
            {
                "key": job.key,
                "job_id": job.job_id,
                "type": job.type,
                "queue": job.queue,
                "state": state_of(job.state).value,
                "locked_until": job.locked_until and format_time(job.locked_until),
            }
            for job in found
        ]
        return Answer({"items": items, "pagination": window.answer(total)})
