"""The actions of operators on a queue."""

from typing import Final

from django.http import QueryDict

from console import purges
from console.actions.action import Action
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest
from jobs.domain.states import State
from jobs.services.audit.audit import audited, record
from jobs.services.operate import queues
from jobs.services.operate.queue_removal import STRATEGIES, delete_by
from jobs.services.operate.queues import stats

PURGED = tuple(state for state in State if state is not State.ACTIVE)


def _pause(form: QueryDict, who: Caller) -> str:
    queues.pause(form.get("id", ""), who)
    return f"Queue {form.get('id', '')} is paused. Running jobs continue; no new job starts."


def _resume(form: QueryDict, who: Caller) -> str:
    queues.resume(form.get("id", ""), who)
    return f"Queue {form.get('id', '')} is resumed. Its jobs start again."


def _purge(form: QueryDict, who: Caller) -> str:
    name, states = form.get("id", ""), form.getlist("states")
    if form.get("confirm", "").strip() != name:
        raise InvalidRequest.field("the name", "does not match the queue; no job was deleted")
    if not states or not {*states} <= {state.value for state in PURGED}:
        raise InvalidRequest.field("states", "must be chosen")
    stats(name)  # raises NotFound for an unknown queue
    with audited(who, "queue.purge_started", name) as data:
        data["states"] = sorted(states)
        purges.start(name, tuple(State(one) for one in states), who)
    return f"The purge of queue {name} has started. The operator task cluster deletes the jobs."


def _delete(form: QueryDict, who: Caller) -> str:
    name, strategy = form.get("id", ""), form.get("strategy", "")
    target = form.get("target_queue", "").replace("\0", "").strip() or None
    if form.get("confirm", "").strip() != name:
        raise InvalidRequest.field("the name", "does not match the queue; it was not deleted")
    if strategy not in STRATEGIES:
        raise InvalidRequest.field("strategy", "must be one of " + ", ".join(STRATEGIES))
    gone = delete_by(who, name, strategy, target if strategy == "move" else None)
    facts = {"strategy": strategy, "jobs_affected": gone.jobs_affected}
    record(who, "queue.deleted", name, data=facts | ({"target_queue": target} if target else {}))
    jobs = f"{gone.jobs_affected} jobs were {'moved' if strategy == 'move' else 'cancelled'}."
    if gone.is_draining:
        return f"Queue {name} takes no new jobs, and is deleted after its last running job. {jobs}"
    return f"Queue {name} is deleted. {jobs}"


ACTIONS: Final = (
    Action(
        "pause", "queues.pause", _pause, "Pause",
        ask="Pause this queue? No job of it starts until you resume it.",
    ),
    Action(
        "resume", "queues.pause", _resume, "Resume", "primary",
        "Resume this queue? Its jobs start again.",
    ),
    Action("purge", "queues.purge", _purge, needs_reason=True),
    Action("queue-delete", "queues.delete", _delete, needs_reason=True),
)  # fmt: skip
