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


ACTIONS: Final = (
    Action(
        "pause", "queues.pause", _pause, "Pause",
        ask="Start no job of this queue until it is resumed?",
    ),
    Action(
        "resume", "queues.pause", _resume, "Resume", "primary",
        "Hand out jobs of this queue again?",
    ),
    Action("purge", "queues.purge", _purge),
)  # fmt: skip
