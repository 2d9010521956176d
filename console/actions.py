"""The actions of operators, by verb."""

import re
from collections.abc import Callable

from django.apps import apps
from django.http import QueryDict

from console import chosen, limit_actions, purges, saved_actions
from console.shown import Secret
from jobs.domain.caller import Caller
from jobs.domain.errors import InvalidRequest, NotFound
from jobs.domain.states import State
from jobs.services.access import api_keys
from jobs.services.audit.audit import audited, record
from jobs.services.operate import maintenance, operate, queues
from jobs.services.operate.queues import stats
from jobs.services.read.show import show
from jobs.services.workers import workers

MOST_MINUTES = 99_999
MINUTES = re.compile(r"[1-9][0-9]{0,4}")
PURGED = tuple(state for state in State if state is not State.ACTIVE)

# (form, caller) -> message or secret; keeps to the caller's tenant
Run = Callable[[QueryDict, Caller], str | Secret]


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


def _pause(form: QueryDict, who: Caller) -> str:
    queues.pause(form.get("id", ""), who)
    return f"Queue {form.get('id', '')} is paused: running jobs go on, no new one starts."


def _resume(form: QueryDict, who: Caller) -> str:
    queues.resume(form.get("id", ""), who)
    return f"Queue {form.get('id', '')} hands out jobs again."


def _purge(form: QueryDict, who: Caller) -> str:
    name, states = form.get("id", ""), form.getlist("states")
    if form.get("confirm", "").strip() != name:
        raise InvalidRequest.field("the name", "does not match: nothing was deleted")
    if not states or not {*states} <= {state.value for state in PURGED}:
        raise InvalidRequest.field("states", "must be chosen")
    stats(name)  # raises NotFound for an unknown queue
    with audited(who, "queue.purge_started", name) as data:
        data["states"] = sorted(states)
        purges.start(name, tuple(State(one) for one in states), who)
    return f"The jobs of queue {name} are handed to the operator tasks, which delete them."


def _revoke(form: QueryDict, who: Caller) -> str:
    prefix = form.get("id", "").replace("\x00", "")
    if not api_keys.revoke(prefix, who):
        raise NotFound.of("API key", prefix)
    return "The key is revoked: it opens nothing any more."


def _remove(form: QueryDict, who: Caller) -> str:
    name = form.get("id", "")
    returned = workers.remove(name, force=False)
    record(who, "worker.removed", name, data={"returned_jobs": returned})
    return f"Worker {name} is forgotten, and {returned} jobs are available again."


def _direct(verb: str) -> Run:
    def run(form: QueryDict, who: Caller) -> str:
        with audited(who, f"worker.{verb}", form.get("id", "")):
            told = workers.direct(form.get("id", ""), verb)
        name = told.name.lower()
        return f"Worker {form.get('id', '')} hears “{name}” with its next heartbeat."

    return run


def _maintain(form: QueryDict, who: Caller) -> str:
    minutes = form.get("minutes", "").strip()
    if minutes and not MINUTES.fullmatch(minutes):
        raise InvalidRequest.field("minutes", f"must be from 1 to {MOST_MINUTES}", minutes[:50])
    maintenance.start(
        who, reason=who.reason, duration_ms=int(minutes) * 60_000 if minutes else None
    )
    return "Maintenance is on: no job starts until it ends."


def _end_maintenance(_form: QueryDict, who: Caller) -> str:
    maintenance.end(who)
    return "Maintenance is over: jobs start again."


def _cancel_workflow(form: QueryDict, who: Caller) -> str:
    from workflows.services.cancel import cancel as end  # noqa: PLC0415 - the app may be absent
    from workflows.services.show import flow  # noqa: PLC0415

    if who.tenant is not None and flow(form.get("id", "")).tenant != who.tenant:
        raise NotFound.of("workflow", form.get("id", ""))
    with audited(who, "workflow.cancelled", form.get("id", "")):
        done = end(form.get("id", ""), who.name)
    return f"The workflow is cancelled with {done.steps_cancelled} steps; active jobs finish."


def _of_cron(verb: str) -> Run:
    def run(form: QueryDict, who: Caller) -> str:
        from console import cron  # noqa: PLC0415 - an installation may be without schedules

        with audited(who, f"cron.{verb}", form.get("id", "")):
            return cron.act(verb, form.get("id", ""), who)

    return run


ACTIONS: dict[str, Run] = {
    "retry": _retry,
    "cancel": _cancel,
    "cancel-workflow": _cancel_workflow,
    "delete": _delete,
    "pause": _pause,
    "resume": _resume,
    "purge": _purge,
    "key-revoke": _revoke,
    "remove-worker": _remove,
    "quiet": _direct("quiet"),
    "terminate": _direct("terminate"),
    "unquiet": _direct("resume"),
    "cron-trigger": _of_cron("trigger"),
    "cron-pause": _of_cron("pause"),
    "cron-resume": _of_cron("resume"),
    "cron-delete": _of_cron("delete"),
    "maintain": _maintain,
    "end-maintenance": _end_maintenance,
}

ACTIONS |= {**chosen.ACTIONS, **limit_actions.ACTIONS, **saved_actions.ACTIONS}
if apps.is_installed("federation"):
    from console import region_actions

    ACTIONS |= region_actions.ACTIONS
if apps.is_installed("scheduling"):
    from console import pool_actions

    ACTIONS |= pool_actions.ACTIONS
if apps.is_installed("tenancy"):
    from console import tenant_actions

    ACTIONS |= tenant_actions.ACTIONS
if apps.is_installed("versioning"):
    from console import version_actions

    ACTIONS |= version_actions.ACTIONS
if apps.is_installed("webhooks"):
    from console import webhook_actions

    ACTIONS |= webhook_actions.ACTIONS
