"""Revisions that arrive from other regions. Spec: federation 5, 6.3; contract 23.5, 23.6."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import permutations
from typing import Any

import orjson
import pytest
from django.test import Client

from federation.domain.meta import FEDERATION_ID, REPLICATED_FROM
from federation.domain.replica import Adoption, Replica
from federation.models import FederatedJob, ReplicationPeer
from federation.services.replication.copies_age import delete_expired_copies
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.record.events import Kind
from jobs.domain.wire.ids import new_id
from jobs.domain.wire.times import format_time
from jobs.models import Event
from jobs.models import Job as Row
from jobs.services.dispatch.fetch import fetch
from tests.concurrency import at_once
from tests.federation.replication.rig import (
    AP,
    EU,
    LOCAL,
    NOON,
    capture,
    counts,
    encoded,
    federate,
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


def shown(federation_id: str, **headers: str) -> Any:
    """Return the answer about a federated job."""
    answer = send("GET", f"/federation/jobs/{federation_id}", **headers)
    assert answer.status_code == 200, answer.content
    return answer.json()


def conflicts() -> list[dict[str, Any]]:
    """Return the data of all events of conflicts."""
    found = Event.objects.filter(kind=Kind.FEDERATION_CONFLICT).order_by("stamp", "seq")
    return [data or {} for data in found.values_list("data", flat=True)]


@spec("FED-5.1-a")
def test_copy_says_where_it_comes_from() -> None:
    federate()
    one = replica(queue="mail", state="completed", completed_at=later(5_000), priority=-3)

    assert replicate(one) == counts(accepted=1)

    found = shown(one.federation_id)
    assert found["copies"] == [found["winner"]]
    assert found["winner"] == {
        **encoded(one), "replicated_from": EU, "winner": True, "skewed": False,
        "received_at": found["winner"]["received_at"],
    }  # fmt: skip


@spec("federation 6")
def test_replication_no_copy_is_ever_handed_out() -> None:
    federate()
    replicate(replica(queue="mail"))

    assert fetch(FetchRequest(("mail",))).jobs == []
    assert Row.objects.count() == 0


@spec("federation 6")
def test_replication_batch_that_comes_again_changes_nothing() -> None:
    federate()
    batch = [replica() for _ in range(5)]

    assert replicate(*batch) == counts(accepted=5)
    assert replicate(*batch) == counts(ignored=5)
    assert replicate(*batch, replica()) == counts(accepted=1, ignored=5)
    assert FederatedJob.objects.count() == 6


@spec("federation 6")
def test_replication_higher_revision_of_a_job_wins_in_any_order() -> None:
    federate()
    job: dict[str, Any] = {"federation_id": new_id(), "job_id": new_id()}
    newer = replica(**job, revision=2_000, state="active", enqueued_at=later(-60_000))

    assert replicate(newer) == counts(accepted=1)
    assert replicate(replica(**job, revision=1_999)) == counts(ignored=1)
    assert replicate(replica(**job, revision=2_000, state="completed", completed_at=NOON)) == (
        counts(ignored=1)
    )

    assert shown(job["federation_id"])["winner"]["state"] == "active"


@spec("federation 6")
def test_replication_batch_may_have_several_revisions_of_a_job() -> None:
    federate()
    job: dict[str, Any] = {"federation_id": new_id(), "job_id": new_id()}
    batch = [replica(**job, revision=n, attempt=n % 7) for n in (5, 9, 2)]

    assert replicate(*batch) == counts(accepted=1, ignored=2)

    assert shown(job["federation_id"])["winner"]["revision"] == 9


NOBODY = "01912e4a-7b3c-7def-8a12-abcdef123456"

# --- the last writer wins -------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(permutations(range(3))))
@spec("FED-5.2-a")
def test_later_enqueued_at_wins_whatever_comes_first(order: tuple[int, ...]) -> None:
    federate()
    federation_id = new_id()
    batch = [
        replica(federation_id=federation_id, origin_region=region, enqueued_at=later(ms))
        for region, ms in ((EU, 0), (AP, 1), (EU, -1))
    ]

    for n in order:
        replicate(batch[n])

    found = shown(federation_id)
    assert [one["job_id"] for one in found["copies"]] == [batch[n].job_id for n in (1, 0, 2)]
    assert found["winner"] == found["copies"][0]
    assert [one["winner"] for one in found["copies"]] == [True, False, False]
    assert list(
        FederatedJob.objects.filter(winner=True).values_list("origin_region", flat=True)
    ) == [AP]


@pytest.mark.parametrize("flipped", [False, True])
@spec("FED-5.2-b")
def test_times_are_compared_to_the_millisecond_then_by_region(flipped: bool) -> None:
    federate()
    federation_id = new_id()
    pair = [
        replica(federation_id=federation_id, origin_region=EU, enqueued_at=later(0.1)),
        replica(federation_id=federation_id, origin_region=AP, enqueued_at=later(0.9)),
    ]

    for one in reversed(pair) if flipped else pair:
        replicate(one)

    assert shown(federation_id)["winner"]["origin_region"] == EU


@spec("FED-5.2-a")
def test_job_of_this_region_is_one_of_the_copies() -> None:
    federate()
    job = federated(federation_id := new_id())
    replicate(replica(federation_id=federation_id, enqueued_at=later(0)))

    assert capture() == 2  # the event of the job, and the event of the conflict

    found = shown(federation_id)
    assert found["winner"]["job_id"] == job.id, "it was enqueued after noon of that day"
    assert [one["replicated_from"] for one in found["copies"]] == [None, EU]


@spec("federation 6")
def test_replication_conflict_is_told_once_and_both_jobs_go_on() -> None:
    federate()
    federation_id = new_id()
    one, other = (
        replica(federation_id=federation_id, origin_region=region, enqueued_at=later(ms))
        for region, ms in ((EU, 5), (AP, 3))
    )

    assert replicate(one) == counts(accepted=1)
    assert replicate(other) == counts(accepted=1, conflicts=1)
    assert replicate(other) == counts(ignored=1)

    assert conflicts() == [
        {
            "federation_id": federation_id, "region": AP, "job_id": other.job_id,
            "winner_region": EU, "winner_job_id": one.job_id,
        }
    ]  # fmt: skip
    assert ReplicationPeer.objects.get(region=AP).conflicts == 1


@spec("federation 6")
def test_replication_conflict_with_a_job_of_this_region_is_told_when_it_is_noted() -> None:
    federate()
    federation_id = new_id()
    replicate(replica(federation_id=federation_id))
    job = federated(federation_id)

    capture()

    assert [(one["region"], one["winner_job_id"]) for one in conflicts()] == [(LOCAL, job.id)]
    assert shown(federation_id)["winner"]["job_id"] == job.id
    assert fetch(FetchRequest(("default",))).jobs[0].id == job.id


@spec("federation 6")
def test_replication_winner_changes_when_a_better_copy_comes() -> None:
    federate()
    federation_id = new_id()
    pair = [
        replica(federation_id=federation_id, origin_region=region, enqueued_at=later(ms))
        for region, ms in ((EU, 0), (AP, 10))
    ]
    for one in pair:
        replicate(one)

    wins = dict(FederatedJob.objects.values_list("origin_region", "winner"))

    assert wins == {EU: False, AP: True}


@spec("federation 6")
def test_replication_job_keeps_its_tenant_and_federation_id() -> None:
    federate()
    one = replica(tenant="a")
    replicate(one)
    changes: list[dict[str, Any]] = [{"tenant": "b"}, {"federation_id": new_id()}]

    for change in changes:
        moved = {
            name: getattr(one, name)
            for name in ("federation_id", "job_id", "origin_region", "tenant")
        }
        assert replicate(replica(**{**moved, **change, "revision": 9_999})) == counts(ignored=1)

    assert FederatedJob.objects.get().revision == one.revision


@pytest.mark.parametrize(
    ("enqueued_s", "sent_s", "expected"),
    [(0, 0, False), (59, None, False), (61, None, True), (-9_999, None, False), (0, 61, True),
     (0, -61, True), (0, -50, False)],
)  # fmt: skip
@spec("federation 6")
def test_replication_clocks_that_are_off_are_flagged_and_taken(
    enqueued_s: int, sent_s: int | None, expected: bool
) -> None:
    federate()
    now = datetime.now(UTC)
    one = replica(enqueued_at=now + timedelta(seconds=enqueued_s))
    sent_at = None if sent_s is None else format_time(now + timedelta(seconds=sent_s))

    assert replicate(one, sent_at=sent_at) == counts(accepted=1)

    assert shown(one.federation_id)["winner"]["skewed"] is expected


# --- refusals -------------------------------------------------------------------------------------

LONG = "x" * 300
WRONG: dict[str, list[Any]] = {
    "federation_id": [None, 5, "x", "01912e4a-7b3c-4def-8a12-abcdef123456", [], LONG],
    "origin_region": [None, "", "Eu", 7, LONG, "a b", {}],
    "job_id": [None, "", 1, "x"],
    "type": [None, "", 5, "UPPER", LONG, "a b"],
    "queue": [None, "", "_x", LONG, 5, "a/b"],
    "state": [None, "", "running", 3, ["active"], {}],
    "priority": [None, "high", 101, -101, 1.5, True],
    "attempt": [None, -1, 2**31, "1", False],
    "created_at": [None, "", "yesterday", 5, "2026-05-04T12:00:00", "2026-13-04T12:00:00Z"],
    "enqueued_at": [None, "", "9999-99-99T00:00:00Z", 10**12],
    "completed_at": ["", 5, "2026-05-04T12:00:00Z"],  # the last: the job still waits
    "revision": [None, 0, -1, 2**53 + 1, 1.5, "5", True],
    "tenant_id": [None, "", LONG, 5],
    "bound_to": ["nobody", 5, ["region"]],
    "adopts": [5, {}, {"region": "eu"}, {"region": "eu", "job_id": "x"},
               {"region": "E", "job_id": "01912e4a-7b3c-7def-8a12-abcdef123456"},
               {"region": "eu", "job_id": "01912e4a-7b3c-7def-8a12-abcdef123456", "more": 1}],
    "replicated_from": ["eu", None],
    "winner": [True],
    "args": [[], None, {}],
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, some in WRONG.items() for v in some])
@spec("federation 6")
def test_replication_revision_is_checked_member_by_member(name: str, value: object) -> None:
    federate()
    answer = replicate(replica(), encoded(replica(), **{name: value}), replica(), status=400)

    details = answer["error"]["details"]
    assert details["field"].startswith("jobs[1]")
    assert name in details["field"] or name == "args"
    assert details["index"] == 1
    assert FederatedJob.objects.count() == 0, "all of a batch, or none"


@pytest.mark.parametrize("name", sorted(encoded(replica())))
@spec("federation 6")
def test_replication_no_member_may_be_missing(name: str) -> None:
    federate()
    partial_ = encoded(replica())
    del partial_[name]

    assert replicate(partial_, status=400)["error"]["details"]["field"] == f"jobs[0].{name}"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "jobs"),
        ({"jobs": []}, "jobs"),
        ({"jobs": {}}, "jobs"),
        ({"jobs": [5]}, "jobs[0]"),
        ({"jobs": [None]}, "jobs[0]"),
        ({"jobs": [encoded(replica())], "sent_at": "now"}, "sent_at"),
        ({"jobs": [encoded(replica())], "more": 1}, "more"),
    ],
)
@spec("federation 6")
def test_replication_batch_is_checked(body: dict[str, Any], field: str) -> None:
    federate()

    answer = send("POST", "/federation/replicate", body)

    assert (answer.status_code, answer.json()["error"]["details"]["field"]) == (400, field)


@spec("federation 6")
def test_replication_batch_has_a_bound() -> None:
    federate()

    answer = send("POST", "/federation/replicate", {"jobs": [0] * 10_001})

    assert answer.status_code == 413


FULL = {"args": [1], "meta": {}, "envelope": {}}


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({"args": [1]}, "meta"),
        ({**FULL, "envelope": []}, "envelope"),
        ({**FULL, "meta": {}}, f"meta.{FEDERATION_ID}"),
        ({**FULL, "meta": {FEDERATION_ID: "x"}}, f"meta.{FEDERATION_ID}"),
        ({**FULL, "meta": {REPLICATED_FROM: "eu"}}, f"meta.{FEDERATION_ID}"),
    ],
)
@spec("FED-6.3-e")
def test_payload_is_whole_and_of_this_job(payload: dict[str, Any], field: str) -> None:
    federate()

    answer = replicate(encoded(replica(), **payload), status=400)

    assert answer["error"]["details"]["field"] == f"jobs[0].{field}"


@spec("FED-6.3-e")
def test_payload_of_a_copy_is_refused() -> None:
    federate()
    one = replica()
    meta = {FEDERATION_ID: one.federation_id, REPLICATED_FROM: "ap"}

    answer = replicate(encoded(one, **{**FULL, "meta": meta}), status=400)

    assert answer["error"]["details"]["field"] == f"jobs[0].meta.{REPLICATED_FROM}"


@spec("FED-6.3-e")
def test_what_is_ours_is_not_told_back() -> None:
    federate()
    job = federated()
    capture()
    own = replica(origin_region=LOCAL, job_id=job.id, revision=2**53)

    answer = replicate(replica(origin_region=EU), own, status=400)

    assert answer["error"]["details"]["index"] == 1
    assert FederatedJob.objects.get().origin_region == LOCAL


@spec("federation 6")
def test_replication_batch_is_of_one_region() -> None:
    federate()

    refused = replicate(replica(), replica(origin_region=AP), status=400)

    assert refused["error"]["details"]["field"] == "jobs[1].origin_region"


@spec("federation 6")
def test_replication_region_has_to_be_registered() -> None:
    federate()

    refused = replicate(replica(origin_region="mars"), status=422)

    assert refused["error"]["code"] == "federation_unknown_region"


@pytest.mark.parametrize("is_federated", [True, False])
@spec("FED-5.1-a")
def test_who_does_not_replicate_takes_no_copies(is_federated: bool) -> None:
    if is_federated:
        federate(enabled=False)

    assert replicate(replica(), status=409)["error"]["code"] == "federation_not_configured"


@spec("federation 6")
def test_replication_surrogates_and_nul_are_refused() -> None:
    federate()
    bad = encoded(replica(tenant="T"))
    for text in (b'"a\\u0000b"', b'"\\ud800"'):
        raw = orjson.dumps({"jobs": [bad]}).replace(b'"T"', text)
        answer = Client(raise_request_exception=False).post(
            "/ojs/v1/federation/replicate", raw, "application/json"
        )
        assert answer.status_code == 400


# --- access ---------------------------------------------------------------------------------------

Key = Callable[..., dict[str, Any]]


@spec("FED-7.1-a")
def test_replication_takes_a_key_with_its_scope(new_key: Key) -> None:
    federate()

    replicate(replica(), status=401)
    replicate(replica(), status=403, **new_key("ojs:data:write"))
    replicate(replica(), **new_key("ojs:federation:write"))


@spec("FED-7.1-a")
def test_key_of_a_region_tells_copies_in_its_name_alone(new_key: Key) -> None:
    federate()
    key = new_key("ojs:federation:write", region=EU)

    refused = replicate(replica(origin_region=AP), status=403, **key)["error"]
    mixed = replicate(replica(), replica(origin_region=AP), status=400, **key)["error"]
    replicate(replica(), **key)

    assert refused["code"] == "permission_denied"
    assert refused["details"] == {
        "operation": "act for region 'ap'",
        "field": "jobs[0].origin_region", "region": EU,
    }  # fmt: skip
    assert mixed["details"]["field"] == "jobs[1].origin_region"
    assert set(FederatedJob.objects.values_list("origin_region", flat=True)) == {EU}


@spec("federation 6")
def test_replication_key_of_a_tenant_tells_of_it_alone(new_key: Key) -> None:
    federate()
    key = new_key("ojs:federation:write", tenant="a")

    refused = replicate(replica(tenant="a"), replica(tenant="b"), status=403, **key)
    replicate(replica(tenant="a"), **key)

    assert refused["error"]["details"]["field"] == "jobs[1].tenant_id"


@spec("federation 6")
def test_replication_tenants_see_their_own_copies(new_key: Key) -> None:
    federate()
    federation_id = new_id()
    for tenant, ms in (("a", 0), ("b", 5)):
        replicate(
            replica(federation_id=federation_id, tenant=tenant, enqueued_at=later(ms)),
            **new_key("ojs:federation:write"),
        )

    by_a = shown(federation_id, **new_key("ojs:data:read", tenant="a"))
    by_any = shown(federation_id, **new_key("ojs:data:read"))
    path = f"/federation/jobs/{federation_id}"
    by_c = send("GET", path, **new_key("ojs:data:read", tenant="c"))

    assert [one["tenant_id"] for one in by_a["copies"]] == ["a"]
    assert {one["tenant_id"] for one in by_any["copies"]} == {"a", "b"}
    assert by_c.status_code == 404
    assert FederatedJob.objects.filter(winner=True).count() == 2, "each is one for its tenant"
    assert conflicts() == []


@pytest.mark.parametrize(
    "name", ["x", "01912E4A-7B3C-7DEF-8A12-ABCDEF123456", "01912e4a-7b3c-7def-8a12-abcdef123456"]
)
@spec("federation 6")
def test_replication_unknown_federated_job_is_not_found(name: str) -> None:
    federate()

    assert send("GET", f"/federation/jobs/{name}").status_code == 404


@spec("federation 6")
def test_dedupe_job_is_found_by_its_federation_id_without_replication() -> None:
    federate(enabled=False)
    federation_id = new_id()
    job = send(
        "POST", "/jobs", {"type": "tests.noop", "args": [], "meta": {FEDERATION_ID: federation_id}},
        **{"OJS-Federation-Dedupe": "1"},
    ).json()["job"]  # fmt: skip

    found = shown(federation_id)

    assert (found["winner"]["job_id"], found["winner"]["origin_region"]) == (job["id"], LOCAL)


# --- many at once, long after ---------------------------------------------------------------------


@spec("federation 6")
def test_replication_batches_at_once_leave_one_winner_of_each() -> None:
    federate()
    ids = [new_id() for _ in range(30)]

    def batch(region: str, n: int) -> list[Replica]:
        found = [
            replica(federation_id=one, origin_region=region, enqueued_at=later((n * 7 + k) % 5))
            for k, one in enumerate(ids)
        ]
        return found if n % 2 else list(reversed(found))

    batches = [batch(region, n) for n in range(4) for region in (EU, AP)]
    answers = at_once([partial(replicate, *one) for one in batches])

    assert [one["accepted"] for one in answers] == [30] * 8
    won = FederatedJob.objects.filter(winner=True)
    assert {str(one.federation_id) for one in won} == set(ids)
    assert won.count() == 30
    for one in won:
        best = FederatedJob.objects.filter(federation_id=one.federation_id).order_by(
            "-enqueued_at", "-origin_region", "-job_id"
        )
        assert best[0].pk == one.pk
    assert len(conflicts()) == sum(one["conflicts"] for one in answers) >= 30


@spec("federation 6")
def test_replication_copies_of_ended_jobs_are_forgotten_after_a_week() -> None:
    federate()
    old, young = (
        replica(state="completed", completed_at=ago_s(8 * 86_400 - s)) for s in (0, 2 * 86_400)
    )
    replicate(old, young, replica())

    assert delete_expired_copies() == 1

    assert not FederatedJob.objects.filter(job_id=old.job_id).exists()
    assert FederatedJob.objects.count() == 2


def ago_s(seconds: float) -> datetime:
    """Return a time before now."""
    return datetime.now(UTC) - timedelta(seconds=seconds)


@spec("federation 6")
def test_replication_adoption_is_told() -> None:
    federate()
    one = replica(adopts=Adoption(AP, new_id()))

    replicate(one)

    assert shown(one.federation_id)["winner"]["adopts"] == encoded(one)["adopts"]
