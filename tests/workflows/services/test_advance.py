"""Steps, callbacks and states after members end. Spec: contract 8.2, 8.3, 8.4."""

from typing import Any

import pytest
from django.db import transaction

from jobs import queries
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import LaneKey
from jobs.domain.wire import jsonio
from jobs.models import Event, Job, Lease, Ready
from jobs.queries import ago
from jobs.services.lanes import lanes
from jobs.services.lanes.queue_config import configure
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel as cancel_job
from jobs.services.outcome.dead_letter import retry
from jobs.services.outcome.expire import expire
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.reap import reap
from jobs.services.read.show import show as show_job
from tests.asserts import assert_store_is_sound
from tests.concurrency import threads, wait_until_blocked
from tests.factories import error
from tests.spec import spec
from tests.workflows.flows import (
    batch,
    by_type,
    chain,
    claimed,
    complete,
    created,
    envelope,
    fail,
    graph,
    group,
    job,
    run,
    seen,
    states,
)

pytestmark = pytest.mark.usefixtures("store")


def test_jobs_for_several_callers_are_stored_behind_the_locks_of_all_their_queues() -> None:
    for queue in ("first", "second"):
        configure(queue, {"backpressure": {"max_depth": 10}})
        created(chain(job(), job(options={"queue": queue})), Caller(name=queue))
    ended = claimed()

    with threads(1) as start:
        with transaction.atomic():
            queries.lock_queues(["second"])
            completing = start(lambda: complete(*ended))
            wait_until_blocked()
            lanes.resolve([LaneKey("first", 0, "_default")])  # nobody who waits for us has made it
        completing.result()

    assert [len(claimed(queue)) for queue in ("first", "second")] == [1, 1]


# --- 8.2 engine -----------------------------------------------------------------------------------


@spec("contract 8.2")
def test_creation_enqueues_what_depends_on_nothing() -> None:
    flow = created(graph(a="", b="", c="a b"))

    assert states(flow) == ["pending", "pending", "waiting"]
    assert [one.type for one in claimed()] == ["flow.a", "flow.b"]


@spec("contract 8.2")
def test_a_step_gets_its_job_with_the_last_of_its_dependencies() -> None:
    flow = created(graph(a="", b="", c="a b"))
    jobs = by_type(claimed())

    complete(jobs["flow.a"])
    assert states(flow) == ["completed", "active", "waiting"]
    complete(jobs["flow.b"])

    assert states(flow) == ["completed", "completed", "pending"]


@spec("contract 8.2")
def test_one_batch_of_acks_may_complete_all_dependencies() -> None:
    created(graph(a="", b="", c="a b", d="a"))

    complete(*claimed())

    assert sorted(one.type for one in claimed()) == ["flow.c", "flow.d"]


@spec("contract 8.2")
def test_retryable_is_neither_done_nor_failed() -> None:
    flow = created(chain(job(), job()))

    fail(*claimed(), retryable=True)

    assert states(flow) == ["pending", "waiting"]
    assert seen(flow)["state"] == "running"


@spec("contract 8.2")
def test_a_failed_step_cancels_what_is_behind_it_and_siblings_go_on() -> None:
    flow = created(graph(a="", b="", c="a", d="c b", e="b"))
    jobs = by_type(claimed())

    fail(jobs["flow.a"])
    assert states(flow) == ["failed", "active", "cancelled", "cancelled", "waiting"]
    assert seen(flow)["state"] == "running"
    complete(jobs["flow.b"])
    assert run() == ["flow.e"]

    assert states(flow) == ["failed", "completed", "cancelled", "cancelled", "completed"]
    assert seen(flow)["state"] == "failed"


@pytest.mark.parametrize("has_begun", [False, True])
@spec("contract 8.2")
def test_a_cancelled_job_fails_its_step(has_begun: bool) -> None:
    flow = created(chain(job(), job()))
    (step, _) = seen(flow)["steps"]
    if has_begun:
        claimed()

    cancel_job(step["job_id"])

    assert states(flow) == ["cancelled", "cancelled"]
    assert (seen(flow)["state"], seen(flow)["steps_failed"]) == ("failed", 1)
    assert seen(flow)["errors"][0]["code"] == "cancelled"


@spec("contract 8.2")
def test_an_expired_job_fails_its_step() -> None:
    flow = created(chain(job(options={"expires_at": "+PT1H"}), job()))
    Ready.objects.update(expires_at=ago(1))

    expire()

    assert states(flow) == ["failed", "cancelled"]
    assert seen(flow)["errors"][0]["code"] == "expired"


@spec("contract 8.2")
def test_a_lost_lease_without_attempts_left_fails_its_step() -> None:
    flow = created(chain(job(retry={"max_attempts": 1}), job()))
    claimed()
    Lease.objects.update(lease_until=ago(1))

    reap()

    assert states(flow) == ["failed", "cancelled"]


@spec("contract 8.2")
def test_a_nested_workflow_is_a_step() -> None:
    flow = created(chain(job("a"), group(job("b"), job("c")), job("d")))

    assert run() == ["a", "b", "c", "d"]

    shown = seen(flow)
    inner = seen(shown["steps"][1]["workflow_id"])
    assert [step["type"] for step in shown["steps"]] == ["a", "group", "d"]
    assert (shown["state"], inner["state"]) == ("completed", "completed")
    assert inner["parent_workflow_id"] == flow


@spec("contract 8.2")
def test_a_nested_workflow_fails_by_its_own_rule() -> None:
    flow = created(chain(group(job("a"), job("b")), job("c")))
    jobs = by_type(claimed())

    fail(jobs["a"])
    assert states(flow) == ["active", "waiting"]
    complete(jobs["b"])

    assert states(flow) == ["failed", "cancelled"]
    assert seen(flow)["errors"][0]["code"] == "workflow_failed"


@spec("contract 8.2")
def test_a_nested_workflow_that_never_begins_is_cancelled() -> None:
    flow = created(chain(job("a"), chain(group(job("b")), job("c"))))
    inner = seen(flow)["steps"][1]

    fail(*claimed())

    assert seen(inner["workflow_id"])["state"] == "cancelled"
    assert seen(inner["steps"][0]["workflow_id"])["state"] == "cancelled"
    assert states(inner["workflow_id"]) == ["cancelled", "cancelled"]


@spec("contract 8.2")
def test_three_levels_run() -> None:
    flow = created(group(chain(batch(job("a"), on_success=job("b")), job("c")), job("d")))

    assert sorted(run()) == ["a", "b", "c", "d"]
    assert seen(flow)["state"] == "completed"


@spec("contract 8.2")
def test_members_name_their_workflow_and_position() -> None:
    flow = created(batch(job("a"), job("b"), on_complete=job("c")))
    jobs = by_type(claimed())

    complete(*jobs.values())
    jobs |= by_type(claimed())

    assert {envelope(one)["workflow_id"] for one in jobs.values()} == {flow}
    assert [envelope(jobs[name])["workflow_step"] for name in "abc"] == [0, 1, 2]


@spec("contract 8.2")
def test_members_use_their_own_retry_policy() -> None:
    created(group(job(retry={"max_attempts": 7})))

    (one,) = claimed()

    assert envelope(one)["retry"]["max_attempts"] == 7


# --- 8.3 results ----------------------------------------------------------------------------------


@spec("contract 8.3")
def test_a_chain_step_is_given_the_results_of_all_before() -> None:
    created(chain(job(), job(), job(), job()))
    given = []
    for result in ({"a": 1}, None, [2]):
        (one,) = claimed()
        given.append(envelope(one).get("parent_results"))
        complete(one, result=result)
    (last,) = claimed()

    assert [*given, envelope(last)["parent_results"]] == [
        None, [{"a": 1}], [{"a": 1}, None], [{"a": 1}, None, [2]],
    ]  # fmt: skip


@spec("contract 8.3")
def test_a_graph_step_is_given_its_direct_dependencies_in_their_order() -> None:
    created(graph(a="", b="a", c="", d="c b"))
    while found := claimed():
        for one in found:
            if one.type == "flow.d":
                assert envelope(one)["parent_results"] == ["flow.c", "flow.b"]
                return
            complete(one, result=one.type)
    raise AssertionError("d was never there")


@spec("contract 8.3")
def test_a_callback_is_given_all_results_and_null_for_failures() -> None:
    created(batch(job("a"), job("b"), job("c"), on_failure=job("d")))
    jobs = by_type(claimed())

    complete(jobs["c"], result=3)
    fail(jobs["b"])
    complete(jobs["a"], result=1)

    (callback,) = claimed()
    assert envelope(callback)["parent_results"] == [1, None, 3]


@spec("contract 8.3")
def test_a_nested_workflow_gives_the_array_of_its_results() -> None:
    created(chain(group(job("a"), job("b")), job("c")))
    for one in claimed():
        complete(one, result=one.type)

    (last,) = claimed()

    assert envelope(last)["parent_results"] == [["a", "b"]]


@spec("contract 8.3")
def test_members_of_groups_are_given_nothing() -> None:
    created(chain(job("a"), group(job("b"))))
    complete(*claimed(), result=1)

    (member,) = claimed()

    assert "parent_results" not in envelope(member)


@pytest.mark.parametrize("result", [0, False, "", [], {}, 2**70, "ü\\u0000x", {"a": [None]}])
@spec("contract 8.3")
def test_results_arrive_as_they_were(result: Any) -> None:
    created(chain(job(), job()))
    (first,) = claimed()
    ack([Ack(first.id, jsonio.dumps(result))])
    (second,) = claimed()

    text = show_job(second.id).attributes
    members = jsonio.loads(text.encode() if isinstance(text, str) else text)
    assert members["parent_results"] == [result]


@spec("contract 8.3")
def test_results_stay_when_the_jobs_are_removed() -> None:
    flow = created(chain(job(), job()))
    (first,) = claimed()
    complete(first, result={"kept": True})
    Job.objects.filter(id=first.id).delete()

    assert seen(flow)["steps"][0]["result"] == {"kept": True}
    (second,) = claimed()
    assert envelope(second)["parent_results"] == [{"kept": True}]


# --- 8.4 states -----------------------------------------------------------------------------------


@spec("contract 8.4")
def test_a_chain_fails_at_once() -> None:
    flow = created(chain(job(), job(), job()))

    fail(*claimed())

    shown = seen(flow)
    assert (shown["state"], shown["failed_step_index"]) == ("failed", 0)
    assert states(flow) == ["failed", "cancelled", "cancelled"]


@spec("contract 8.4")
def test_a_group_fails_when_all_are_over() -> None:
    flow = created(group(job("a"), job("b")))
    jobs = by_type(claimed())

    fail(jobs["a"])
    assert seen(flow)["state"] == "running"
    complete(jobs["b"])

    assert (seen(flow)["state"], seen(flow)["jobs_failed"]) == ("failed", 1)


ANSWERED = ("on_failure", "on_complete")


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize(
    "callbacks",
    [("on_complete",), ("on_success",), ("on_failure",), ("on_success", "on_failure"),
     ("on_complete", "on_success", "on_failure")],
)  # fmt: skip
@spec("contract 8.4")
def test_a_batch_fires_its_callbacks_and_ends_by_the_table(
    callbacks: tuple[str, ...], failing: bool
) -> None:
    flow = created(batch(job("a"), job("b"), **{name: job(name) for name in callbacks}))

    ran = run(failing={"a"} if failing else ())

    wanted = {"on_complete", "on_failure" if failing else "on_success"}
    assert set(ran) - {"a", "b"} == wanted & set(callbacks)
    is_answered = not failing or bool(set(ANSWERED) & set(callbacks))
    assert seen(flow)["state"] == ("completed" if is_answered else "failed")
    assert seen(flow)["jobs_failed"] == failing


@pytest.mark.parametrize("name", ["on_complete", "on_success"])
@spec("contract 8.4")
def test_a_batch_fails_with_a_callback(name: str) -> None:
    flow = created(batch(job("a"), **{name: job("back")}))

    run(failing={"back"})

    assert seen(flow)["state"] == "failed"
    assert seen(flow)["jobs_failed"] == 0


@spec("contract 8.4")
def test_callbacks_are_no_members_in_the_numbers() -> None:
    flow = created(batch(job("a"), on_complete=job("b")))

    run()

    shown = seen(flow)
    assert (shown["jobs_total"], shown["jobs_completed"]) == (1, 1)
    assert [step["type"] for step in shown["steps"]] == ["a"]
    assert shown["callbacks"]["on_complete"]["state"] == "completed"


# --- 2.4 manual retry -----------------------------------------------------------------------------


@spec("contract 2.4")
def test_a_workflow_that_failed_is_not_revived() -> None:
    flow = created(chain(job(), job()))
    (one,) = claimed()
    fail(one)

    retry(one.id)
    assert len(run()) == 1

    assert states(flow) == ["failed", "cancelled"]
    assert seen(flow)["state"] == "failed"


@spec("contract 2.4")
def test_a_revived_member_counts_anew_while_its_workflow_runs() -> None:
    flow = created(graph(a="", b="", c="a", d="b"))
    jobs = by_type(claimed())
    fail(jobs["flow.a"])
    assert states(flow) == ["failed", "active", "cancelled", "waiting"]

    retry(jobs["flow.a"].id)

    assert states(flow) == ["pending", "active", "waiting", "waiting"]
    complete(jobs["flow.b"])
    assert sorted(run()) == ["flow.a", "flow.c", "flow.d"]
    assert seen(flow)["state"] == "completed"
    assert_store_is_sound()


@spec("contract 2.4")
def test_what_another_failure_cancelled_stays_cancelled() -> None:
    flow = created(graph(a="", b="", c="a b", d="a", z=""))
    jobs = by_type(claimed())
    fail(jobs["flow.a"], jobs["flow.b"])

    retry(jobs["flow.a"].id)

    assert states(flow) == ["pending", "failed", "cancelled", "waiting", "active"]


@spec("contract 2.4")
def test_a_batch_whose_callbacks_fired_is_not_reopened() -> None:
    flow = created(batch(job("a", retry={"max_attempts": 1}), on_complete=job("b")))
    (member,) = claimed()
    fail(member)

    retry(member.id)

    assert states(flow) == ["failed"]
    assert sorted(run()) == ["a", "b"]
    assert (seen(flow)["state"], seen(flow)["jobs_failed"]) == ("completed", 1)


@spec("contract 2.4")
def test_a_nested_workflow_behind_a_revived_step_waits_again() -> None:
    body = graph(a="", z="")
    body["steps"].append({"type": "group", "jobs": [job("in")], "id": "g", "depends_on": ["a"]})
    flow = created(body)
    jobs = by_type(claimed())
    fail(jobs["flow.a"])
    assert states(flow)[2] == "cancelled"

    retry(jobs["flow.a"].id)
    complete(jobs["flow.z"])

    assert run() == ["flow.a", "in"]
    assert seen(flow)["state"] == "completed"


# --- 12.4 events ----------------------------------------------------------------------------------


def events_of(flow: str) -> list[tuple[int, Any]]:
    """Return the events of a workflow: kind and step id."""
    found = Event.objects.filter(kind__in=range(50, 60)).order_by("stamp", "seq")
    return [
        (event.kind, event.data.get("step_id"))
        for event in found
        if event.data and event.data["workflow_id"] == flow
    ]


@spec("contract 12.4")
def test_a_workflow_tells_its_steps_and_its_end() -> None:
    flow = created(chain(job(id="one"), job(id="two"), name="two steps"))

    run()

    assert events_of(flow) == [(50, None), (51, "one"), (51, "two"), (52, None)]
    steps = [event.data for event in Event.objects.filter(kind=51).order_by("stamp", "seq")]
    assert [(data or {})["steps_remaining"] for data in steps] == [1, 0]
    assert all((data or {})["workflow_name"] == "two steps" for data in steps)
    assert all((data or {})["step_type"] == "flow.step" for data in steps)
    assert all((data or {})["duration_ms"] >= 0 for data in steps)


@spec("contract 12.4")
def test_a_failed_workflow_names_the_step() -> None:
    flow = created(chain(job(id="one"), job()))

    nack([Nack(one.id, error(code="broken", retryable=False)) for one in claimed()])

    assert events_of(flow) == [(50, None), (53, None)]
    data = Event.objects.get(kind=53).data or {}
    assert (data["failed_step_id"], data["error"]["code"]) == ("one", "broken")


@spec("contract 12.4")
def test_a_wide_group_tells_every_step_once() -> None:
    flow = created(group(*[job() for _ in range(70)]))

    complete(*claimed())

    assert [kind for kind, _ in events_of(flow)] == [50, *[51] * 70, 52]
