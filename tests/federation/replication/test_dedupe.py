"""One job for one federation id, however often it is sent. Spec: contract 23.3, 23.6."""

import os
import subprocess
import sys
from functools import partial
from typing import Any

import orjson
import pytest
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from federation.domain.meta import FEDERATION_ID
from federation.models import FederationKey
from federation.services.replication.copies_age import delete_expired_copies
from federation.services.replication.dedupe import asking, insisting
from jobs.api.wire.media import OJS_TYPE
from jobs.domain.access.caller import Caller
from jobs.domain.errors import Duplicate
from jobs.domain.job import Job
from jobs.domain.wire.ids import new_id
from jobs.models import Job as Row
from jobs.queries import ago
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.enqueue.enqueue_each import enqueue_each
from jobs.services.lanes.queue_config import configure
from tests.asserts import assert_store_is_sound
from tests.concurrency import at_once
from tests.conftest import ROOT
from tests.factories import DraftFactory
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

DEDUPE = {"OJS-Federation-Dedupe": "1"}
ALWAYS = override_settings(OJS_FEDERATION={"DEDUPE": "always"})
OFF = override_settings(OJS_FEDERATION={"DEDUPE": "off"})
WEEK_MS = 604_800_000


def envelope(federation_id: str | None, **members: Any) -> dict[str, Any]:
    """Return a job in the form in which a client sends it."""
    meta = {} if federation_id is None else {FEDERATION_ID: federation_id}
    return {"type": "tests.noop", "args": [], "meta": meta, **members}


def post(path: str, body: object, **headers: str) -> Any:
    """Send jobs."""
    client = Client(raise_request_exception=False)
    return client.post(f"/ojs/v1/jobs{path}", orjson.dumps(body), OJS_TYPE, headers=headers)


def send(federation_id: str, **members: Any) -> Job:
    """Enqueue a job with the demand to store its federation id once."""
    draft = DraftFactory.create(**envelope(federation_id, **members))
    job = enqueue([draft], insisting(Caller()))[0]
    assert job is not None
    return job


@spec("federation 6")
def test_dedupe_repeat_is_answered_with_the_job_that_is_there() -> None:
    sent = envelope(new_id())

    first, again = post("", sent, **DEDUPE), post("", sent, **DEDUPE)

    assert (first.status_code, "OJS-Deduplicated" in first.headers) == (201, False)
    assert (again.status_code, again.headers["OJS-Deduplicated"]) == (200, "true")
    assert again.json()["job"]["id"] == first.json()["job"]["id"]
    assert again.json()["deduplicated"] is True
    assert Row.objects.count() == 1


@spec("federation 6")
def test_dedupe_repeat_that_names_its_job_is_a_repeat_too() -> None:
    sent = envelope(new_id(), id=new_id())

    assert [post("", sent, **DEDUPE).status_code for _ in range(2)] == [201, 200]
    assert Row.objects.count() == 1


@spec("FED-1.1-a")
def test_federation_id_alone_keeps_no_job_out() -> None:
    sent = envelope(new_id())

    assert [post("", sent).status_code for _ in range(2)] == [201, 201]
    assert [post("", sent, **{"OJS-Federation-Dedupe": "0"}).status_code] == [201]
    assert FederationKey.objects.count() == 0


@ALWAYS
@spec("federation 6")
def test_dedupe_always_tells_repeats_without_being_asked() -> None:
    sent = envelope(new_id())

    assert [post("", sent).status_code for _ in range(2)] == [201, 200]


@ALWAYS
@pytest.mark.parametrize(
    "named", [None, "", 7, "no-uuid", ["x"], "01912E4A-7B3C-7DEF-8A12-ABCDEF123456"]
)
@spec("FED-1.1-a")
def test_always_takes_what_is_no_federation_id(named: Any) -> None:
    sent = envelope(named)

    answers = [post("", sent) for _ in range(2)]

    assert [one.status_code for one in answers] == [201, 201]
    assert answers[0].json()["meta"] == sent["meta"]


@OFF
@spec("federation 6")
def test_dedupe_off_refuses_the_wish_instead_of_ignoring_it() -> None:
    sent = envelope(new_id())

    refused = post("", sent, **DEDUPE)

    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "unsupported")
    assert [post("", sent).status_code for _ in range(2)] == [201, 201]
    assert asking(Caller()).asks == ()


@pytest.mark.parametrize("wish", ["2", "true", "", "yes" * 100])
@spec("federation 6")
def test_dedupe_header_says_1_or_0(wish: str) -> None:
    refused = post("", envelope(new_id()), **{"OJS-Federation-Dedupe": wish})

    assert refused.status_code == 400
    assert refused.json()["error"]["details"]["field"] == "OJS-Federation-Dedupe"


@pytest.mark.parametrize("named", ["", "x", "01912e4a-7b3c-4def-8a12-abcdef123456", 5, []])
@spec("FED-6.3-a")
def test_job_to_be_told_apart_needs_a_federation_id(named: Any) -> None:
    refused = post("", envelope(named), **DEDUPE)

    assert refused.status_code == 422
    assert refused.json()["error"]["details"]["field"] == f"meta.{FEDERATION_ID}"
    assert Row.objects.count() == 0


@spec("FED-8-a")
def test_job_without_a_federation_id_is_stored_as_any_other() -> None:
    answers = [post("", envelope(None), **DEDUPE) for _ in range(2)]

    assert [one.status_code for one in answers] == [201, 201]


@spec("federation 6")
def test_dedupe_knows_the_repeats_within_a_batch_and_of_others() -> None:
    ids = [new_id() for _ in range(3)]
    first = send(ids[0])

    answer = post("/batch", {"jobs": [envelope(ids[n]) for n in (2, 0, 1, 2, 1)]}, **DEDUPE)

    jobs = answer.json()["jobs"]
    assert (answer.status_code, answer.headers["OJS-Deduplicated"]) == (201, "true")
    assert [one.get("deduplicated", False) for one in jobs] == [False, True, False, True, True]
    assert jobs[1]["id"] == first.id
    assert (jobs[3]["id"], jobs[4]["id"]) == (jobs[0]["id"], jobs[2]["id"])
    assert Row.objects.count() == 3


@spec("federation 6")
def test_dedupe_repeated_batch_stores_nothing() -> None:
    body = {"jobs": [envelope(new_id()) for _ in range(50)]}

    first, again = post("/batch", body, **DEDUPE), post("/batch", body, **DEDUPE)

    assert [one["id"] for one in again.json()["jobs"]] == [
        one["id"] for one in first.json()["jobs"]
    ]
    assert Row.objects.count() == 50


@spec("federation 6")
def test_dedupe_batch_that_is_refused_leaves_no_federation_id() -> None:
    taken = new_id()
    send(new_id(), id=taken)
    ids = [new_id(), new_id()]
    jobs = [envelope(ids[0]), envelope(ids[1], id=taken)]

    assert post("/batch", {"jobs": jobs}, **DEDUPE).status_code == 409

    assert FederationKey.objects.count() == 1
    assert post("", jobs[0], **DEDUPE).status_code == 201


@spec("federation 6")
def test_dedupe_bulk_tells_each_repeat_and_forgets_what_it_refuses() -> None:
    taken, ids = new_id(), [new_id() for _ in range(3)]
    first = send(ids[0], id=taken)
    sent = [
        envelope(ids[0]), envelope(ids[1], id=taken), envelope("x"), envelope(ids[2]),
        envelope(ids[2]),
    ]  # fmt: skip

    answer = post("/bulk", {"jobs": sent}, **DEDUPE)

    items = answer.json()["items"]
    assert [one["status"] for one in items] == [
        "duplicate", "duplicate", "failed", "created", "duplicate",
    ], items  # fmt: skip
    assert "error" in items[1], "its own id is taken"
    assert items[0]["job"]["id"] == first.id
    assert items[4]["job"]["id"] == items[3]["job"]["id"]
    noted = {str(one) for one in FederationKey.objects.values_list("federation_id", flat=True)}
    assert noted == {ids[0], ids[2]}


@spec("federation 6")
def test_dedupe_repeat_of_a_job_that_is_refused_is_refused_with_it() -> None:
    configure("full", {"backpressure": {"max_depth": 1, "strategy": "reject"}})
    send(new_id(), queue="full")
    drafts = [DraftFactory.create(**envelope(one, queue="full")) for one in [new_id()] * 2]

    outcomes = enqueue_each(drafts, insisting(Caller()))

    assert [type(one).__name__ for one in outcomes] == ["QueueFull", "QueueFull"]
    assert FederationKey.objects.count() == 1


@spec("federation 6")
def test_dedupe_goes_with_what_the_job_hit_by_its_own_policy() -> None:
    unique = {"unique": {"on_conflict": "ignore"}}
    there = send(new_id(), **unique)
    federation_id = new_id()

    hit, again = send(federation_id, **unique), send(federation_id)

    assert [hit.id, again.id] == [there.id, there.id]
    assert again.deduplicated


@spec("federation 6")
def test_dedupe_is_each_tenant_s_own() -> None:
    federation_id = new_id()
    draft = DraftFactory.create(**envelope(federation_id))

    jobs = [enqueue([draft], insisting(Caller(tenant=one)))[0] for one in ("a", "a")]
    draft.id = new_id()
    jobs += enqueue([draft], insisting(Caller(tenant="b")))

    assert [job and job.tenant for job in jobs] == ["a", "a", "b"]
    assert [job and job.deduplicated for job in jobs] == [False, True, False]


@spec("federation 6")
def test_dedupe_never_makes_a_second_job_though_the_first_is_gone() -> None:
    federation_id = new_id()
    first = send(federation_id)
    Row.objects.filter(id=first.id).delete()

    with pytest.raises(Duplicate) as refused:
        send(federation_id)

    assert refused.value.details["existing_job_id"] == first.id
    assert post("", envelope(federation_id), **DEDUPE).status_code == 409


@spec("federation 6")
def test_dedupe_remembers_for_seven_days() -> None:
    ids = [new_id(), new_id()]
    jobs = [send(one) for one in ids]
    past = {ids[0]: WEEK_MS - 60_000, ids[1]: WEEK_MS + 60_000}
    for one, ms in past.items():
        FederationKey.objects.filter(federation_id=one).update(created_at=ago(ms))

    again = [send(one) for one in ids]

    assert [one.deduplicated for one in again] == [True, False]
    assert again[1].id != jobs[1].id
    assert send(ids[1]).id == again[1].id


@spec("federation 6")
def test_dedupe_forgets_in_batches_what_is_behind_the_window() -> None:
    ids = [new_id() for _ in range(3)]
    for one in ids:
        send(one)
    FederationKey.objects.exclude(federation_id=ids[1]).update(created_at=ago(WEEK_MS + 60_000))

    assert delete_expired_copies() == 2
    assert delete_expired_copies() == 0
    assert [str(one.federation_id) for one in FederationKey.objects.all()] == [ids[1]]


def statements(**headers: str) -> list[str]:
    """Return the statements of one enqueue."""
    with CaptureQueriesContext(connection) as captured:
        assert post("", envelope(new_id()), **headers).status_code == 201
    return [one["sql"] for one in captured]


@spec("FED-8-a")
def test_who_does_not_ask_pays_no_statement() -> None:
    post("", envelope(new_id()))  # makes the queue and its lane

    assert len(statements()) == 1
    with_key = [sql for sql in statements(**DEDUPE) if "ojs_federation" in sql]
    assert len(with_key) == 1


@spec("federation 6")
def test_dedupe_many_at_once_make_one_job() -> None:
    ids = [new_id() for _ in range(5)]
    send(new_id())

    jobs = at_once([partial(send, one) for one in ids * 8])

    made: dict[str, set[str]] = {}
    for job in jobs:
        made.setdefault(orjson.loads(job.meta)[FEDERATION_ID], set()).add(job.id)
    assert {one: len(found) for one, found in made.items()} == dict.fromkeys(ids, 1)
    assert Row.objects.count() == 6
    assert [job.deduplicated for job in jobs].count(False) == 5
    assert_store_is_sound()


@spec("federation 6")
def test_dedupe_batches_at_once_in_any_order_do_not_block_each_other() -> None:
    ids = [new_id() for _ in range(40)]
    send(new_id())

    def batch(n: int) -> list[str]:
        shifted = ids[n:] + ids[:n] if n % 2 else list(reversed(ids[n:] + ids[:n]))
        drafts = [DraftFactory.create(**envelope(one)) for one in shifted]
        stored = enqueue(drafts, insisting(Caller()))
        return sorted(job.id for job in stored if job is not None)

    answers = at_once([partial(batch, 5 * n) for n in range(8)])

    assert len({tuple(one) for one in answers}) == 1
    assert Row.objects.count() == 41
    assert_store_is_sound()


@spec("federation 6")
def test_dedupe_retry_after_a_kill_makes_one_job(database_url: str) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "tests.federation.replication.once"],
        cwd=ROOT,
        env={
            **os.environ,
            "DATABASE_URL": database_url,
            "DJANGO_SETTINGS_MODULE": "ojs_project.settings",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    killed = answer.stdout.split()
    assert len(killed) > 4, "it dies before and after the job is stored"

    for federation_id in killed:
        assert send(federation_id).id == send(federation_id).id

    assert Row.objects.count() == len(killed)
    assert FederationKey.objects.count() == len(killed)
    assert_store_is_sound()
