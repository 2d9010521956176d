"""Rules about types: error rates, discarded jobs, run times, canaries."""

from datetime import timedelta

import pytest
from django.db.models import F

from attention.domain.rule import Severity
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.states import State
from jobs.models import Lease, Total
from jobs.queries import now
from jobs.services.dispatch.fetch import fetch
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from tests.attention.incidents import aggregated, an_hour, counted, found, subjects
from tests.factories import JobFactory, error, stored
from tests.versioning.routing import put
from tests.versioning.wire import TYPE, declares
from versioning.models import Outcome, Route

pytestmark = pytest.mark.usefixtures("store")


def attempts(good: int, bad: int, job_type: str = "mail") -> None:
    """End attempts now, some of them with an error."""
    stored(good + bad, type=job_type, queue="q")
    jobs = fetch(FetchRequest(("q",), count=good + bad, worker_id="w")).jobs
    ack([Ack(one.id) for one in jobs[:good]])
    nack([Nack(one.id, error(type="SMTPError")) for one in jobs[good:]])
    aggregated()


# --- error rates ----------------------------------------------------------------------------------


def test_a_type_that_fails_is_found_against_its_past_with_the_error() -> None:
    for hour in range(1, 30):
        an_hour(hour, completed=98, failed=2)
    attempts(good=27, bad=73)

    (one,) = found("error_rate")

    assert (one.hit.subject, one.severity) == ("mail", Severity.CRITICAL)
    assert one.rule.text(one.hit) == "73 % of the attempts of mail fail: 73 of 100."
    assert one.rule.cause(one.hit).startswith("Usually 2 % fail.")
    assert "SMTPError" in one.rule.cause(one.hit)
    assert (one.hit.jobs, one.hit.tenants) == (73, 1)


def test_a_type_that_always_fails_like_that_is_calm() -> None:
    for hour in range(1, 30):
        an_hour(hour, completed=60, failed=40)
    attempts(good=50, bad=50)

    assert found("error_rate") == []


def test_a_type_without_a_past_is_found_only_if_most_attempts_fail() -> None:
    attempts(good=60, bad=40)
    assert found("error_rate") == []

    attempts(good=0, bad=60)

    (one,) = found("error_rate")
    assert one.hit.facts["past_percent"] is None


def test_an_hour_of_the_same_incident_is_no_past() -> None:
    an_hour(1, completed=27, failed=73)
    attempts(good=27, bad=73)

    (one,) = found("error_rate")

    assert one.hit.facts["past_percent"] is None


def test_a_short_past_is_compared_with_nevertheless() -> None:
    an_hour(1, completed=98, failed=2)
    attempts(good=80, bad=20)

    (one,) = found("error_rate")

    assert one.hit.facts["past_percent"] == 2


def test_few_failures_are_calm() -> None:
    for hour in range(1, 30):
        an_hour(hour, completed=100, failed=0)
    attempts(good=1, bad=5)
    counted(0, job_type="big", completed=1_000, failed=50)

    assert found("error_rate") == []


def test_an_error_rate_is_high_since_the_first_minute_of_the_spike() -> None:
    for hour in range(1, 30):
        an_hour(hour, completed=100)
    for minute in range(41, 60):
        counted(minute, completed=10)
    since = counted(40, completed=2, failed=8)
    for minute in range(40):
        counted(minute, completed=2, failed=8)

    (one,) = found("error_rate")

    assert (one.hit.since, one.hit.jobs) == (since, 41 * 8)


# --- discarded jobs -------------------------------------------------------------------------------


def test_discarded_jobs_are_found_if_they_exceed_busy_hours() -> None:
    for hour in range(1, 100):
        an_hour(hour, discarded=9)
    since = counted(3, discarded=20)
    counted(1, discarded=30)
    counted(50, discarded=1)

    (one,) = found("dead_letters")

    assert (one.hit.subject, one.hit.jobs, one.hit.since) == ("mail", 51, since)
    assert one.severity is Severity.WARNING
    link = one.rule.remedies(one.hit)[0]
    assert dict(link.query) == {"verb": "retry", "type": "mail", "state": "discarded"}


def test_discarded_jobs_are_found_with_their_error() -> None:
    for _ in range(20):
        JobFactory.create(type="mail", state=State.DISCARDED)
    aggregated()

    (one,) = found("dead_letters")

    assert "hardly any" in one.rule.cause(one.hit)


def test_discarded_jobs_are_calm_in_a_busy_hour_or_if_they_are_few() -> None:
    for hour in range(1, 100):
        an_hour(hour, job_type="busy", discarded=30)
    counted(5, job_type="busy", discarded=60)
    counted(5, job_type="rare", discarded=19)

    assert found("dead_letters") == []


# --- run times ------------------------------------------------------------------------------------


def running(minutes: float) -> None:
    """Let a job of a type that usually takes a second have run for some minutes."""
    stored(1, type="mail", queue="q")
    fetch(FetchRequest(("q",), worker_id="w"))
    Lease.objects.update(started_at=F("started_at") - timedelta(minutes=minutes))
    Total.objects.create(queue="q", type="mail", tenant="", completed=100, run_ms=100_000)


def test_a_job_is_slow_beyond_ten_times_the_usual_time_and_a_minute() -> None:
    running(minutes=5)

    (one,) = found("job_slow")

    lease = Lease.objects.get()
    assert (one.hit.subject, one.hit.jobs) == ("mail", 1)
    assert one.hit.since == lease.started_at + timedelta(seconds=60)
    assert one.hit.facts["job"] == str(lease.id)
    assert "usually take 1 s" in one.rule.cause(one.hit)


def test_a_job_is_calm_within_its_usual_time_or_without_one() -> None:
    running(minutes=0.9)
    assert found("job_slow") == []
    Lease.objects.update(started_at=F("started_at") - timedelta(minutes=5))
    Total.objects.update(run_ms=100 * 120_000)

    assert found("job_slow") == []
    Total.objects.update(completed=3, run_ms=3)
    assert found("job_slow") == []


# --- canaries -------------------------------------------------------------------------------------


def outcomes(version: int, acked: int, failed: int) -> None:
    """Store the outcomes of a version's attempts of this minute."""
    route, _ = Route.objects.get_or_create(type=TYPE, to_major=version, to_minor=0)
    Outcome.objects.create(route=route.id, acked=acked, failed=failed, at=now())


def test_a_canary_that_fails_more_often_is_found_with_its_rollback() -> None:
    put([{"version": "2.0", "weight": 10}, {"version": "1.0", "weight": 90}])
    declares("w", ">=1.0")
    outcomes(2, acked=60, failed=40)
    outcomes(1, acked=495, failed=5)

    (one,) = found("canary_worse")

    assert (one.hit.subject, one.hit.jobs) == (TYPE, 40)
    assert one.rule.text(one.hit) == (
        f"Version 2.0 of {TYPE} fails more often than 1.0: 40.0 % against 1.0 %."
    )
    rollback = one.rule.remedies(one.hit)[0]
    assert (rollback.action, rollback.target) == ("routing-rollback", TYPE)
    assert rollback.revision


def test_a_canary_is_calm_if_both_fail_alike_or_by_chance() -> None:
    put([{"version": "2.0", "weight": 10}, {"version": "1.0", "weight": 90}])
    outcomes(2, acked=60, failed=40)
    outcomes(1, acked=300, failed=200)
    assert found("canary_worse") == []

    Outcome.objects.all().delete()
    outcomes(2, acked=19, failed=2)
    outcomes(1, acked=29, failed=1)
    assert subjects("canary_worse") == []
