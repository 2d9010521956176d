"""Tell workers what to do. Spec: contract 9.4."""

from jobs.domain.errors import Conflict, NotFound
from jobs.models import Worker
from jobs.services.heartbeat import Standing

DIRECTIVES = {
    "quiet": Standing.QUIET,
    "terminate": Standing.TERMINATE,
    "resume": Standing.RUNNING,
}


def direct(worker_id: str, verb: str) -> Standing:
    """Give a worker a directive, told with its next heartbeat; `verb` is a key of DIRECTIVES.

    One guarded statement: from terminate there is no way back. Raises NotFound, Conflict.
    """
    wanted = DIRECTIVES[verb]
    known = Worker.objects.filter(id=worker_id)
    if known.filter(directive__lte=_highest_before(wanted)).update(directive=wanted):
        return wanted
    if not known.exists():
        raise NotFound.of("worker", worker_id)
    raise Conflict(
        f"worker {worker_id} was told to terminate",
        details={"worker_id": worker_id, "directive": "terminate"},
    )


def _highest_before(wanted: Standing) -> Standing:
    return Standing.TERMINATE if wanted is Standing.TERMINATE else Standing.QUIET
