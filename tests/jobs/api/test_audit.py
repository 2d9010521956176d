"""Entries of the audit log, by operation and actor. Spec: contract 31.5."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, ProgrammingError, connection, transaction
from django.test import Client
from django.urls import reverse

from jobs.api.wire.media import JSON_TYPE
from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.models import ApiKey, Audit, Queue
from jobs.services.audit import audit
from jobs.services.audit.audit import record
from jobs.services.operate import bulk
from jobs.services.upkeep.reset import reset
from tests.factories import JobFactory, stored_ids
from tests.spec import spec

Keys = Callable[..., dict[str, str]]
PASSWORD = "correct horse battery staple"  # noqa: S105 - a password of this test only
BASE = "/ojs/v1"


def send(client: Client, method: str, path: str, body: Any = None, **headers: Any) -> Any:
    text = "" if body is None else json.dumps(body)
    return client.generic(method, f"{BASE}/{path}", text, content_type=JSON_TYPE, **headers)


def entries() -> list[tuple[str, str, str, str]]:
    """Return actor, action, target and outcome of all entries, oldest first."""
    found = Audit.objects.order_by("id")
    return list(found.values_list("actor", "action", "target", "outcome"))


# --- logins ---------------------------------------------------------------------------------------


@pytest.fixture
def user(store: None, settings: Any) -> Iterator[User]:
    """Return an operator, whose password is hashed fast."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    made = User.objects.create_superuser("ada", password=PASSWORD)
    yield made
    User.objects.all().delete()


PAGES = [("ojs_console:login", "console"), ("admin:login", "admin")]


@pytest.mark.usefixtures("user")
@pytest.mark.parametrize(("page", "where"), PAGES)
@spec("contract 31.5")
def test_logins_are_recorded_with_where_they_came_from(page: str, where: str) -> None:
    client = Client(REMOTE_ADDR="192.0.2.7")
    form = {"username": "ada", "password": PASSWORD}

    assert client.post(reverse(page), form).status_code == 302

    assert entries() == [(f"{where}:ada", "auth.login_success", "ada", "success")]
    assert Audit.objects.get().address == "192.0.2.7"


@pytest.mark.usefixtures("store")
@spec("contract 31.5")
def test_nobody_truncates_the_audit_log() -> None:
    record(Caller("ada"), "queue.paused", "mail")

    with pytest.raises(ProgrammingError, match="never changed"), transaction.atomic():
        connection.cursor().execute("TRUNCATE ojs_audit")

    assert Audit.objects.count() == 1
    reset()
    assert not Audit.objects.exists()


@pytest.mark.usefixtures("user")
@pytest.mark.parametrize(("page", "where"), PAGES)
@pytest.mark.parametrize("name", ["ada", "nobody"])
@spec("contract 31.5")
def test_failed_logins_are_recorded_without_the_password(page: str, where: str, name: str) -> None:
    answer = Client().post(reverse(page), {"username": name, "password": "sesame"})

    assert answer.status_code == 200
    assert entries() == [("anonymous", "auth.login_failure", name, "failure")]
    entry = Audit.objects.get()
    assert entry.data == {"at": where}
    assert "sesame" not in repr(entry.__dict__)


@spec("contract 31.5")
def test_logins_elsewhere_are_not_the_logs_business(user: User) -> None:
    Client().force_login(user)
    Client().login(username="ada", password="wrong")  # noqa: S106 - a password of this test only

    assert entries() == []


# --- refusals -------------------------------------------------------------------------------------


@pytest.fixture
def unsampled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget sampled refusals before and after the test."""
    audit.forget_samples()
    yield
    audit.forget_samples()


@pytest.mark.usefixtures("unsampled")
@spec("contract 31.5")
def test_refusals_are_recorded_once_a_second_for_each_principal(
    api: Client, new_key: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = new_key("worker", queues_fetch=("mail",))
    known = Audit.objects.count()  # the creation of the key has an entry
    now = [100.0]
    monkeypatch.setattr(audit, "monotonic", lambda: now[0])

    for _ in range(3):
        assert api.get(f"{BASE}/jobs", headers=key).status_code == 403
    now[0] += 1.0
    assert send(api, "POST", "workers/fetch", {"queues": ["b"]}, headers=key).status_code == 403

    assert entries()[known:] == [
        ("test", "auth.permission_denied", f"{BASE}/jobs", "denied"),
        ("test", "auth.permission_denied", f"{BASE}/workers/fetch", "denied"),
    ]
    told = Audit.objects.order_by("id").values_list("data", flat=True)
    assert list(told)[known:] == [
        {"operation": "ojs:data:read"}, {"operation": "fetch from queue 'b'"},
    ]  # fmt: skip


@pytest.mark.usefixtures("unsampled")
@spec("contract 31.5")
def test_a_refusal_that_cannot_be_recorded_is_still_a_refusal(
    api: Client, new_key: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = new_key("worker")

    def fail(*_: Any, **__: Any) -> None:
        raise OperationalError

    monkeypatch.setattr(audit, "record", fail)

    assert api.get(f"{BASE}/jobs", headers=key).status_code == 403


@pytest.mark.usefixtures("unsampled")
@pytest.mark.parametrize("job_id", ["x" * 3000, "%F0%9F%92%A9", "%FF%FE"])
@spec("contract 31.5")
def test_a_refusal_of_any_path_is_recorded(api: Client, new_key: Keys, job_id: str) -> None:
    key = new_key("worker")

    assert api.get(f"{BASE}/jobs/{job_id}", headers=key).status_code == 403

    entry = Audit.objects.get(action="auth.permission_denied")
    assert entry.target.startswith(f"{BASE}/jobs/")
    assert len(entry.target) <= audit.LONGEST


@spec("contract 31.5")
def test_strangers_leave_no_entry(api: Client, with_keys: None) -> None:
    assert api.get(f"{BASE}/jobs").status_code == 401
    assert api.get(f"{BASE}/jobs", headers={"X-API-Key": "nonsense"}).status_code == 401

    assert entries() == []


# --- keys -----------------------------------------------------------------------------------------


@spec("contract 31.5")
def test_keys_made_rotated_and_revoked_in_the_admin_are_recorded(user: User) -> None:
    client = Client()
    client.force_login(user)
    page = reverse("admin:ojs_jobs_apikey_changelist")
    client.post(reverse("admin:ojs_jobs_apikey_add"), {"name": "ci", "scopes": ["producer"]})
    key = ApiKey.objects.get()

    for action in ("rotate", "revoke", "rotate"):
        client.post(page, {"action": action, "_selected_action": [key.pk]})

    shown = f"ojs_{key.prefix}_…"
    assert entries() == [
        ("admin:ada", f"key.{verb}", shown, "success") for verb in ("created", "rotated", "revoked")
    ]
    assert Audit.objects.order_by("id")[0].data == {
        "name": "ci", "scopes": ["ojs:data:enqueue"], "tenant": None, "pool": None,
        "region": None,
    }  # fmt: skip
    ApiKey.objects.all().delete()


# --- queues, limits -------------------------------------------------------------------------------


@spec("contract 31.5")
def test_a_queue_that_is_made_or_configured_leaves_one_entry(api: Client) -> None:
    assert send(api, "POST", "queues", {"name": "a", "concurrency": 3}).status_code == 201
    assert send(api, "POST", "queues", {"name": "a"}).status_code == 409
    assert send(api, "PUT", "queues/a/config", {"concurrency": 4}).status_code == 200
    assert send(api, "PUT", "admin/queues/a/config", {"concurrency": 0.5}).status_code == 400
    assert send(api, "PUT", "admin/queues/a/rate-limit", {"concurrency": 5}).status_code == 200

    assert [(action, target) for _, action, target, _ in entries()] == [
        ("queue.created", "a"), ("queue.config_changed", "a"), ("queue.config_changed", "a"),
    ]  # fmt: skip
    assert Audit.objects.order_by("id")[0].data == {"configured": ["concurrency"]}


@spec("contract 31.5")
def test_a_queue_is_not_made_when_that_cannot_be_recorded(
    api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OperationalError

    monkeypatch.setattr(audit, "record", fail)

    assert send(api, "POST", "queues", {"name": "a"}).status_code >= 500
    assert not Queue.objects.exists()


@spec("contract 31.5")
def test_overrides_of_rate_limits_leave_an_entry(api: Client) -> None:
    rate = {"rate": {"limit": 5, "period": "PT1M"}, "expires_at": "2099-01-01T00:00:00Z"}
    assert send(api, "PUT", "rate-limits/k", rate).status_code == 200
    assert send(api, "PUT", "rate-limits/queue:none", rate).status_code == 404
    assert send(api, "DELETE", "rate-limits/k/override").status_code == 204

    assert [(action, target) for _, action, target, _ in entries()] == [
        ("rate_limit.overridden", "k"), ("rate_limit.override_ended", "k"),
    ]  # fmt: skip
    assert Audit.objects.order_by("id")[0].data == {
        "rate": {"limit": 5, "period": "PT1M"}, "until": "2099-01-01T00:00:00Z",
    }  # fmt: skip


# --- many jobs ------------------------------------------------------------------------------------

BULK = [
    ("jobs/bulk/cancel", "cancelled", {}),
    ("admin/jobs/bulk/cancel", "cancelled", {"confirm": True}),
]


@pytest.mark.parametrize(("path", "done", "more"), BULK)
@spec("contract 31.5")
def test_a_bulk_call_is_one_entry_with_its_filter_and_the_count(
    api: Client, path: str, done: str, more: dict[str, Any]
) -> None:
    stored_ids(3, queue="a", meta={"secret": "x"})
    wanted = {"queue": "a", "meta": {"secret": "x"}, "since": "2020-01-01T00:00:00Z"}

    assert send(api, "POST", path, {"filter": wanted, **more}).status_code == 200

    (entry,) = Audit.objects.all()
    assert (entry.action, entry.target) == (f"jobs.bulk_{done}", "jobs")
    told = entry.data["filter"]
    assert (told["queue"], told["meta"], told["since"]) == ("a", ["secret"], wanted["since"])
    assert (entry.data["matched"], entry.data[done]) == (3, 3)


@spec("contract 31.5")
def test_a_bulk_call_by_id_counts_its_ids(api: Client) -> None:
    ids = stored_ids(2)
    body = {"job_ids": [*ids, "unknown"], "idempotency_key": "once"}

    for _ in range(2):  # the second request gets the stored answer
        assert send(api, "POST", "jobs/bulk/cancel", body).status_code == 207

    (entry,) = Audit.objects.all()
    assert entry.data == {"ids": 3, "matched": 2, "cancelled": 2}


@spec("contract 31.5")
def test_a_bulk_call_that_fails_half_way_tells_what_it_did(
    api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored_ids(4)
    monkeypatch.setattr(bulk, "SLICE", 2)
    real, calls = bulk.act_on, []

    def fail_later(*given: Any) -> set[str]:
        calls.append(given)
        if len(calls) > 1:
            raise OperationalError
        return real(*given)

    monkeypatch.setattr(bulk, "act_on", fail_later)

    answer = send(api, "POST", "admin/jobs/bulk/cancel", {"filter": {}, "confirm": True})

    assert answer.status_code >= 500
    (entry,) = Audit.objects.all()
    assert (entry.data["matched"], entry.data["cancelled"]) == (2, 2)


# --- manual retries accept the same states, for single jobs and in bulk ---------------------------


@spec("contract 24.1")
def test_operators_retry_cancelled_jobs_one_or_many(api: Client) -> None:
    one, by_id, by_filter = (
        JobFactory.create(state=State.CANCELLED, queue=queue).id for queue in "abc"
    )

    assert send(api, "POST", f"admin/jobs/{one}/retry").status_code == 200
    for means in ({"job_ids": [by_id]}, {"filter": {"queue": "c", "state": "cancelled"}}):
        done = send(api, "POST", "admin/jobs/bulk/retry", {**means, "confirm": True}).json()
        assert (done["matched"], done["succeeded"]) == (1, 1)

    for job_id in (one, by_id, by_filter):
        assert api.get(f"{BASE}/jobs/{job_id}").json()["state"] == "available"


@pytest.mark.parametrize("means", ["ids", "filter", "no state"])
@spec("contract 11.2")
def test_clients_retry_no_cancelled_jobs(api: Client, means: str) -> None:
    job_id = JobFactory.create(state=State.CANCELLED).id
    bodies: dict[str, dict[str, Any]] = {
        "ids": {"job_ids": [job_id]},
        "filter": {"filter": {"state": "cancelled"}},
        "no state": {"filter": {}},
    }

    done = send(api, "POST", "jobs/bulk/retry", bodies[means]).json()

    assert done["retried"] == 0
    assert api.get(f"{BASE}/jobs/{job_id}").json()["state"] == "cancelled"


@spec("contract 24.1")
def test_a_filter_without_states_leaves_cancelled_jobs_alone(api: Client) -> None:
    cancelled = JobFactory.create(state=State.CANCELLED).id
    dead = JobFactory.create(state=State.DISCARDED, queue="d").id

    body = {"filter": {}, "confirm": True}
    assert send(api, "POST", "admin/jobs/bulk/retry", body).json()["succeeded"] == 1

    assert api.get(f"{BASE}/jobs/{dead}").json()["state"] == "available"
    assert api.get(f"{BASE}/jobs/{cancelled}").json()["state"] == "cancelled"


# --- queues of a tenant ---------------------------------------------------------------------------


@spec("contract 31.2")
def test_a_bound_key_sees_its_own_numbers_of_a_queue(api: Client, new_key: Keys) -> None:
    producers = {name: new_key("producer", "ojs:data:read", tenant=name) for name in ("n", "s")}
    for name, number in (("n", 2), ("s", 5)):
        jobs = {"jobs": [{"type": "a", "args": [], "queue": "q"}] * number}
        assert send(api, "POST", "jobs/batch", jobs, headers=producers[name]).status_code == 201

    for name, number in (("n", 2), ("s", 5)):
        for path in ("queues/q", "queues/q/stats"):
            found = api.get(f"{BASE}/{path}", headers=producers[name]).json()
            assert (found["available"], found["stats"]["total"]) == (number, number)
            assert found["queue"]["depth"] == number
    anyone = new_key("ojs:data:read")
    assert api.get(f"{BASE}/queues/q/stats", headers=anyone).json()["available"] == 7


@spec("contract 31.2")
def test_a_bound_key_sees_no_numbers_of_the_whole_system(api: Client, new_key: Keys) -> None:
    whole, bound = new_key("ojs:data:read"), new_key("ojs:data:read", tenant="n")

    assert {"queues", "workers", "loops"} <= api.get(f"{BASE}/health", headers=whole).json().keys()
    shown = api.get(f"{BASE}/health", headers=bound).json()
    assert shown["status"] in {"ok", "degraded"}
    assert not {"queues", "workers", "loops"} & shown.keys()
    assert api.get(f"{BASE}/metrics", headers=bound).status_code == 403
