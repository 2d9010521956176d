"""Jobs that routing rules send to versions, and rollbacks of versions. Spec: contract 22.4."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.domain.record.events import Kind
from jobs.models import Audit, Job, LaneKey, Lease, Ready
from jobs.services.health import exposition
from jobs.services.outcome.reap import reap
from jobs.services.upkeep.reset import clear_caches
from tests.concurrency import wait_until_complete
from tests.spec import spec
from tests.tenancy.wire import answer, event_data, send
from tests.versioning.routing import (
    GUARD,
    SPLIT,
    ack,
    act,
    fail,
    get,
    looked,
    of,
    put,
    redrawn,
    takes,
)
from tests.versioning.wire import TYPE, declares, fetched, push, versions_of
from versioning.models import Fallback, Outcome, Routing
from versioning.services import canaries, rule_cache
from versioning.services.routes import route_of

pytestmark = pytest.mark.usefixtures("store")

HALF = [{"version": "2.0", "weight": 1}, {"version": "1.0", "weight": 1}]
NONE = [{"version": "2.0", "weight": 1}, {"version": "1.0", "weight": 0}]


def pushed(number: int, version: str | None = None) -> set[str]:
    """Enqueue jobs of TYPE in one batch; return their ids."""
    job: dict[str, Any] = {"type": TYPE, "args": []}
    if version is not None:
        job["version"] = version
    found = answer(send("POST", "jobs/batch", {"jobs": [job] * number}), 201)["jobs"]
    return {one["id"] for one in found}


def taken(version: str) -> set[str]:
    return {job["id"] for job in takes(version)}


@spec("VER-10.1-a")
def test_unversioned_jobs_are_split_by_weight_between_two_workers() -> None:
    put()
    every = pushed(1_000)

    new, old = taken("2.0"), taken("1.0")

    # the contract's 70 to 130 and a standard deviation more: one run in 600 exceeded 70 to 130
    assert 60 <= len(new) <= 140
    assert new | old == every
    assert not new & old
    rules = rule_cache.read_one(TYPE)
    assert rules is not None
    assert new == {job for job in every if str(rules.drawn(job)) == "2.0"}


@spec("VER-10.1-a")
def test_the_share_of_a_job_stays_after_a_restart_and_at_every_attempt() -> None:
    put(HALF)
    pushed(40)
    rules = rule_cache.read_one(TYPE)
    assert rules is not None
    clear_caches()  # as a process that has just started

    found = takes("2.0")
    for job in found:
        body = {"job_id": job["id"], "error": {"code": "x", "message": "x"}, "requeue": True}
        answer(send("POST", "workers/nack", body))
    clear_caches()

    assert {job["id"] for job in found} == taken("2.0")
    assert all(str(rules.drawn(job["id"])) == "2.0" for job in found)


@spec("contract 22.4")
def test_jobs_of_a_version_go_where_both_are_accepted() -> None:
    put([{"version": "2.5", "weight": 1}])
    fits = pushed(1, "2.1")
    other = pushed(1, "1.0")

    assert taken("2.5") == set()  # it does not accept 2.1
    assert taken("1.0") == other  # the rule for 2.5 does not fit 1.0
    assert taken(">=2.0 <3.0") == fits


@spec("contract 22.4")
def test_override_sends_jobs_whatever_their_version() -> None:
    put(HALF, mode="override")
    every = pushed(30, "1.0")

    new = taken("2.0")

    assert 0 < len(new) < 30
    assert new | taken("1.0") == every


@spec("contract 22.4")
def test_the_registry_says_what_is_compatible_besides() -> None:
    schema = {"args_schema": {"type": "array"}, "compatible_with": ["1.0"]}
    put(NONE)
    before = pushed(1, "1.0")
    answer(send("PUT", f"admin/schemas/{TYPE}/2.0", schema), 201)
    after = pushed(1, "1.0")

    assert taken("2.0") == set()
    assert taken(">=1.0") == before | after
    found = answer(send("GET", f"admin/versions/{TYPE}"))
    assert {one["version"]: one["active"] for one in found["versions"]}["1.0"] == 2


@spec("contract 22.4")
def test_undeclared_workers_get_all() -> None:
    put(HALF)
    every = pushed(20)

    assert {job["id"] for job in fetched("w1", 100)} == every


@spec("contract 22.4")
def test_workers_that_are_exclusive_accept_no_other_types() -> None:
    put(HALF)
    pushed(5)
    handlers = [{"type": "other.type", "versions": "*"}]

    assert fetched(handlers=handlers, handlers_exclusive=True) == []
    assert len(fetched(handlers=handlers)) == 5


def test_an_enqueue_and_a_fetch_take_no_statement_more() -> None:
    push()
    takes("2.0")

    def statements() -> tuple[int, int]:
        push()
        with CaptureQueriesContext(
            connection,
        ) as enqueued:
            push()
        takes("2.0", 1)
        with CaptureQueriesContext(connection) as claimed:
            takes("2.0", 1)
        return len(enqueued), len(claimed)

    before = statements()
    put(NONE)

    assert statements() == before


# --- changed rules --------------------------------------------------------------------------------


@spec("contract 22.4")
def test_jobs_that_wait_are_drawn_when_rules_come() -> None:
    every = pushed(200)
    others = answer(send("POST", "jobs/batch", {"jobs": [{"type": "a.b", "args": []}] * 5}), 201)

    put(HALF)
    redrawn()

    new = taken("2.0")
    assert 60 <= len(new & every) <= 140
    assert {job["id"] for job in others["jobs"]} <= new  # jobs of another type
    assert taken("1.0") == every - new


@spec("contract 22.4")
def test_and_drawn_anew_when_they_change() -> None:
    put(NONE)
    every = pushed(100)
    first = rule_cache.read_one(TYPE)
    put(HALF, status=200)
    redrawn()

    second = rule_cache.read_one(TYPE)

    assert first is not None
    assert second is not None
    assert taken("2.0") == {job for job in every if str(second.drawn(job)) == "2.0"}
    assert 20 < len(taken("1.0")) < 80


@spec("contract 22.4")
def test_active_jobs_keep_what_they_were_drawn_for() -> None:
    put(NONE)
    pushed(4)
    running = takes("2.0")
    put([{"version": "2.0", "weight": 1}, {"version": "1.0", "weight": 99}], status=200)
    redrawn()

    for job in running:
        body = {"job_id": job["id"], "error": {"code": "x", "message": "x"}, "requeue": True}
        answer(send("POST", "workers/nack", body))

    assert taken("2.0") == {job["id"] for job in running}


@spec("VER-10.2-a")
def test_a_rollback_counts_at_once_for_jobs_that_wait() -> None:
    put(NONE)
    every = pushed(10)

    act("rollback")

    assert taken("2.0") == set()
    assert taken("1.0") == every  # before any job was moved


@spec("contract 22.3")
def test_without_rules_jobs_go_by_their_own_versions() -> None:
    put(NONE)
    every = pushed(5)
    send("DELETE", f"admin/routing/{TYPE}")

    assert taken("1.0") == every


def test_jobs_of_later_are_drawn_anew_too() -> None:
    sent = {"type": TYPE, "args": [], "options": {"scheduled_at": "2999-01-01T00:00:00Z"}}
    jobs = answer(send("POST", "jobs/batch", {"jobs": [sent] * 30}), 201)["jobs"]

    put(HALF)
    redrawn()

    lanes = {str(row.id): row.lane_id for row in Job.objects.all()}
    keys = {row.id: row.route for row in LaneKey.objects.all()}
    rules = rule_cache.read_one(TYPE)
    assert rules is not None
    for job in jobs:
        wanted = route_of(TYPE, None, rules.drawn(job["id"]))
        assert keys[lanes[job["id"]]] == wanted


# --- no worker accepts ----------------------------------------------------------------------------


def wait(seconds: int) -> None:
    """Let available jobs have waited longer by this time."""
    Ready.objects.update(enqueued_at=F("enqueued_at") - timedelta(seconds=seconds))


@spec("contract 22.4")
def test_jobs_that_nobody_accepts_are_held() -> None:
    put(NONE)
    declares("w1", "1.0")
    job = push()
    wait(3_600)
    canaries.watch()

    assert fetched("w1") == []
    gates = answer(send("GET", f"admin/jobs/{job['id']}/explain"))["gates"]
    (gate,) = [one for one in gates if one["gate"] == "version"]
    assert (gate["state"], gate["name"]) == ("closed", "2.0")
    assert "routing rules" in gate["message"]


@spec("contract 22.4")
def test_or_fall_back_to_their_own_versions_after_a_while() -> None:
    put([{"version": "1.2", "weight": 1}], on_no_worker="fallback", fallback_after="PT10S")
    declares("w1", "1.0")
    declares("w2", "3.0")
    push("1.0")
    push()
    canaries.watch()
    assert fetched("w1") == []

    wait(11)
    assert canaries.watch() == 2  # the version keys of both jobs

    assert versions_of(fetched("w2")) == [None]
    assert versions_of(fetched("w1")) == ["1.0"]
    assert canaries.watch() == 0
    declares("w3", ">=1.0")
    canaries.watch()
    assert not Fallback.objects.exists()
    push("1.0")
    assert fetched("w1") == []
    assert versions_of(fetched("w3")) == ["1.0"]


# --- rollback -------------------------------------------------------------------------------------


def served(ended: dict[str, tuple[int, int]]) -> int:
    """Let workers complete and fail jobs by version; return how many ended."""
    total = 0
    for version, (acked, failed) in ended.items():
        found = takes(version, acked + failed)
        assert len(found) == acked + failed
        fail(found[:failed])
        ack(found[failed:])
        total += len(found)
    return total


@spec("VER-10.2-a")
def test_a_failure_of_20_percent_is_rolled_back_within_one_look() -> None:
    put(HALF, auto_rollback=GUARD)
    pushed(100)

    assert looked(served({"2.0": (24, 6), "1.0": (30, 0)})) == 1

    shown = get()
    assert shown["rules"] == [{"version": "1.0", "weight": 100}]
    assert (shown["rolled_back_from"], shown["revision"]) == ("2.0", shown["revision"])
    (event,) = event_data(Kind.VERSION_ROLLED_BACK)
    assert event == {
        "from": "2.0", "to": "1.0", "automatic": True, "revision": shown["revision"],
        "samples": 30, "failed": 6, "error_rate": 0.2, "error_rate_threshold": 0.05,
    }  # fmt: skip
    assert event_data(Kind.ROUTING_CHANGED)[-1]["change"] == "rollback"
    assert Audit.objects.filter(action="routing.rolled_back", target=TYPE).count() == 1
    assert taken("2.0") == set()
    assert canaries.watch() == 0
    exposition._cached.clear()  # cached by the test before
    metrics = Client().get("/metrics").content.decode()
    assert f'ojs_version_rollbacks_total{{type="{TYPE}"}} 1.0' in metrics
    assert f'ojs_version_routed_total{{type="{TYPE}",version="2.0"}} 30.0' in metrics


@pytest.mark.parametrize(("acked", "failed"), [(19, 1), (15, 4), (60, 3)])
@spec("contract 22.4")
def test_not_at_the_threshold_nor_with_too_few_samples(acked: int, failed: int) -> None:
    put(NONE, auto_rollback=GUARD)
    pushed(acked + failed)

    assert looked(served({"2.0": (acked, failed)})) == 0

    (new, old) = get()["outcomes"]
    assert (new["acked"], new["failed"], old["acked"]) == (acked, failed, 0)
    assert new["low"] <= new["error_rate"] <= new["high"]


@spec("contract 22.4")
def test_a_stable_version_that_fails_is_left_alone() -> None:
    put(HALF, auto_rollback=GUARD)
    pushed(100)

    assert looked(served({"2.0": (30, 0), "1.0": (0, 30)})) == 0


@spec("contract 22.4")
def test_only_a_new_put_clears_a_rollback_and_forgets_outcomes() -> None:
    put(NONE, auto_rollback=GUARD)
    pushed(60)
    looked(served({"2.0": (0, 20)}))
    act("promote", status=409)

    shown = put(NONE, status=200, auto_rollback=GUARD)

    assert shown["rolled_back_at"] is None
    assert [one["failed"] for one in shown["outcomes"]] == [0, 0]
    assert canaries.watch() == 0
    redrawn()
    assert looked(served({"2.0": (0, 20)})) == 1


def test_outcomes_of_rules_before_are_not_held_against_a_version() -> None:
    put(NONE, auto_rollback=GUARD)
    pushed(20)
    served({"2.0": (0, 20)})  # not read yet

    put(NONE, status=200, auto_rollback=GUARD)
    pushed(1)

    assert looked(served({"2.0": (1, 0)})) == 0
    assert [one["failed"] for one in get()["outcomes"]] == [0, 0]


def test_outcomes_count_for_a_window() -> None:
    put(NONE, auto_rollback={**GUARD, "min_samples": 40})
    pushed(60)
    looked(served({"2.0": (0, 30)}))
    Outcome.objects.update(at=F("at") - timedelta(minutes=3))

    assert looked(30 + served({"2.0": (30, 0)})) == 0
    assert [one["failed"] for one in get()["outcomes"]] == [0, 0]


def test_a_significance_asks_for_more_than_the_threshold() -> None:
    guard = {**GUARD, "significance": 0.01}
    put(HALF, auto_rollback=guard)
    pushed(200)

    assert looked(ended := served({"2.0": (27, 3), "1.0": (27, 3)})) == 0
    assert get()["p_value"] == 1
    assert looked(ended + served({"2.0": (10, 20), "1.0": (30, 0)})) == 1
    assert get()["p_value"] <= 0.01


def test_nothing_is_rolled_back_while_rules_cool_down() -> None:
    put(NONE, auto_rollback={**GUARD, "cool_down": "PT1M"})
    pushed(20)
    assert looked(served({"2.0": (0, 20)})) == 0

    Routing.objects.update(judged_from=F("judged_from") - timedelta(minutes=2))

    assert canaries.watch() == 1


def test_attempts_that_were_lost_count_as_failed() -> None:
    put(NONE, auto_rollback={**GUARD, "min_samples": 1})
    pushed(1)
    body = {"queues": ["default"], "handlers": of("2.0"), "visibility_timeout_ms": 1_000}
    answer(send("POST", "workers/fetch", body))

    Lease.objects.update(lease_until=F("lease_until") - timedelta(minutes=1))
    reap()

    assert looked(1) == 1


# --- plans ----------------------------------------------------------------------------------------


def bake(minutes: int) -> None:
    """Let the current step have lasted longer by this time."""
    Routing.objects.update(step_at=F("step_at") - timedelta(minutes=minutes))


def weights() -> list[float]:
    return [one["weight"] for one in get()["rules"]]


PLAN = {"steps": [5, 25, 50, 100], "bake_time": "PT10M"}


def test_a_plan_goes_on_when_a_step_has_baked() -> None:
    put(plan=PLAN)
    assert canaries.watch() == 0

    found = [weights()]
    for _ in range(3):
        bake(11)
        assert canaries.watch() == 1
        assert canaries.watch() == 0
        found.append(weights())

    assert found == [[5, 95], [25, 75], [50, 50], [100, 0]]
    bake(11)
    assert canaries.watch() == 0
    assert get()["plan"]["state"] == "complete"
    assert [event["change"] for event in event_data(Kind.ROUTING_CHANGED)] == ["put"] + ["step"] * 3


def test_a_plan_that_is_paused_stands_still() -> None:
    put(plan=PLAN)
    act("pause")
    bake(11)
    assert canaries.watch() == 0

    act("resume")
    assert canaries.watch() == 0  # its bake time begins anew
    bake(11)
    assert canaries.watch() == 1


def test_a_plan_waits_for_enough_outcomes() -> None:
    put(plan={**PLAN, "steps": [50, 100], "min_samples": 5})
    pushed(40)
    bake(11)
    assert canaries.watch() == 0

    assert looked(served({"2.0": (5, 0)})) == 1


def test_a_plan_does_not_go_on_with_a_version_that_fails() -> None:
    put(plan={**PLAN, "steps": [50, 100]}, auto_rollback={**GUARD, "significance": 0.001})
    pushed(200)
    bake(11)

    assert looked(served({"2.0": (28, 2), "1.0": (28, 2)})) == 0
    assert weights() == [50, 50]
    assert looked(60 + served({"2.0": (0, 15), "1.0": (15, 0)})) == 1
    assert (weights(), get()["plan"]["state"]) == ([100], "halted")
    bake(11)
    assert canaries.watch() == 0
    assert SPLIT[1]["version"] == get()["rules"][0]["version"]


def test_outcomes_count_for_what_ran_though_its_job_is_drawn_anew_at_once() -> None:
    put(plan={**PLAN, "steps": [50, 100]}, auto_rollback={**GUARD, "min_samples": 1_000})
    pushed(60)
    served({"2.0": (0, 8), "1.0": (0, 8)})

    wait_until_complete()  # attempts count only after all older transactions have ended
    act("promote")
    redrawn()  # the failed jobs wait for their next attempts at 2.0

    looked(16)
    assert [one["failed"] for one in get()["outcomes"]] == [8, 8]
