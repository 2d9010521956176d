"""The actions of operators on a worker, and the maintenance of the server."""

import re
from typing import Final

from django.http import QueryDict

from console.actions.action import Action, Run
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest
from jobs.services.audit.audit import record
from jobs.services.operate import maintenance
from jobs.services.workers import workers

MOST_MINUTES = 99_999
MINUTES = re.compile(r"[1-9][0-9]{0,4}")


def _remove(form: QueryDict, who: Caller) -> str:
    return _removed(form, who, force=False)


def _evict(form: QueryDict, who: Caller) -> str:
    return _removed(form, who, force=True)


def _removed(form: QueryDict, who: Caller, *, force: bool) -> str:
    name = form.get("id", "")
    returned = workers.remove(name, force=force)
    record(who, "worker.removed", name, data={"returned_jobs": returned})
    return f"Worker {name} is removed. {returned} jobs are available again."


def _direct(verb: str) -> Run:
    def run(form: QueryDict, _who: Caller) -> str:
        name = workers.direct(form.get("id", ""), verb).name.lower()
        return f"Worker {form.get('id', '')} gets the directive “{name}” with its next heartbeat."

    return run


def _maintain(form: QueryDict, who: Caller) -> str:
    minutes = form.get("minutes", "").strip()
    if minutes and not MINUTES.fullmatch(minutes):
        raise InvalidRequest.field("minutes", f"must be from 1 to {MOST_MINUTES}", minutes[:50])
    maintenance.start(
        who, reason=who.reason, duration_ms=int(minutes) * 60_000 if minutes else None
    )
    return "Maintenance is on. No job starts until it ends."


def _end_maintenance(_form: QueryDict, who: Caller) -> str:
    maintenance.end(who)
    return "Maintenance has ended. Jobs start again."


ACTIONS: Final = (
    Action(
        "remove-worker", "workers.direct", _remove, "Remove", "danger",
        "Remove this worker? Its jobs become available again.",
    ),
    Action(
        "evict-worker", "workers.direct", _evict, "Remove and return its jobs", "danger",
        "Remove this live worker? Its jobs become available again, although its process may still"
        " run them.",
    ),
    Action(
        "quiet", "workers.direct", _direct("quiet"), "Quiet",
        ask="Quiet this worker? It takes no new jobs until you resume it.", audit="worker.quiet",
    ),
    Action(
        "unquiet", "workers.direct", _direct("resume"), "Resume",
        ask="Resume this worker? It takes jobs again.", audit="worker.resume",
    ),
    Action(
        "terminate", "workers.direct", _direct("terminate"), "Terminate", "danger",
        "Terminate this worker? It finishes its jobs and exits.", audit="worker.terminate",
    ),
    Action("maintain", "maintenance.set", _maintain),
    Action(
        "end-maintenance", "maintenance.set", _end_maintenance, "End maintenance", "primary",
    ),
)  # fmt: skip
