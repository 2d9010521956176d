"""Jobs of steps that are refused, or refused for now. Spec: contract 8.2, 12.1."""

from collections.abc import Iterator
from typing import Any

import pytest

from jobs.domain.errors import OJSError
from jobs.loops import run_once
from jobs.models import Job
from jobs.queries import ago
from tests.asserts import assert_store_is_sound
from tests.spec import spec
from tests.workflows import plug
from tests.workflows.flows import (
    batch,
    chain,
    claimed,
    complete,
    created,
    group,
    job,
    run,
    seen,
    states,
)
from workflows.domain import limits
from workflows.models import Step, Workflow

pytestmark = pytest.mark.usefixtures("store", "plugged")


@pytest.fixture
def plugged(settings: Any) -> Iterator[None]:
    """Install the middleware."""
    settings.OJS = {**settings.OJS, "ENQUEUE_MIDDLEWARE": ("tests.workflows.plug.plug",)}
    yield
    for names in (plug.REFUSED, plug.HELD, plug.DROPPED, plug.BROKEN):
        names.clear()


def run_loops() -> None:
    """Make steps due and run the loop."""
    Step.objects.exclude(due_at=None).update(due_at=ago(1))
    run_once(["workflows"])


@spec("contract 8.1")
def test_nothing_is_stored_when_a_first_job_is_refused() -> None:
    plug.REFUSED.add("b")

    with pytest.raises(OJSError):
        created(group(job("a"), job("b")))

    assert not Workflow.objects.exists()
    assert not Job.objects.exists()


@spec("contract 12.1")
def test_a_refused_job_does_not_undo_the_end_before_it_and_fails_its_step() -> None:
    flow = created(chain(job("a"), job("b"), job("c")))
    plug.REFUSED.add("b")

    complete(*claimed())
    assert states(flow) == ["completed", "waiting", "waiting"]
    run_loops()

    assert states(flow) == ["completed", "failed", "cancelled"]
    (error,) = seen(flow)["errors"]
    assert (error["code"], error["job_id"], error["step_id"]) == (
        "invalid_request", None, "step-1",
    )  # fmt: skip
    assert seen(flow)["state"] == "failed"
    assert_store_is_sound()


@pytest.mark.parametrize("why", ["HELD", "BROKEN"])
@spec("contract 12.1")
def test_a_refusal_that_may_pass_is_tried_again(why: str) -> None:
    flow = created(chain(job("a"), job("b")))
    getattr(plug, why).add("b")
    complete(*claimed())
    run_loops()
    assert states(flow) == ["completed", "waiting"]

    getattr(plug, why).clear()
    run_loops()

    assert run() == ["b"]
    assert seen(flow)["state"] == "completed"


@spec("contract 12.1")
def test_a_dropped_job_fails_its_step() -> None:
    plug.DROPPED |= {"b", "d"}
    flow = created(group(job("a"), job("b"), chain(job("c"), job("d"))))

    assert run() == ["a", "c"]
    run_loops()

    assert states(flow) == ["completed", "failed", "failed"]
    assert seen(flow)["errors"][0]["code"] == "not_enqueued"
    assert seen(flow)["state"] == "failed"


@spec("contract 8.2")
def test_a_refused_job_of_many_does_not_hold_the_others_for_long() -> None:
    before = {"steps": [job("a", id="a"), *[job(f"b{n}", id=f"b{n}", depends_on=["a"])
                                            for n in range(5)]]}  # fmt: skip
    flow = created(before)
    plug.REFUSED.add("b3")
    complete(*claimed())

    run_loops()

    assert sorted(run()) == ["b0", "b1", "b2", "b4"]
    assert states(flow)[4] == "failed"


@spec("contract 8.3")
def test_results_that_are_too_large_together_fail_the_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("begin", "advance", "resume"):
        monkeypatch.setattr(f"workflows.services.{module}.MAX_RESULTS_BYTES", 100)
    flow = created(batch(job("a"), job("b"), on_complete=job("c")))

    complete(*claimed(), result="x" * 80)
    run_loops()

    assert seen(flow)["callbacks"]["on_complete"]["state"] == "failed"
    assert seen(flow)["errors"][0]["code"] == "parent_results_too_large"
    assert seen(flow)["state"] == "failed"


@spec("contract 8.3")
def test_a_nested_workflow_whose_results_are_too_large_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workflows.services.advance.MAX_RESULTS_BYTES", 100)
    flow = created(chain(group(job("a"), job("b")), job("c")))

    complete(*claimed(), result="x" * 80)

    assert seen(flow)["errors"][0]["code"] == "results_too_large"
    assert states(flow) == ["failed", "cancelled"]


@spec("contract 8.3")
def test_results_are_shown_as_far_as_they_fit() -> None:
    flow = created(group(job(), job()))

    complete(*claimed(), result="x" * 150)

    first, second = seen(flow, most_bytes=200)["steps"]
    assert (first["result"], "result_omitted" in first) == ("x" * 150, False)
    assert ("result" in second, second["result_omitted"]) == (False, True)


@spec("contract 10.6")
def test_a_week_is_kept() -> None:
    assert limits.RETENTION_MS == 7 * 24 * 3600 * 1000
