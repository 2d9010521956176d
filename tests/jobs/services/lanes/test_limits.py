"""Limits at the claim: concurrency, rate, throttle. Spec: contract 27.2, 10.5."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from jobs import queries
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import InvalidRequest, NotFound
from jobs.domain.lanes.limits import LimitPolicy
from jobs.domain.states import State
from jobs.models import Hold, Lane, Later, Limit, Start
from jobs.queries import ago
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes import lanes, limits
from jobs.services.lanes.queue_config import configure
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.nack import Nack, nack
from jobs.services.read.show import show
from jobs.services.record.events import EventFilter, event_name, latest
from jobs.services.upkeep.heal import heal
from tests.asserts import assert_state, assert_store_is_sound
from tests.concurrency import wait_until_complete
from tests.factories import FAR, error, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")
OF_DEFAULT = Caller("api", "_default")


def limited(number: int, key: str = "k", queue: str = "default", **limit: Any) -> list[str]:
    """Store jobs that name a limit."""
    return stored_ids(number, queue=queue, rate_limit={"key": key, **limit})


def fetched(count: int = 100, queue: str = "default") -> list[str]:
    """Claim and return the ids in order."""
    return [job.id for job in fetch(FetchRequest((queue,), count=count)).jobs]


def pass_time(seconds: float) -> None:
    """Move the stored starts, blocks and events of limits into the past."""
    earlier = timedelta(seconds=seconds)
    for start in Start.objects.order_by("slot"):
        Start.objects.filter(pk=start.pk).update(slot=F("slot") - earlier, at=F("at") - earlier)
    Lane.objects.exclude(blocked_until=None).update(blocked_until=F("blocked_until") - earlier)
    Limit.objects.update(told_at=F("told_at") - earlier)


def emitted() -> list[str]:
    """Return the names of all rate limit events, in order."""
    wait_until_complete()
    found, _ = latest(EventFilter(types=("rate_limit.*",)), limit=100)
    return [event_name(event) for event in reversed(found)]


@spec("RL-1")
def test_concurrency_is_exact_and_every_end_makes_room() -> None:
    ids = limited(6, concurrency=1)

    ends: list[Callable[[str], object]] = [
        lambda job_id: ack([Ack(job_id)]),
        lambda job_id: nack([Nack(job_id, error(retryable=False))]),
        lambda job_id: nack([Nack(job_id, error())]),
        cancel,
    ]
    for n, end in enumerate(ends):
        assert fetched() == ids[n : n + 1]
        assert fetched() == []
        end(ids[n])
    assert fetched() == ids[4:5]
    nack([Nack(ids[4], None, requeue=True)])
    assert fetched() == ids[4:5]
    assert_store_is_sound()


@spec("RL-1")
def test_concurrency_counts_over_queues() -> None:
    first = limited(2, queue="a", concurrency=2)
    second = limited(2, queue="b", concurrency=2)

    assert fetched(1, "a") == first[:1]
    assert fetched(5, "b") == second[:1]
    assert fetched(5, "a") == []

    ack([Ack(first[0])])
    assert fetched(5, "b") == second[1:]


@spec("RL-2")
def test_rate_counts_starts_in_any_window() -> None:
    ids = limited(8, rate={"limit": 3, "period": "PT20M"})

    assert fetched() == ids[:3]
    ack([Ack(job_id) for job_id in ids[:3]])
    assert fetched() == []
    pass_time(900)
    assert fetched() == []
    pass_time(301)
    assert fetched(1) == ids[3:4]
    assert fetched() == ids[4:6]
    assert fetched() == []
    assert_store_is_sound()


@spec("RL-2")
def test_a_retry_is_a_start_like_any_other() -> None:
    ids = limited(1, rate={"limit": 1, "period": "PT1M"})
    assert fetched() == ids
    nack([Nack(ids[0], None, requeue=True)])

    assert fetched() == []
    assert_state(State.AVAILABLE, ids[0])


@spec("RL-2")
def test_a_claim_that_no_limit_holds_back_does_not_say_when_one_opens() -> None:
    answer = fetch(FetchRequest(("default",), count=5))

    assert (answer.jobs, answer.opens_ms) == ([], None)


@spec("RL-3")
def test_throttle_spaces_starts() -> None:
    ids = limited(3, throttle={"limit": 10, "period": "PT1H"})

    assert fetched() == ids[:1]
    answer = fetch(FetchRequest(("default",), count=5))
    assert answer.jobs == []
    assert answer.opens_ms is not None
    assert 0 <= answer.opens_ms <= 360_000
    pass_time(361)
    assert fetched() == ids[1:2]


@spec("RL-4")
def test_the_most_restrictive_limit_counts() -> None:
    configure("default", {"concurrency": 3})
    lanes.set_weight_and_cap("_default", weight=1, cap=2)
    ids = limited(5, concurrency=4, rate={"limit": 4, "period": "PT1M"})

    assert fetched() == ids[:2]
    lanes.set_weight_and_cap("_default", weight=1, cap=9)
    assert fetched() == ids[2:3]
    configure("default", {"concurrency": None})
    assert fetched() == ids[3:4]
    ack([Ack(job_id) for job_id in ids[:4]])
    assert fetched() == []
    assert_store_is_sound()


@spec("RL-5")
def test_limited_jobs_do_not_hold_back_others() -> None:
    held = limited(3, concurrency=1)
    free = stored_ids(2, priority=-5)

    assert fetched() == [held[0], *free]


@spec("RL-6")
def test_a_job_that_waits_stays_as_it_is() -> None:
    limited(1, concurrency=0)
    assert fetched() == []

    job = show(stored_ids(1, rate_limit={"key": "k", "concurrency": 0})[0])
    assert fetched() == []
    assert (show(job.id).state, show(job.id).attempt) == (job.state, 0)


@pytest.mark.parametrize("rate", [{"concurrency": 1}, {"rate": {"limit": 1, "period": "PT1M"}}])
@spec("RL-7")
def test_drop_discards_what_may_not_start(rate: dict[str, Any]) -> None:
    ids = limited(4, on_limit="drop", **rate)
    assert fetched(2) == ids[:1]

    assert fetched(2) == []

    assert_state(State.DISCARDED, ids[1])
    dropped = show(ids[1])
    assert dropped.error is not None
    assert '"rate_limited"' in str(dropped.error)
    assert not dropped.dead_letter
    assert "rate_limit.dropped" in emitted()
    assert_store_is_sound()


@spec("RL-7")
def test_drop_applies_to_jobs_that_the_same_fetch_promotes() -> None:
    ids = limited(3, on_limit="drop", concurrency=1, scheduled_at=FAR)
    Later.objects.update(due_at=ago(1))

    assert fetched(2) == ids[:1]

    assert_state(State.DISCARDED, ids[1])
    assert_store_is_sound()


@spec("RL-7")
def test_reschedule_waits_until_the_limit_opens() -> None:
    ids = limited(2, on_limit="reschedule", rate={"limit": 1, "period": "PT1M"})
    assert fetched(1) == ids[:1]
    assert fetched(1) == []

    assert_state(State.SCHEDULED, ids[1])
    assert show(ids[1]).due_at == Lane.objects.get().blocked_until
    assert_store_is_sound()


@spec("RL-7")
def test_reschedule_for_concurrency_asks_again_after_a_second() -> None:
    ids = limited(2, on_limit="reschedule", concurrency=1)
    assert fetched(1) == ids[:1]
    assert fetched(1) == []

    job = show(ids[1])
    assert job.due_at is not None
    assert job.due_at - job.created_at >= timedelta(seconds=1)
    assert_store_is_sound()


@spec("RL-8")
def test_keys_are_independent() -> None:
    first, second = limited(2, "a", concurrency=1), limited(2, "b", concurrency=1)

    assert sorted(fetched()) == sorted([first[0], second[0]])


@spec("RL-8")
def test_a_key_is_of_one_tenant_unless_it_is_global() -> None:
    limited(1, concurrency=1)
    limited(1, "shared", concurrency=1, scope="global")

    assert limits.state("k", None).tenant == "_default"
    assert limits.state("shared", None).tenant is None
    with pytest.raises(NotFound):
        limits.state("k", "other")


@spec("RL-9")
def test_a_failure_may_pause_its_key() -> None:
    ids = limited(3, concurrency=5)
    assert fetched(1) == ids[:1]
    until = queries.now() + timedelta(minutes=1)

    nack([Nack(ids[0], error(rate_limit_until=until.isoformat()))])

    assert fetched() == []
    assert Lane.objects.get().blocked_until == until
    Limit.objects.update(paused_until=F("paused_until") - timedelta(minutes=2))
    pass_time(120)
    assert fetched() == ids[1:]


@spec("RL-11")
def test_a_limit_that_is_reached_and_opens_tells_so_once() -> None:
    ids = limited(4, concurrency=1)
    fetched()
    fetched()
    limited(1, "k", "other", concurrency=1)
    fetched(queue="other")
    assert emitted() == ["rate_limit.exceeded"]

    ack([Ack(ids[0])])
    pass_time(2)
    fetched()
    assert emitted() == ["rate_limit.exceeded", "rate_limit.released"]


@spec("contract 27.1")
def test_the_latest_policy_of_a_key_counts_and_opens_what_waits() -> None:
    ids = limited(4, concurrency=1)
    assert fetched() == ids[:1]
    assert fetched() == []

    ids += limited(1, concurrency=3)

    assert fetched() == ids[1:3]


@spec("contract 27.3")
def test_an_override_beats_the_policy_until_it_ends() -> None:
    ids = limited(6, concurrency=1)
    assert fetched() == ids[:1]
    assert fetched() == []

    limits.override("k", LimitPolicy(concurrency=3), None, OF_DEFAULT)
    assert fetched() == ids[1:3]
    assert limits.state("k", None).in_force == LimitPolicy(concurrency=3)

    limits.end_override("k", OF_DEFAULT)
    ack([Ack(job_id) for job_id in ids[:2]])
    assert fetched() == []
    assert limits.state("k", None).override is None


@spec("contract 27.1")
def test_the_on_limit_of_an_override_applies_until_it_ends() -> None:
    ids = limited(4, concurrency=1)
    limits.override("k", LimitPolicy(concurrency=2, on_limit="drop"), None, OF_DEFAULT)
    assert fetched(2) == ids[:2]

    assert fetched(1) == []
    assert_state(State.DISCARDED, ids[2])

    limits.end_override("k", OF_DEFAULT)
    assert fetched(1) == []
    assert_state(State.AVAILABLE, ids[3])
    assert_store_is_sound()


@spec("contract 27.1")
def test_an_override_with_on_limit_wait_keeps_the_jobs_that_the_policy_drops() -> None:
    ids = limited(2, concurrency=5, on_limit="drop")
    until = queries.now() + timedelta(minutes=1)
    limits.override("k", LimitPolicy(concurrency=1), until, OF_DEFAULT)
    assert fetched() == ids[:1]

    assert fetched() == []

    assert_state(State.AVAILABLE, ids[1])
    assert Lane.objects.get().blocked_until == until


@spec("contract 27.1")
def test_an_override_that_has_ended_has_no_on_limit() -> None:
    ids = limited(2, concurrency=1)
    limits.override("k", LimitPolicy(concurrency=1, on_limit="drop"), queries.now(), OF_DEFAULT)
    assert fetched() == ids[:1]

    assert fetched() == []

    assert_state(State.AVAILABLE, ids[1])


def test_the_limit_of_a_type_may_reschedule_its_jobs() -> None:
    policy = LimitPolicy(concurrency=1, on_limit="reschedule")
    limits.override("type:mail.send", policy, None, SYSTEM)
    ids = stored_ids(2, type="mail.send")
    assert fetched(1) == ids[:1]

    assert fetched(1) == []

    assert_state(State.SCHEDULED, ids[1])
    assert_store_is_sound()


@spec("contract 27.3")
def test_a_key_nobody_used_may_be_overridden_before_its_jobs_come() -> None:
    limits.override("k", LimitPolicy(concurrency=1), None, OF_DEFAULT)

    ids = limited(2, concurrency=5)

    assert fetched() == ids[:1]


@spec("contract 27.3")
def test_state_counts_what_is_active_waits_and_started() -> None:
    ids = limited(5, concurrency=4, rate={"limit": 3, "period": "PT1M"})
    assert fetched() == ids[:3]
    ack([Ack(ids[0])])

    now = limits.state("k", None)

    assert (now.active, now.waiting, now.started) == (2, 2, 3)
    assert now.window_resets_at is not None
    assert [one.key for one in limits.states(None, limit=5, offset=0)[0]] == ["k"]


@spec("contract 10.5")
def test_a_job_without_key_limits_its_queue_and_the_latest_wins() -> None:
    ids = stored_ids(3, rate_limit={"limit": 1, "period": "PT1H"})

    assert fetched() == ids[:1]
    assert fetched() == []
    assert limits.state("queue:default", None).waiting == 2

    stored_ids(1, rate_limit={"limit": 3, "period": "PT1H"})
    assert fetched() == ids[1:3]


@pytest.mark.parametrize("on_limit", ["drop", "reschedule"])
@spec("contract 27.2")
def test_jobs_over_the_limit_of_a_queue_can_only_wait(on_limit: str) -> None:
    configure("default", {"concurrency": 4})

    with pytest.raises(InvalidRequest) as caught:
        limits.override(
            "queue:default", LimitPolicy(concurrency=1, on_limit=on_limit), None, SYSTEM
        )

    assert caught.value.details["field"] == "on_limit"
    assert limits.state("queue:default", None).override is None


@spec("contract 10.4")
def test_concurrency_of_a_queue_counts_jobs_that_were_active_before() -> None:
    ids = stored_ids(5)
    assert fetched(3) == ids[:3]

    configure("default", {"concurrency": 4})

    assert fetched() == ids[3:4]
    ack([Ack(ids[0])])
    assert fetched() == ids[4:]
    assert_store_is_sound()


def test_a_queue_at_its_limit_does_not_hold_back_the_next() -> None:
    configure("a", {"concurrency": 0})
    stored_ids(1, queue="a")
    free = stored_ids(1, queue="b")

    assert [job.id for job in fetch(FetchRequest(("a", "b"), count=5)).jobs] == free


def test_a_limit_of_a_type_counts_for_jobs_of_all_queues_enqueued_from_then_on() -> None:
    before = stored_ids(1, type="mail.send")
    limits.override("type:mail.send", LimitPolicy(concurrency=1), None, SYSTEM)
    first = stored_ids(2, queue="a", type="mail.send")
    second = stored_ids(1, queue="b", type="mail.send", rate_limit={"key": "k", "concurrency": 9})
    other = stored_ids(1, queue="a", type="mail.other")

    assert fetched() == before
    assert {*fetched(queue="a")} == {first[0], *other}
    assert fetched(queue="b") == []
    ack([Ack(first[0])])
    assert fetched(queue="b") == second
    assert limits.state("type:mail.send", None).active == 1


def test_heal_opens_a_lane_that_is_blocked_for_no_reason() -> None:
    ids = limited(2, concurrency=5)
    Lane.objects.update(blocked_by=Limit.objects.get().id)
    assert fetched() == []

    assert heal() == 1
    assert fetched() == ids


def test_jobs_that_name_no_limit_leave_no_trace_of_one() -> None:
    stored_ids(3)
    fetched()

    assert not Hold.objects.exists()
    assert not Start.objects.exists()
