"""Batches, bulk requests and idempotency keys over HTTP. Spec: contract 11, 24.1, 31."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from jobs.domain.states import State
from jobs.domain.wire.ids import new_id
from jobs.models import Job
from tests.asserts import assert_state
from tests.factories import EnvelopeFactory, JobFactory, stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


def post(api: Client, path: str, body: object, **headers: str) -> Any:
    """Send a request; underscores in header names stand for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.post(f"/ojs/v1/{path}", orjson.dumps(body), content_type=OJS_TYPE, headers=named)


def push(api: Client, path: str = "jobs", **envelope: Any) -> Any:
    return post(api, path, EnvelopeFactory.create(**envelope))


# --- PUSH with unique -----------------------------------------------------------------------------


@spec("contract 6.1")
def test_the_policy_comes_back_normalized(api: Client) -> None:
    answer = push(api, options={"unique": {"key": "user", "within": "1h"}}, args=[{"user": 1}])

    assert answer.status_code == 201
    assert answer.json()["job"]["unique"] == {
        "keys": ["type", "args"], "args_keys": ["user"], "period": "PT1H",
        "states": ["available", "active", "scheduled", "retryable", "pending"],
        "on_conflict": "reject",
    }  # fmt: skip


@spec("contract 6.3")
def test_reject_is_409_duplicate_with_details(api: Client) -> None:
    first = push(api, unique={}).json()["job"]

    answer = push(api, unique={})

    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (409, "duplicate")
    assert error["details"].keys() == {"existing_job_id", "existing_job_state", "unique_key"}
    assert error["details"]["existing_job_id"] == first["id"]


@spec("contract 6.3")
def test_ignore_is_200_with_the_existing_job(api: Client) -> None:
    first = push(api, unique={}).json()["job"]

    answer = push(api, unique={"on_conflict": "ignore"})

    assert answer.status_code == 200
    assert answer.json() == {"job": first, "deduplicated": True}
    assert "Location" not in answer


@spec("contract 6.2")
def test_a_missing_argument_is_400_and_named(api: Client) -> None:
    answer = push(api, unique={"args_keys": ["to"]})

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == "unique.args_keys"


@spec("contract 12.4")
def test_job_enqueued_tells_the_fingerprint(api: Client) -> None:
    push(api, unique={})
    key = push(api, unique={}).json()["error"]["details"]["unique_key"]
    push(api, args=[1])

    events = api.get("/ojs/v1/events?types=job.enqueued").json()["events"]

    assert [event["data"].get("unique_key") for event in events] == [None, key]


@spec("contract 24.5")
def test_unique_jobs_lists_what_keeps_others_out(api: Client) -> None:
    JobFactory.create(state=State.COMPLETED, unique={}, queue="ended")
    push(api)
    held = push(api, unique={"period": "PT1H", "states": ["available"]}).json()["job"]
    push(api, unique={"period": "PT0.001S"}, args=[1])
    ended = JobFactory.create(state=State.CANCELLED, unique={"states": ["cancelled"]}, queue="z")

    answer = api.get("/ojs/v1/unique-jobs?page=1").json()

    assert answer["pagination"]["total"] == 2
    first, second = answer["items"]
    assert (first["job_id"], first["state"], first["locked_until"]) == (
        ended.id, "cancelled", None,
    )  # fmt: skip
    assert (second["job_id"], second["queue"], second["type"]) == (
        held["id"], held["queue"], held["type"],
    )  # fmt: skip
    assert second["locked_until"] > held["created_at"]
    assert len(second["key"]) == 64


# --- 11.1 -----------------------------------------------------------------------------------------


@spec("contract 11.1")
def test_a_batch_marks_what_was_deduplicated_and_counts_it(api: Client) -> None:
    ignore = {"on_conflict": "ignore"}
    jobs = [EnvelopeFactory.create(unique=ignore) for _ in range(2)] + [EnvelopeFactory.create()]

    answer = post(api, "jobs/batch", {"jobs": jobs})

    body = answer.json()
    assert (answer.status_code, body["count"]) == (201, 3)
    assert [job.get("deduplicated") for job in body["jobs"]] == [None, True, None]
    assert body["jobs"][0]["id"] == body["jobs"][1]["id"]


@pytest.mark.parametrize("number", [1, 3])
@spec("contract 11.1")
def test_a_refused_batch_names_the_index_and_stores_nothing(api: Client, number: int) -> None:
    push(api, unique={})
    plain = [EnvelopeFactory.create() for _ in range(number - 1)]

    answer = post(api, "jobs/batch", {"jobs": [*plain, EnvelopeFactory.create(unique={})]})

    assert answer.status_code == 409
    assert answer.json()["error"]["details"]["index"] == number - 1
    assert Job.objects.count() == 1


@spec("contract 11.1")
def test_a_used_id_names_the_index(api: Client) -> None:
    job_id = new_id()
    jobs = [EnvelopeFactory.create(), *[EnvelopeFactory.create(id=job_id) for _ in range(2)]]

    answer = post(api, "jobs/batch", {"jobs": jobs})

    assert answer.status_code == 409
    assert answer.json()["error"]["details"]["existing_job_id"] == job_id
    assert not Job.objects.exists()


# --- 11.2: enqueue --------------------------------------------------------------------------------


@spec("contract 11.2")
def test_all_created_is_201(api: Client) -> None:
    answer = post(api, "jobs/bulk", {"jobs": EnvelopeFactory.create_batch(3)})

    body = answer.json()
    assert answer.status_code == 201
    assert (body["total"], body["succeeded"], body["failed"]) == (3, 3, 0)
    assert [(item["index"], item["status"]) for item in body["items"]] == [
        (0, "created"), (1, "created"), (2, "created"),
    ]  # fmt: skip
    assert_state(State.AVAILABLE, *[item["job"]["id"] for item in body["items"]])


MIXED: list[Any] = [
    EnvelopeFactory.create(),
    EnvelopeFactory.create(type="Wrong"),
    EnvelopeFactory.create(unique={}, type="a"),
    EnvelopeFactory.create(unique={}, type="a"),
    EnvelopeFactory.create(unique={"on_conflict": "ignore"}, type="a"),
    EnvelopeFactory.create(retry={"max_attempts": -1}),
    "no object",
]


@spec("contract 11.2")
def test_mixed_is_207_with_what_became_of_each(api: Client) -> None:
    answer = post(api, "jobs/bulk", {"jobs": MIXED})

    body = answer.json()
    assert answer.status_code == 207
    assert [item["status"] for item in body["items"]] == [
        "created", "failed", "created", "duplicate", "duplicate", "failed", "failed",
    ]  # fmt: skip
    assert (body["succeeded"], body["failed"]) == (3, 4)
    assert [item["error"]["code"] for item in body["items"] if "error" in item] == [
        "invalid_request", "duplicate", "invalid_request", "invalid_request",
    ]  # fmt: skip
    assert body["items"][4]["job"]["id"] == body["items"][2]["job"]["id"]
    assert Job.objects.count() == 2


@spec("contract 11.2")
def test_only_deduplicated_jobs_are_200(api: Client) -> None:
    push(api, unique={})

    answer = post(
        api, "jobs/bulk", {"jobs": [EnvelopeFactory.create(unique={"on_conflict": "ignore"})]}
    )

    assert (answer.status_code, answer.json()["failed"]) == (200, 0)


@spec("contract 11.2")
def test_all_failed_is_422_with_the_error_body(api: Client) -> None:
    answer = post(api, "jobs/bulk", {"jobs": [{"type": "Wrong", "args": []}]})

    body = answer.json()
    assert (answer.status_code, body["error"]["code"]) == (422, "x_bulk_failed")
    assert (body["total"], body["failed"], body["items"][0]["status"]) == (1, 1, "failed")


@pytest.mark.parametrize("wrong", [MIXED[1], EnvelopeFactory.create(unique={}, type="held")])
@spec("contract 11.2")
def test_atomic_takes_all_back_for_one(api: Client, wrong: Any) -> None:
    push(api, unique={}, type="held")

    answer = post(
        api, "jobs/bulk", {"jobs": [EnvelopeFactory.create(), wrong], "atomicity": "atomic"}
    )

    undone, refused = answer.json()["items"]
    assert answer.status_code == 422
    assert undone["error"]["code"] == "x_bulk_failed"
    assert refused["error"]["code"] in {"invalid_request", "duplicate"}
    assert Job.objects.count() == 1


@pytest.mark.parametrize(("path", "name"), [("jobs/bulk", "jobs"), ("jobs/bulk/cancel", "job_ids")])
@spec("contract 11.2")
def test_more_than_a_thousand_is_413(api: Client, path: str, name: str) -> None:
    answer = post(api, path, {name: ["x"] * 1001})

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "batch_too_large")
    assert answer["X-OJS-Max-Batch-Size"] == "1000"


@spec("contract 11.2")
def test_a_thousand_duplicates_and_a_thousand_jobs_are_answered(api: Client) -> None:
    jobs = [EnvelopeFactory.create(args=[n], unique={}, id=new_id()) for n in range(1000)]

    assert post(api, "jobs/bulk", {"jobs": jobs}).status_code == 201
    again = post(api, "jobs/bulk", {"jobs": jobs})

    assert again.status_code == 422
    assert {item["status"] for item in again.json()["items"]} == {"duplicate"}


# --- keys -----------------------------------------------------------------------------------------


@spec("contract 11.2")
def test_a_repeated_key_gets_the_stored_answer(api: Client) -> None:
    body = {"jobs": [EnvelopeFactory.create()], "idempotency_key": "in the body"}

    first = post(api, "jobs/bulk", body, idempotency_key="k1")
    second = post(api, "jobs/bulk", body, idempotency_key="k1")
    other = post(api, "jobs/bulk", body)  # the key of the body was not stored
    third = post(api, "jobs/bulk", body)

    assert first.content == second.content
    assert second["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in other
    assert other.content == third.content != first.content
    assert Job.objects.count() == 2


@spec("contract 11.2")
def test_a_key_with_another_body_is_409(api: Client) -> None:
    post(api, "jobs/bulk", {"jobs": [EnvelopeFactory.create()]}, idempotency_key="k")

    answer = post(
        api, "jobs/bulk", {"jobs": [EnvelopeFactory.create(args=[1])]}, idempotency_key="k"
    )

    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")


@spec("contract 11.2")
def test_verbs_take_keys_of_their_own(api: Client) -> None:
    first, second = stored_ids(2)
    body = {"job_ids": [first, second]}

    cancelled = post(api, "jobs/bulk/cancel", body, idempotency_key="k")
    deleted = post(api, "jobs/bulk/delete", body, idempotency_key="k")
    again = post(api, "jobs/bulk/cancel", body, idempotency_key="k")

    assert again.content == cancelled.content
    assert deleted.json()["deleted"] == 2


@pytest.mark.parametrize("key", ["", "x" * 257])
@spec("contract 11.2")
def test_a_key_has_at_most_256_characters(api: Client, key: str) -> None:
    answer = post(api, "jobs/bulk", {"jobs": [EnvelopeFactory.create()]}, idempotency_key=key)

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == "Idempotency-Key"


# --- verbs ----------------------------------------------------------------------------------------


@spec("contract 11.2")
def test_by_id_mixed_is_207_and_names_the_reason(api: Client) -> None:
    (live,) = stored_ids(1)
    unknown = new_id()

    answer = post(api, "jobs/bulk/cancel", {"job_ids": [live, unknown]})

    assert answer.status_code == 207
    assert answer.json() == {
        "total_matched": 1, "cancelled": 1, "skipped": 1, "failed": 0,
        "items": [
            {"id": live, "job_id": live, "status": "cancelled"},
            {"id": unknown, "job_id": unknown, "status": "skipped", "reason": "not_found"},
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "word", "found"),
    [("cancel", "cancelled", State.AVAILABLE), ("cancel", "cancelled", State.SCHEDULED),
     ("retry", "retried", State.RETRYABLE), ("retry", "retried", State.DISCARDED),
     ("delete", "deleted", State.COMPLETED), ("delete", "deleted", State.CANCELLED)],
)  # fmt: skip
@spec("contract 11.2")
def test_a_filter_answers_200_with_counts(api: Client, verb: str, word: str, found: State) -> None:
    job = JobFactory.create(state=found, queue="mail", meta={"a": 1, "b": 2})
    JobFactory.create(state=found, queue="other")
    wanted = {"queue": "mail", "state": [found.value], "meta": {"a": 1}, "type": "tests.*"}

    answer = post(api, f"jobs/bulk/{verb}", {"filter": wanted})

    body = answer.json()
    assert answer.status_code == 200
    assert (body["total_matched"], body[word], body["skipped"]) == (1, 1, 0)
    assert body["items"] == [{"id": job.id, "job_id": job.id, "status": word}]


@spec("contract 11.2")
def test_cancel_by_filter_does_not_touch_running_jobs(api: Client) -> None:
    job = JobFactory.create(state=State.ACTIVE)

    for states in ("active", ["active"], ["active", "available"]):
        answer = post(api, "jobs/bulk/cancel", {"filter": {"state": states}})
        assert answer.json()["total_matched"] == 0

    assert_state(State.ACTIVE, job.id)


@spec("contract 24.6")
def test_the_clis_filter_is_understood(api: Client) -> None:
    stored_ids(2)

    old = post(api, "jobs/bulk/cancel", {"filter": {"state": "available", "older_than": "7d"}})
    new = post(api, "jobs/bulk/cancel", {"filter": {"state": "available", "older_than": "1ms"}})

    assert (old.json()["cancelled"], new.json()["cancelled"]) == (0, 2)


@pytest.mark.parametrize(
    "body",
    [{}, {"job_ids": None}, {"job_ids": [], "filter": None}, {"job_ids": ["x"], "filter": {}},
     {"job_ids": "x"}, {"job_ids": [1]}, {"filter": []}, {"filter": {"state": "done"}},
     {"filter": {"state": []}}, {"filter": {"meta": 1}}, {"filter": {"enqueued_before": "x"}},
     {"filter": {"older_than": "x"}}, {"filter": {"priority": 101}}, {"filter": {"queue": 1}}],
)  # fmt: skip
@spec("contract 11.2")
def test_a_wrong_target_is_400(api: Client, body: dict[str, Any]) -> None:
    answer = post(api, "jobs/bulk/delete", body)

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"]


@pytest.mark.parametrize("verb", ["cancel", "retry", "delete"])
@pytest.mark.parametrize("body", [{}, {"filter": 5}, {"filter": {}, "confirm": "true"}])
@spec("contract 24.1")
def test_operators_confirm_before_anything_is_read(
    api: Client, verb: str, body: dict[str, Any]
) -> None:
    answer = post(api, f"admin/jobs/bulk/{verb}", body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "confirmation_required")


@spec("contract 24.1")
def test_operators_act_with_an_empty_filter_and_on_running_jobs(api: Client) -> None:
    dead = JobFactory.create(state=State.DISCARDED, queue="a")
    active = JobFactory.create(state=State.ACTIVE, queue="b")

    retried = post(api, "admin/jobs/bulk/retry", {"filter": {}, "confirm": True}).json()
    cancelled = post(
        api, "admin/jobs/bulk/cancel", {"filter": {"state": "active"}, "confirm": True}
    ).json()

    assert retried == {
        "action": "retry", "matched": 1, "succeeded": 1, "failed": 0, "errors": [],
    }  # fmt: skip
    assert (cancelled["action"], cancelled["succeeded"]) == ("cancel", 1)
    assert_state(State.AVAILABLE, dead.id)
    assert_state(State.CANCELLED, active.id)


@spec("contract 24.1")
def test_operators_are_told_what_could_not_be_done(api: Client) -> None:
    job = JobFactory.create(state=State.SCHEDULED)

    answer = post(api, "admin/jobs/bulk/delete", {"job_ids": [job.id], "confirm": True})

    assert answer.json() == {
        "action": "delete", "matched": 1, "succeeded": 0, "failed": 1,
        "errors": [{"job_id": job.id, "error": "scheduled"}],
    }  # fmt: skip


# --- access ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body", "scope"),
    [
        ("jobs/bulk", {"jobs": [EnvelopeFactory.create()]}, "ojs:data:enqueue"),
        ("jobs/bulk/cancel", {"filter": {}}, "ojs:data:cancel"),
        ("jobs/bulk/retry", {"filter": {}}, "ojs:data:cancel"),
        ("jobs/bulk/delete", {"filter": {}}, "ojs:admin:purge"),
        ("admin/jobs/bulk/cancel", {"filter": {}, "confirm": True}, "ojs:admin:write"),
        ("admin/jobs/bulk/delete", {"filter": {}, "confirm": True}, "ojs:admin:purge"),
    ],
)
@spec("contract 31.2")
def test_each_request_takes_its_scope(
    new_key: Callable[..., dict[str, str]], path: str, body: object, scope: str
) -> None:
    right = Client(headers=new_key(scope))
    wrong = Client(headers=new_key("ojs:data:read"))

    assert post(right, path, body).status_code < 300
    assert post(wrong, path, body).status_code == 403


@spec("contract 31.2")
def test_a_tenants_key_sees_and_touches_its_own_only(
    new_key: Callable[..., dict[str, str]],
) -> None:
    keys = {
        tenant: Client(headers=new_key("admin", tenant=tenant)) for tenant in ("north", "south")
    }
    ids = {
        tenant: push(client, unique={"on_conflict": "ignore"}).json()["job"]["id"]
        for tenant, client in keys.items()
    }
    north, south = keys["north"], keys["south"]

    assert ids["north"] != ids["south"]
    assert [job["job_id"] for job in north.get("/ojs/v1/unique-jobs").json()["items"]] == [
        ids["north"]
    ]
    for body in ({"job_ids": [ids["north"]]}, {"filter": {"tenant": "north"}}):
        assert post(south, "jobs/bulk/cancel", body).json()["cancelled"] == 0
    assert post(south, "jobs/bulk/cancel", {"filter": {}}).json()["cancelled"] == 1
    assert_state(State.AVAILABLE, ids["north"])
    for path in ("admin/jobs/bulk/cancel", "admin/jobs/bulk/delete"):
        assert post(south, path, {"filter": {}, "confirm": True}).status_code == 403
    assert south.get("/ojs/v1/middleware").status_code == 403


@spec("contract 31.2")
def test_a_job_outside_the_keys_queues_fails_by_itself(
    new_key: Callable[..., dict[str, str]],
) -> None:
    client = Client(headers=new_key("producer", queues_enqueue=["mail"]))
    jobs = [EnvelopeFactory.create(queue=queue) for queue in ("mail", "other")]

    partial = post(client, "jobs/bulk", {"jobs": jobs})

    assert [item["status"] for item in partial.json()["items"]] == ["created", "failed"]
    assert partial.json()["items"][1]["error"]["code"] == "permission_denied"
