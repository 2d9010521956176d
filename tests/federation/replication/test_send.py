"""The revisions that peers receive, and their time. Spec: federation 5.1, 6.3; contract 23.6."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from django.test import Client

from federation.domain.meta import FEDERATION_ID
from federation.domain.reasons import Reason
from federation.models import FederatedJob, Region, RegionHealth, ReplicationPeer
from federation.services.registry import regions
from federation.services.registry.configure import put_configuration, put_region
from federation.services.replication import lag
from federation.services.replication.replicate import Replicator
from jobs.domain.states import State
from jobs.domain.wire.ids import new_id
from jobs.models import Event
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from tests.concurrency import until, wait_until_complete
from tests.factories import JobFactory
from tests.federation.replication import rig
from tests.federation.replication.peer import Answer, Peer, listening, takes
from tests.federation.replication.rig import AP, EU, LOCAL, federate, federated, replica, replicate
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

Refusal = dict[str, Any]


@pytest.fixture
def peers() -> Iterator[list[Peer]]:
    """Run two peers in a federation that replicates."""
    federate()
    with listening(EU, AP) as found:
        for one in found:
            put_region(one.region)
        yield found


def run(replicator: Replicator) -> int:
    """Send all revisions to the peers, and wait for the calls in progress."""
    wait_until_complete()
    total = 0
    for _ in range(100):
        if not (done := replicator.run_once()):
            return total
        total += done
    raise AssertionError("it does not come to an end")


def refusal(status: int, **details: Any) -> Answer:
    """Return an error in the form in which servers answer."""
    return status, {"error": {"code": "invalid_request", "message": "no", "details": details}}


@spec("FED-5.1-a")
def test_each_peer_is_told_each_change(peers: list[Peer]) -> None:
    replicator = Replicator()
    job = JobFactory.create(meta={FEDERATION_ID: new_id()}, state=State.ACTIVE, queue="mail")
    run(replicator)
    ack([Ack(job.id)])
    run(replicator)

    for peer in peers:
        assert [one["state"] for one in peer.jobs] == ["active", "completed"]
        assert {one["job_id"] for one in peer.jobs} == {job.id}
        assert {one["origin_region"] for one in peer.jobs} == {LOCAL}
        assert all("replicated_from" not in one for one in peer.jobs)
        datetime.fromisoformat(peer.batches[0]["sent_at"])


@spec("federation 6")
def test_replication_what_is_sent_is_what_is_taken(peers: list[Peer]) -> None:
    for n in range(3):
        federated(priority=n, args=[n])
    run(Replicator())
    sent = [{**one, "origin_region": EU} for one in peers[0].jobs]

    assert replicate(*sent)["accepted"] == 3


@spec("federation 6")
def test_replication_full_payloads_are_taken_as_they_are_sent(peers: list[Peer]) -> None:
    federate(mode="full")
    for one in peers:
        put_region(one.region)
    federated(args=[{"n": 10**25, "text": "\U0001f600"}], tags=["x"])

    run(Replicator())
    sent = [{**one, "origin_region": EU} for one in peers[0].jobs]

    assert sent[0]["args"] == [{"n": 1e25, "text": "\U0001f600"}]
    assert replicate(*sent)["accepted"] == 1


@spec("FED-6.3-e")
def test_copies_are_told_to_nobody(peers: list[Peer]) -> None:
    replicate(replica(), replica())

    run(Replicator())

    assert [one.jobs for one in peers] == [[], []]


@spec("federation 6")
def test_replication_goes_in_batches_and_goes_on_where_it_was(peers: list[Peer]) -> None:
    put_configuration({"replication": {"enabled": True, "batch": 4}})
    for _ in range(10):
        federated()

    run(Replicator())

    for peer in peers:
        assert [len(one["jobs"]) for one in peer.batches] == [4, 4, 2]
        revisions = [one["revision"] for one in peer.jobs]
        assert revisions == sorted(set(revisions))
        row = ReplicationPeer.objects.get(region=peer.region.id)
        assert (row.cursor, row.sent, row.last_error) == (revisions[-1], 10, None)


@spec("federation 6")
def test_replication_another_process_goes_on_from_the_cursor(peers: list[Peer]) -> None:
    first = federated()
    run(Replicator())
    second = federated()

    run(Replicator())

    assert [one["job_id"] for one in peers[0].jobs] == [first.id, second.id]


@spec("federation 6")
def test_replication_batch_whose_answer_is_lost_is_sent_again(peers: list[Peer]) -> None:
    peer = peers[0]
    job = federated()
    peer.may_answer.clear()
    lost = Replicator()
    wait_until_complete()
    lost.run_once()
    until(lambda: bool(peer.batches))

    peer.may_answer.set()  # but the process that sent it is gone
    run(Replicator())

    assert [one["job_id"] for one in peer.jobs] == [job.id, job.id]
    assert peer.jobs[0] == peer.jobs[1]


@spec("federation 6")
def test_replication_peer_that_is_slow_holds_up_no_other(peers: list[Peer]) -> None:
    slow, quick = peers
    slow.may_answer.clear()
    replicator = Replicator()
    wait_until_complete()
    federated()
    run(replicator)
    federated()

    run(replicator)
    slow.may_answer.set()

    assert (len(quick.jobs), len(slow.batches)) == (2, 1)
    until(lambda: run(replicator) >= 0 and len(slow.jobs) == 2)


@spec("federation 6")
def test_replication_peer_that_fails_is_left_alone_for_a_while(peers: list[Peer]) -> None:
    peers[0].script = lambda body: refusal(503)
    replicator = Replicator()
    federated()

    run(replicator)
    run(replicator)

    row = ReplicationPeer.objects.get(region=EU)
    assert (len(peers[0].batches), row.failures, row.cursor) == (1, 1, 0)
    assert "503" in (row.last_error or "")
    assert len(peers[1].jobs) == 1

    peers[0].script = takes
    replicator.cache_clear()
    run(replicator)
    row.refresh_from_db()
    assert (len(peers[0].batches), row.failures, row.last_error) == (2, 0, None)


@pytest.mark.parametrize("status", [401, 403, 404, 422, 429, 500])
@spec("federation 6")
def test_replication_nothing_is_passed_over_that_is_not_refused_itself(
    peers: list[Peer], status: int
) -> None:
    peers[0].script = lambda body: refusal(status)
    federated()

    run(Replicator())

    row = ReplicationPeer.objects.get(region=EU)
    assert (row.cursor, row.refused, row.failures) == (0, 0, 1)


@spec("federation 6")
def test_replication_revision_that_a_peer_refuses_holds_up_no_other(
    peers: list[Peer],
) -> None:
    jobs = [federated() for _ in range(5)]

    def picky(body: dict[str, Any]) -> Answer:
        ids = [one["job_id"] for one in body["jobs"]]
        return refusal(400, index=ids.index(jobs[3].id)) if jobs[3].id in ids else takes(body)

    peers[0].script = picky
    run(Replicator())

    row = ReplicationPeer.objects.get(region=EU)
    assert (row.sent, row.refused) == (4, 1)
    taken = [one for batch in peers[0].batches for one in batch["jobs"]]
    assert taken[-1]["job_id"] == jobs[4].id
    assert lag.lags_ms()[EU] == 0


@spec("federation 6")
def test_replication_batch_that_is_too_large_is_sent_in_parts(peers: list[Peer]) -> None:
    for _ in range(8):
        federated()
    peers[0].script = lambda body: refusal(413) if len(body["jobs"]) > 3 else takes(body)

    run(Replicator())

    assert ReplicationPeer.objects.get(region=EU).sent == 8
    assert max(len(one["jobs"]) for one in peers[0].batches[2:]) <= 4


@spec("FED-4.3-d")
def test_nothing_is_sent_to_a_region_whose_breaker_is_open(peers: list[Peer]) -> None:
    RegionHealth.objects.filter(region=EU).update(
        breaker="open", opened_at=Event._meta.get_field("at").db_default, is_forced=True
    )
    regions.clear()
    federated()

    run(Replicator())

    assert (len(peers[0].batches), len(peers[1].batches)) == (0, 1)


@spec("federation 6")
def test_replication_region_that_is_disabled_is_told_nothing(peers: list[Peer]) -> None:
    put_region(type(peers[0].region)(EU, peers[0].region.url, allow_insecure=True, enabled=False))
    federated()

    run(Replicator())

    assert (len(peers[0].batches), len(peers[1].batches)) == (0, 1)


@spec("FED-7.1-a")
def test_peer_whose_secret_is_gone_is_told_of_not_contacted(peers: list[Peer]) -> None:
    Region.objects.filter(id=EU).update(auth_kind="bearer", token_ref=None)
    federated()

    run(Replicator())

    assert len(peers[0].batches) == 0
    assert ReplicationPeer.objects.get(region=EU).last_error == Reason.NOT_SET


@spec("federation 7")
def test_a_peer_at_an_address_that_is_not_allowed_is_not_contacted(
    peers: list[Peer], settings: Any
) -> None:
    federated()
    settings.OJS_FEDERATION = {"LOCAL_REGION": LOCAL}
    regions.clear()

    run(Replicator())

    assert [len(one.batches) for one in peers] == [0, 0]
    assert ReplicationPeer.objects.get(region=EU).last_error == Reason.NOT_ALLOWED


def test_what_a_peer_answers_is_told_nowhere(peers: list[Peer]) -> None:
    said = {"error": {"code": "internal-banner", "message": "internal-banner"}}
    for peer in peers:
        peer.script = lambda _body: (409, said)
    federated()

    run(Replicator())

    assert ReplicationPeer.objects.get(region=EU).last_error == "HTTP 409"
    assert "internal-banner" not in repr(list(ReplicationPeer.objects.values()))


# --- how far behind -------------------------------------------------------------------------------


@spec("federation 8")
def test_lag_is_the_age_of_what_a_peer_does_not_have(peers: list[Peer]) -> None:
    run(Replicator())
    assert dict(lag.lags_ms()) == {AP: 0, EU: 0}

    federated()
    assert all((ms or 0) >= 0 for ms in lag.lags_ms().values())
    rig.capture()
    FederatedJob.objects.update(revision=1)

    assert all((ms or 0) > 10**11 for ms in lag.lags_ms().values())


@spec("federation 8")
def test_replication_is_shown_to_operators(peers: list[Peer]) -> None:
    peers[1].script = lambda body: refusal(503)
    federated()
    run(Replicator())
    FederatedJob.objects.update(revision=1)
    ReplicationPeer.objects.filter(region=EU).update(cursor=1)

    answer = rig.send("GET", "/admin/federation/replication").json()

    assert (answer["enabled"], answer["mode"], answer["local_region"]) == (
        True, "metadata-only", LOCAL,
    )  # fmt: skip
    ap, eu = answer["peers"]
    assert (eu["region"], eu["cursor"], eu["pending"], eu["is_late"]) == (EU, 1, 0, False)
    assert (ap["region"], ap["pending"], ap["is_late"], ap["failures"]) == (AP, 1, True, 1)


@spec("federation 8")
def test_replication_that_is_off_is_shown_as_such() -> None:
    answer = rig.send("GET", "/admin/federation/replication").json()

    assert (answer["enabled"], answer["peers"], answer["mode"]) == (False, [], None)


@spec("federation 8")
def test_metrics_tell_lag_and_conflicts(peers: list[Peer]) -> None:
    federation_id = new_id()
    replicate(replica(federation_id=federation_id))
    replicate(replica(federation_id=federation_id, origin_region=AP))
    federated()
    rig.capture()
    FederatedJob.objects.filter(origin_region=LOCAL).update(revision=1)

    text = Client().get("/metrics").content.decode()

    assert "ojs_federation_conflicts_total 1.0" in text
    assert f'ojs_federation_replication_lag_seconds{{peer="{EU}"}}' in text
    health = rig.send("GET", "/federation/health").json()
    lags = {one["id"]: one["replication_lag_ms"] for one in health["regions"]}
    assert lags[EU] > 10**11


@spec("federation 6")
def test_replication_of_many_jobs_tells_each_of_its_end(peers: list[Peer]) -> None:
    ids = [federated().id for _ in range(50)]
    replicator = Replicator()
    run(replicator)
    for one in ids:
        cancel(one)

    run(replicator)

    for peer in peers:
        last = {one["job_id"]: one["state"] for one in peer.jobs}
        assert last == dict.fromkeys(ids, "cancelled")
