"""Adoption of jobs of a lost region, and its return. Spec: federation 5.1, 7.2; contract 23.6."""

from collections.abc import Callable
from functools import partial
from typing import Any

import orjson
import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import override_settings

from federation.domain.meta import (
    ADOPTED_FROM,
    ADOPTED_JOB,
    FAILOVER_REASON,
    FEDERATION_ID,
    REGION,
)
from federation.domain.replica import Adoption, Replica
from federation.models import FederatedJob
from federation.services.replication.adopt import Order, adopt
from federation.services.replication.close_adoptions import close_adoptions
from federation.services.replication.replication import required
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import Conflict, InvalidRequest, OJSError
from jobs.domain.job import Job
from jobs.domain.record.events import Kind
from jobs.domain.states import State, state_of
from jobs.domain.wire.ids import new_id
from jobs.models import Audit, Event
from jobs.models import Job as Row
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes.queue_config import configure
from jobs.services.read.show import show
from tests.asserts import assert_store_is_sound, state
from tests.concurrency import at_once
from tests.factories import FAR, JobFactory
from tests.federation.replication.lost import federate, lost, set_status
from tests.federation.replication.rig import (
    AP,
    EU,
    LOCAL,
    capture,
    federated,
    later,
    replica,
    replicate,
    send,
)
from tests.jobs.api.conftest import new_key, with_keys
from tests.spec import spec

__all__ = ["new_key", "with_keys"]
pytestmark = pytest.mark.usefixtures("store")

OTHER = "01912e4a-7b3c-7def-8a12-abcdef123456"


def local(federation_id: str) -> list[Job]:
    """Return the jobs of this region with a federation id."""
    found = Row.objects.filter(**{"meta__ojs.federation.federation_id": federation_id})
    return [show(str(one)) for one in found.values_list("id", flat=True)]


@spec("FED-5.1-a")
def test_waiting_jobs_of_a_region_that_is_gone_are_enqueued_here() -> None:
    federate(mode="full")
    one = lost(args=[{"a": [1]}], queue="mail", priority=5, tenant="acme", meta={"own": "kept"})

    report = adopt(Order(EU))

    (job,) = local(one.federation_id)
    assert (report.adopted, report.known, report.refused, report.next) == (1, 0, 0, None)
    assert (job.type, job.queue, job.priority, job.tenant) == ("tests.noop", "mail", 5, "acme")
    assert orjson.loads(job.args) == [{"a": [1]}]
    meta = orjson.loads(job.meta)
    assert meta["own"] == "kept"
    assert (meta[ADOPTED_FROM], meta[ADOPTED_JOB]) == (EU, one.job_id)
    assert meta[FAILOVER_REASON] == "adopted"
    attributes = orjson.loads(job.attributes)
    assert (attributes["tags"], job.max_attempts, job.timeout_ms) == (["t"], 7, 9_000)
    assert fetch(FetchRequest(("mail",))).jobs[0].id == job.id
    assert_store_is_sound()


@pytest.mark.parametrize("waits", ["available", "scheduled", "retryable", "pending"])
@spec("federation 6")
def test_failover_whatever_waits_is_adopted_as_it_waits(waits: str) -> None:
    federate(mode="full")
    ways: dict[str, dict[str, Any]] = {
        "scheduled": {"scheduled_at": FAR}, "retryable": {"scheduled_at": FAR},
        "pending": {"pending": True},
    }  # fmt: skip
    one = lost(state=waits, envelope=ways.get(waits, {}))

    adopt(Order(EU))

    expected = {"retryable": "scheduled"}.get(waits, waits)
    assert [str(state_of(job.state)) for job in local(one.federation_id)] == [expected]


@pytest.mark.parametrize("ended", ["active", "completed", "cancelled", "discarded"])
@spec("federation 6")
def test_failover_what_runs_or_has_ended_is_not_adopted(ended: str) -> None:
    federate(mode="full")
    completed_at = None if ended == "active" else later(5)
    replicate(replica(state=ended, completed_at=completed_at))

    assert adopt(Order(EU)).looked == 0


@spec("FED-7.2-a")
def test_pinned_jobs_are_never_adopted() -> None:
    federate(mode="full")
    pinned = lost(bound_to="region", meta={REGION: EU})
    followed = replica(bound_to="extension")
    bare = replica()
    free = lost()
    replicate(followed, bare)

    report = adopt(Order(EU, force=True))

    assert (report.adopted, dict(report.kept)) == (
        1, {"pinned": 1, "followed": 1, "without_payload": 1},
    )  # fmt: skip
    assert [local(one.federation_id) != [] for one in (pinned, followed, bare, free)] == [
        False, False, False, True,
    ]  # fmt: skip


@spec("FED-7.2-a")
def test_pin_in_meta_alone_is_enough_to_keep_a_job() -> None:
    federate(mode="full")
    one = lost(meta={REGION: EU})

    report = adopt(Order(EU))

    assert (report.adopted, report.kept["pinned"]) == (0, 1)
    assert local(one.federation_id) == []


@spec("federation 6")
def test_failover_adopting_again_adopts_nothing() -> None:
    federate(mode="full")
    one = lost()

    assert adopt(Order(EU)).adopted == 1
    assert adopt(Order(EU)).looked == 0
    FederatedJob.objects.update(adopted_as=None)  # as if the note of the adoption had been lost
    again = adopt(Order(EU))

    assert (again.adopted, again.known) == (0, 1)
    assert len(local(one.federation_id)) == 1


@override_settings(OJS_FEDERATION={**settings.OJS_FEDERATION, "DEDUPE": "off"})
@spec("federation 6")
def test_failover_makes_no_second_job_though_repeats_are_not_told_apart() -> None:
    federate(mode="full")
    one = lost()
    adopt(Order(EU))
    FederatedJob.objects.update(adopted_as=None)

    assert adopt(Order(EU)).known == 1
    assert len(local(one.federation_id)) == 1


@spec("federation 6")
def test_failover_many_who_adopt_at_once_make_one_job_each() -> None:
    federate(mode="full")
    ids = [lost().federation_id for _ in range(20)]
    ids += [lost(federation_id=ids[0], job_id=new_id(), enqueued_at=later(-5)).federation_id]

    reports = at_once([partial(adopt, Order(EU)) for _ in range(4)])

    assert sum(one.adopted for one in reports) == 20
    assert {one: len(local(one)) for one in ids} == dict.fromkeys(ids, 1)
    assert_store_is_sound()


@spec("federation 6")
def test_failover_goes_in_steps_and_by_queue() -> None:
    federate(mode="full")
    for n in range(5):
        lost(queue=f"q{n % 2}")

    first = adopt(Order(EU, queue="q0", limit=2))
    rest = adopt(Order(EU, queue="q0", limit=2, after=first.next))

    assert (first.adopted, first.next is not None) == (2, True)
    assert (rest.adopted, rest.next) == (1, None)
    assert {job.queue for job in Row.objects.all()} == {"q0"}


@spec("federation 6")
def test_failover_dry_run_counts_and_enqueues_nothing() -> None:
    federate(mode="full")
    lost()
    replicate(replica())

    report = adopt(Order(EU, dry_run=True))

    assert (report.adopted, dict(report.kept)) == (1, {"without_payload": 1})
    assert Row.objects.count() == 0
    assert adopt(Order(EU)).adopted == 1


@spec("federation 6")
def test_failover_job_that_is_refused_here_is_told_and_may_be_adopted_later() -> None:
    federate(mode="full")
    configure("full", {"backpressure": {"max_depth": 1, "strategy": "reject"}})
    for _ in range(2):
        lost(queue="full")
    lost(args=[1], queue="default", envelope={"retry": {"max_attempts": -5}})

    report = adopt(Order(EU))

    assert (report.adopted, report.refused, len(report.refusals)) == (1, 2, 2)
    codes = {one["code"] for one in report.refusals}
    assert codes == {"queue_full", "invalid_retry_policy"} or len(codes) == 2
    fetch(FetchRequest(("full",)))
    assert adopt(Order(EU)).adopted == 1


@spec("federation 6")
def test_failover_copy_that_lost_is_not_adopted() -> None:
    federate(mode="full")
    one = lost()
    replicate(replica(federation_id=one.federation_id, origin_region=AP, enqueued_at=later(5)))

    assert dict(adopt(Order(EU)).kept) == {"superseded": 1}


@pytest.mark.parametrize("status", ["healthy", "unknown"])
@spec("federation 6")
def test_failover_region_not_known_to_be_down_is_refused_unless_forced(status: str) -> None:
    federate(mode="full")
    lost()
    set_status(EU, status)

    with pytest.raises(Conflict, match="run twice"):
        adopt(Order(EU))

    assert adopt(Order(EU, force=True)).adopted == 1


@spec("federation 6")
def test_failover_only_another_region_that_is_known_is_adopted_from() -> None:
    federate(mode="full")
    for region, kind in ((LOCAL, InvalidRequest), ("mars", OJSError)):
        with pytest.raises(kind):
            adopt(Order(region))


# --- the edges ------------------------------------------------------------------------------------

Key = Callable[..., dict[str, str]]


def ask(body: object = None, region: str = EU, **headers: str) -> Any:
    """Adopt over HTTP."""
    return send("POST", f"/admin/federation/regions/{region}/adopt", body, **headers)


@spec("federation 6")
def test_failover_operator_adopts_over_http_and_is_audited() -> None:
    federate(mode="full")
    lost()
    replicate(replica(bound_to="region"))

    answer = ask({"reason": "eu burns"})

    assert answer.status_code == 200, answer.content
    assert answer.json() == {
        "region": EU, "dry_run": False, "adopted": 1, "known": 0,
        "kept": {"pinned": 1, "followed": 0, "without_payload": 0, "superseded": 0},
        "refused": 0, "refusals": [], "next": None,
    }  # fmt: skip
    entry = Audit.objects.get(action="federation.jobs_adopted")
    assert (entry.target, entry.reason, entry.data["adopted"]) == (EU, "eu burns", 1)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 10_001}, "limit"),
        ({"limit": True}, "limit"),
        ({"queue": 5}, "queue"),
        ({"queue": "_"}, "queue"),
        ({"after": "x"}, "after"),
        ({"dry_run": 1}, "dry_run"),
        ({"force": "yes"}, "force"),
        ({"reason": 5}, "reason"),
        ({"all": True}, "all"),
    ],
)
@spec("federation 6")
def test_failover_order_is_checked(body: dict[str, Any], field: str) -> None:
    federate(mode="full")

    answer = ask(body)

    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (400, field)


@spec("federation 6")
def test_failover_takes_an_operator_of_all_tenants(new_key: Key) -> None:
    federate(mode="full")

    assert ask().status_code == 401
    assert ask(**new_key("ojs:federation:write")).status_code == 403
    assert ask(**new_key("ojs:admin:write", tenant="a")).status_code == 403
    assert ask(**new_key("ojs:admin:write")).status_code == 200
    assert ask(region="mars", **new_key("ojs:admin:write")).status_code == 422


@spec("federation 6")
def test_failover_command_adopts_all_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    federate(mode="full")
    for _ in range(5):
        lost()

    call_command("adopt_jobs", EU, "--dry-run")
    call_command("adopt_jobs", EU, "--slice", "2")

    assert "would adopt 5" in capsys.readouterr().out
    assert Row.objects.count() == 5


# --- the region returns ---------------------------------------------------------------------------


def adoption_of(job: Job, region: str = AP, **members: Any) -> Replica:
    """Receive the revision by which another region adopted a job of this region."""
    federation_id = orjson.loads(job.meta)[FEDERATION_ID]
    one = replica(
        **{"origin_region": region, "federation_id": federation_id, "tenant": job.tenant,
           "adopts": Adoption(LOCAL, job.id), **members}
    )  # fmt: skip
    replicate(one)
    return one


def adoption_events() -> list[tuple[str | None, Any]]:
    """Return job and outcome of each event about a job of this region that was adopted."""
    found = Event.objects.filter(kind=Kind.FEDERATION_CONFLICT, job_id__isnull=False)
    return [(str(one.job_id), (one.data or {}).get("outcome")) for one in found]


@pytest.mark.parametrize(
    "waits", [State.AVAILABLE, State.SCHEDULED, State.RETRYABLE, State.PENDING]
)
@spec("federation 6")
def test_failover_what_still_waits_when_a_region_returns_is_cancelled(waits: State) -> None:
    federate()
    job = JobFactory.create(meta={FEDERATION_ID: new_id()}, state=waits)
    adoption_of(job)

    assert close_adoptions(required()) == 1

    assert state(job.id) is State.CANCELLED
    assert adoption_events() == [(job.id, "cancelled")]
    assert close_adoptions(required()) == 0
    assert_store_is_sound()


@pytest.mark.parametrize("has", [State.ACTIVE, State.COMPLETED, State.DISCARDED])
@spec("federation 6")
def test_failover_what_ran_when_a_region_returns_is_left_alone_and_told(has: State) -> None:
    federate()
    job = JobFactory.create(meta={FEDERATION_ID: new_id()}, state=has)
    adoption_of(job)

    close_adoptions(required())

    assert state(job.id) is has
    assert adoption_events() == [(job.id, "ran")]


@pytest.mark.parametrize("change", [{"tenant": "mallory"}, {"federation_id": OTHER}])
@spec("federation 6")
def test_failover_nobody_ends_jobs_of_another_tenant_or_id(change: dict[str, Any]) -> None:
    federate()
    job = federated()
    adoption_of(job, **change)

    assert close_adoptions(required()) == 1

    assert state(job.id) is State.AVAILABLE
    assert adoption_events() == []


@spec("federation 6")
def test_failover_of_two_regions_that_adopted_the_same_job_the_later_copy_stays() -> None:
    federate(mode="full")
    jobs = [lost() for _ in range(2)]
    adopt(Order(EU))
    ours = [local(one.federation_id)[0] for one in jobs]
    for one, job, ms in zip(jobs, ours, (-5, 5), strict=True):
        at = job.created_at.timestamp() * 1000 + ms
        replicate(
            replica(
                origin_region=AP, federation_id=one.federation_id,
                adopts=Adoption(EU, one.job_id),
                enqueued_at=later(at - later(0).timestamp() * 1000),
            )
        )  # fmt: skip

    assert close_adoptions(required()) == 2

    assert [state(job.id) for job in ours] == [State.AVAILABLE, State.CANCELLED]


@spec("federation 6")
def test_failover_adopted_copy_wins_over_what_it_stands_for_however_clocks_go() -> None:
    federate(mode="full")
    ahead = later(10**11)  # the clock of eu is years ahead
    one = lost(enqueued_at=ahead)
    adopt(Order(EU))

    capture()

    won = FederatedJob.objects.get(federation_id=one.federation_id, winner=True)
    assert (won.origin_region, won.adopts_region, str(won.adopts_job)) == (LOCAL, EU, one.job_id)
    assert (won.enqueued_at - ahead).total_seconds() == 0.001


@spec("federation 6")
def test_failover_adopted_job_is_told_on_and_names_what_it_stands_for() -> None:
    federate(mode="full")
    one = lost()
    adopt(Order(EU))
    capture()

    found = send("GET", f"/federation/jobs/{one.federation_id}").json()

    assert found["winner"]["origin_region"] == LOCAL
    assert found["winner"]["adopts"] == {"region": EU, "job_id": one.job_id}
    assert [copy["winner"] for copy in found["copies"]] == [True, False]
