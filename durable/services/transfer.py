"""Carry checkpoints, waits and signals of federated jobs to other regions. Contract 23.6, 34.1.

Without its wait, a job that another region adopts would sleep until its timeout: no signal that
comes there would wake it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from durable.models import Checkpoint, Signal, Wait
from durable.services.checkpoints import Save, save
from jobs.database import atomic, on_commit
from jobs.domain.job import Job
from jobs.domain.wire import jsonio
from jobs.services.outcome.suspend import promote_woken, wake

MEMBER: Final = "checkpoint"  # of the envelope of a copy; a PUSH drops it


def portable(jobs: Sequence[Job]) -> Mapping[str, Mapping[str, Any]]:
    """Return state, wait and signals of each job that no other extension follows."""
    rows = Checkpoint.objects.filter(job_id__in=[job.id for job in jobs], is_alone=True)
    states = dict(rows.values_list("job_id", "state"))
    found: dict[str, dict[str, Any]] = {
        str(job_id): {"state": jsonio.loads(state.encode()), "signals": []}
        for job_id, state in states.items()
    }
    for wait in Wait.objects.filter(job_id__in=list(states)) if states else ():
        found[str(wait.job_id)]["wait"] = {
            "step": wait.step, "signals": wait.signals, "until": wait.until.isoformat(),
            "woken": wait.is_woken,
        }  # fmt: skip
    waiting = Signal.objects.filter(job_id__in=list(states)).order_by("id") if states else ()
    for one in waiting:
        payload = jsonio.loads(one.payload.encode())
        shown = {"name": one.name, "payload": payload, "sender": one.sender}
        found[str(one.job_id)]["signals"].append(shown)
    return {job_id: {MEMBER: members} for job_id, members in found.items()}


def arrived(job_id: str, members: Mapping[str, Any]) -> None:
    """Store what a job has when it comes from another region, and wake it if its signal came."""
    if MEMBER not in members:
        return
    carried = members[MEMBER]
    with atomic():
        save(Save(job_id, jsonio.dumps(carried["state"]).decode()), may_seed=True)
        names = [_keep(job_id, one) for one in carried["signals"]]
        if (wait := carried.get("wait")) is not None:
            is_over = wait["woken"] or not set(names).isdisjoint(wait["signals"])
            Wait.objects.create(
                job_id=job_id, step=wait["step"], signals=wait["signals"],
                until=datetime.fromisoformat(wait["until"]), is_woken=is_over,
            )  # fmt: skip
            if is_over and wake(job_id):
                on_commit(promote_woken)


def _keep(job_id: str, one: Mapping[str, Any]) -> str:
    payload = jsonio.dumps(one["payload"]).decode()
    Signal.objects.create(job_id=job_id, name=one["name"], payload=payload, sender=one["sender"])
    return str(one["name"])
