"""The actions of operators on a queue."""

from typing import Final

from django.http import QueryDict

from console import purges
from console.actions.action import Action
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest
from jobs.domain.states import State
from jobs.services.audit.audit import audited
from jobs.services.operate import queues
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


ACTIONS: Final = (
    Action(
        "pause", "queues.pause", _pause, "Pause",
        ask="Pause this queue? No job of it starts until you resume it.",
    ),
    Action(
        "resume", "queues.pause", _resume, "Resume", "primary",
        "Resume this queue? Its jobs start again.",
    ),
    Action("purge", "queues.purge", _purge),
)  # fmt: skip
