"""Random workflows with random ends, compared with a model without counters.

Spec: contract 8.2 to 8.6.
"""

from typing import Any, ClassVar

import orjson
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel as cancel_job
from jobs.services.outcome.dead_letter import retry
from jobs.services.outcome.nack import Nack, nack
from tests.asserts import assert_store_is_sound, state
from tests.conftest import empty
from tests.effort import examples
from tests.factories import error
from tests.spec import spec
from tests.workflows.flows import created, envelope, job
from tests.workflows.model import Flow, Step
from workflows.domain.kinds import FLOW_NAMES, Callback, FlowState
from workflows.models import Slot, Workflow
from workflows.services.cancel import cancel
from workflows.services.display import step_state
from workflows.services.show import EVERY, Whole, Window, listed, show

pytestmark = pytest.mark.usefixtures("store")

CALLBACKS = ("on_complete", "on_success", "on_failure")


@st.composite
def bodies(draw: st.DrawFn, depth: int = 1) -> dict[str, Any]:
    """Return a request of any form."""
    kind = draw(st.sampled_from(["chain", "group", "batch", "graph"]))
    steps = [
        draw(bodies(depth + 1)) if depth < 3 and draw(st.integers(0, 4)) == 0 else job()
        for _ in range(draw(st.integers(1, 4)))
    ]
    if kind == "chain":
        return {"type": "chain", "steps": steps}
    if kind == "group":
        return {"type": "group", "jobs": steps}
    if kind == "batch":
        chosen = draw(st.sets(st.sampled_from(CALLBACKS), min_size=1))
        return {"type": "batch", "jobs": steps, "callbacks": {name: job() for name in chosen}}
    for n, step in enumerate(steps):
        before = draw(st.sets(st.integers(0, n - 1))) if n else set()
        step |= {"id": f"s{n}", "depends_on": [f"s{m}" for m in sorted(before)]}
    return {"steps": steps}


def modelled(body: dict[str, Any]) -> Flow:
    """Return the model of a request."""
    steps = body.get("steps") or body["jobs"]
    flow = Flow(body.get("type", "graph"))
    for n, step in enumerate(steps):
        if flow.kind == "chain":
            after = [n - 1] if n else []
        else:
            after = [int(name[1:]) for name in step.get("depends_on", ())]
        child = modelled(step) if "jobs" in step or "steps" in step else None
        flow.steps.append(Step(f"{n}", after, child))
    if flow.kind == "graph" and all(
        step.after == ([n - 1] if n else []) for n, step in enumerate(flow.steps)
    ):
        flow.kind = "chain"
    flow.callbacks = {name: Step(name, []) for name in body.get("callbacks", {})}
    return flow


class Machine(RuleBasedStateMachine):
    """A workflow, changed by workers and operators."""

    wide: ClassVar[bool] = False

    @initialize(body=bodies())
    def create(self, body: dict[str, Any]) -> None:
        """Store the workflow."""
        empty()
        self.flow = modelled(body)
        self.flow.propagate()
        self.id = created(body)
        self.results = 0
        self.bind()

    def bind(self) -> None:
        """Give the model the ids of new jobs and check the results that the jobs received."""
        self._bind(self.flow, show(self.id))

    def _bind(self, flow: Flow, whole: Whole) -> None:
        for row in whole.steps:
            step = (
                flow.callbacks[Callback(row.callback).wire]
                if row.callback
                else flow.steps[row.index]
            )
            if step.child is not None:
                self._bind(step.child, whole.inside[row.index])
            elif row.job_id is not None and step.job_id is None:
                step.job_id = row.job_id
                members = envelope(row.job_id)
                assert members["workflow_id"] == whole.row.id
                assert members["workflow_step"] == row.index
                assert members.get("parent_results") == step.given

    def pick(self, number: int, *wanted: str) -> tuple[Flow, Step] | None:
        """Return one of the jobs in a state."""
        found = [(flow, step) for flow, step in self.flow.jobs() if step.state in wanted]
        return found[number % len(found)] if found else None

    @rule(count=st.integers(1, 3))
    def claim(self, count: int) -> None:
        """A worker claims jobs."""
        taken = {one.id for one in fetch(FetchRequest(("default",), count=count)).jobs}
        for _, step in self.flow.jobs():
            if step.job_id in taken and step.state == "pending":
                step.state = "active"

    @rule(number=st.integers(0, 9), has_result=st.booleans())
    def complete(self, number: int, has_result: bool) -> None:
        """A job succeeds."""
        chosen = self.pick(number, "active")
        if chosen is None:
            return
        _, step = chosen
        self.results += 1
        step.result = {"n": self.results} if has_result else None
        ack([Ack(step.job_id or "", orjson.dumps(step.result) if has_result else None)])
        self.end(step, "completed")

    @rule(number=st.integers(0, 9))
    def fail(self, number: int) -> None:
        """A job fails for good."""
        if chosen := self.pick(number, "active"):
            nack([Nack(chosen[1].job_id or "", error(retryable=False))])
            self.end(chosen[1], "failed")

    @rule(number=st.integers(0, 9))
    def cancel_one(self, number: int) -> None:
        """An operator cancels a job."""
        if chosen := self.pick(number, "active", "pending"):
            cancel_job(chosen[1].job_id or "")
            self.end(chosen[1], "stopped")

    def end(self, step: Step, outcome: str) -> None:
        """Apply the end of a step to the model."""
        step.state = outcome
        self.flow.propagate()
        self.bind()

    @precondition(lambda self: self.flow.state == "running")
    @rule()
    def cancel(self) -> None:
        """An operator cancels the workflow."""
        cancel(self.id)
        self.flow.cancel()

    @rule(number=st.integers(0, 9))
    def revive(self, number: int) -> None:
        """An operator retries a failed job by hand."""
        chosen = self.pick(number, "failed")
        if chosen is None or state(chosen[1].job_id or "") is not State.DISCARDED:
            return
        flow, step = chosen
        retry(step.job_id or "")
        if flow.reopen(step):
            self.flow.propagate()
        else:
            cancel_job(step.job_id or "")  # the workflow ignores the retried job, so remove it

    @invariant()
    def looks_like_the_model(self) -> None:
        """Compare every shown state with the model."""
        whole = show(self.id)
        self._compare(self.flow, whole)
        if FlowState(whole.row.state) in EVERY:
            ((row,), total) = listed(EVERY, Window(5), tenant=None)
            assert (row.id, total) == (self.id, 1)
            over = [step.state for step in self.flow.steps]
            assert row.completed == over.count("completed")
            assert row.failed == sum(one in {"failed", "stopped"} for one in over)

    def _compare(self, flow: Flow, whole: Whole) -> None:
        assert FLOW_NAMES[FlowState(whole.row.state)] == flow.state
        for row in whole.steps:
            if row.callback:
                assert step_state(row) == flow.callbacks[Callback(row.callback).wire].shown
                continue
            step = flow.steps[row.index]
            assert step_state(row) == step.shown, (row.index, flow)
            if step.state == "completed" and step.child is None:
                assert (row.result and orjson.loads(row.result)) == step.result
            if step.child is not None:
                self._compare(step.child, whole.inside[row.index])

    def teardown(self) -> None:
        """Check the store, and that no counter is negative."""
        if hasattr(self, "id"):
            assert_store_is_sound()
            assert not Workflow.objects.filter(open__lt=0).exists()
            assert not Slot.objects.filter(open__lt=0).exists()


def explore(number: int, steps: int) -> None:
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples(number),
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
        ),
    )


@spec("contract 8.2")
def test_a_workflow_does_what_the_model_says() -> None:
    explore(number=120, steps=25)


@spec("contract 8.2")
def test_a_workflow_with_shared_counters_does_what_the_model_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workflows.services.start.slots", lambda number: min(number, 2))

    explore(number=80, steps=25)
