"""Simulations of scheduling for operators, run by `manage.py qcluster`; see console/tasks.py.

A simulation is one task. Its progress is in the cache, its result is the task's result.
"""

import re
from dataclasses import asdict, dataclass
from typing import Any
from uuid import uuid4

from django.core.cache import cache
from django.utils.module_loading import import_string
from django_q.models import Task
from django_q.tasks import async_task

from console.proposals import Proposal
from jobs.domain.access.caller import Caller
from jobs.domain.errors import OJSError
from jobs.services.audit.audit import audited
from scheduling.domain.simulation import TooLong
from scheduling.services import scenarios
from scheduling.services.scenarios import Wish
from scheduling.services.simulate import Context

MOST_JOBS = 20_000
MOST_S = 150.0
PROPOSED_MINUTES = 60  # replayed to try a change of a form
TIMEOUT_S = 170  # below `retry` of the cluster, which would start it again
KEPT_S = 3600  # lifetime of the progress of a task that never ran
SHOWN = 10
GROUP = "simulation"
KEY = re.compile(r"[0-9a-f-]{36}")


@dataclass(frozen=True, slots=True)
class Simulation:
    """A simulation; `found` is None until it ends, and if it ends with a `problem`.

    One that came from the form of a setting has a `proposal`.
    """

    key: str
    wish: dict[str, Any]
    part: float | None  # done part; None: not begun
    found: dict[str, Any] | None = None
    problem: str | None = None
    proposal: Proposal | None = None

    @property
    def is_over(self) -> bool:
        """Return whether it has ended, with success or not."""
        return self.found is not None or self.problem is not None


def start_proposal(proposal: Proposal, who: Caller) -> str:
    """Queue a simulation of the last hour with a change; return its key. Raises OJSError."""
    wish = Wish(PROPOSED_MINUTES, "", proposal.changes, most_jobs=MOST_JOBS)
    return start(wish, who, proposal)


def start(wish: Wish, who: Caller, proposal: Proposal | None = None) -> str:
    """Queue a simulation; return its key. Raises OJSError if it cannot be simulated."""
    scenarios.check(wish)
    key = str(uuid4())
    with audited(who, "scheduling.simulated", "scheduling") as data:
        data["simulation"], data["minutes"] = key, wish.minutes
        if proposal is not None:
            data["kind"], data["name"] = proposal.kind, proposal.name
    _note(key, wish, None, proposal)
    title = f"last {wish.minutes} minutes" if wish.minutes is not None else "a scenario"
    if proposal is not None:
        title = f"{proposal.title}, {title}"
    async_task(
        "console.simulations.run", key, wish, proposal,
        task_name=f"simulate {title} ({who.name})"[:100], group=_group(key), timeout=TIMEOUT_S,
    )  # fmt: skip
    return key


def run(key: str, wish: Wish, proposal: Proposal | None = None) -> dict[str, Any]:
    """Run a simulation; return its result or its problem."""
    try:
        found = scenarios.run(
            wish,
            progress=lambda part: _note(key, wish, part, proposal),
            most_s=MOST_S,
            after=_context(proposal),
        ).to_json()
    except OJSError as problem:
        return {"problem": str(problem)}
    except TooLong:
        return {"problem": f"the simulation took longer than {MOST_S:.0f} s: simulate fewer jobs"}
    return {"found": found}


def _context(proposal: Proposal | None) -> Context | None:
    if proposal is None or not proposal.form.context:
        return None
    made: Context = import_string(proposal.form.context)(proposal)
    return made


def simulation(key: str) -> Simulation | None:
    """Return a simulation by its key, None if there is none."""
    if not KEY.fullmatch(key):
        return None
    task = Task.objects.filter(group=_group(key)).order_by("stopped").last()
    if task is None:
        noted = cache.get(_group(key))
        return noted and Simulation(
            key, noted["wish"], noted["part"], proposal=noted.get("proposal")
        )
    wish, proposal = asdict(task.args[1]), _proposal(task)
    if not task.success or not isinstance(task.result, dict):
        return Simulation(
            key, wish, 1.0, None, "the simulation failed; see the log of the task cluster", proposal
        )
    found, problem = task.result.get("found"), task.result.get("problem")
    return Simulation(key, wish, 1.0, found, problem, proposal)


def _proposal(task: Task) -> Proposal | None:
    """Return the change of a task; tasks of earlier versions have none."""
    found: Proposal | None = next(iter(task.args[2:]), None)
    return found


def latest() -> list[tuple[str, Task]]:
    """Return the latest ended simulations, with their keys."""
    found = Task.objects.filter(group__startswith=f"{GROUP}:").order_by("-stopped")[:SHOWN]
    return [(task.group.removeprefix(f"{GROUP}:"), task) for task in found]


def _note(key: str, wish: Wish, part: float | None, proposal: Proposal | None) -> None:
    noted = {"wish": asdict(wish), "part": part, "proposal": proposal}
    cache.set(_group(key), noted, KEPT_S)


def _group(key: str) -> str:
    return f"{GROUP}:{key}"
