"""The step for which a suspended job waits, in the explanation of a waiting job."""

from durable.services.suspend import wait_of
from jobs.domain.dispatch.gates import Gate, GateState
from jobs.domain.job import Job
from jobs.domain.states import State, state_of
from ojs_tasks.children import ENDED, FLOW_ENDED


def explain(job: Job) -> list[Gate]:
    """Return the gate of a job that a step has suspended. One statement."""
    if state_of(job.state) is not State.SCHEDULED or (wait := wait_of(job.id)) is None:
        return []
    message = f"Step {wait.step!r} waits until the given time."
    if wait.signals:
        named = " or ".join(_named(name) for name in wait.signals)
        message = f"Step {wait.step!r} waits for {named}, at most until the given time."
    return [Gate("step", GateState.CLOSED, message, wait.step, since=wait.since, until=wait.until)]


def _named(signal: str) -> str:
    if signal.startswith(ENDED):
        return f"the end of job {signal.removeprefix(ENDED)}"
    if signal.startswith(FLOW_ENDED):
        return f"the end of workflow {signal.removeprefix(FLOW_ENDED)}"
    return f"the signal {signal!r}"
