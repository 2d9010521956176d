"""Subscriptions and deliveries over HTTP. Spec: contract 26.1, 26.2, 31."""

from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from django.test import Client

from jobs.api.wire.media import OJS_TYPE
from jobs.models import ApiKey
from jobs.services.access import api_keys
from jobs.services.access.api_keys import NewKey, create
from tests.concurrency import wait_until_complete
from tests.factories import stored_ids
from tests.spec import spec
from tests.webhooks.conftest import Receiver, Subscribe
from webhooks.models import Delivery, Subscription
from webhooks.services.relay import relay
from webhooks.services.send import send_due

pytestmark = pytest.mark.usefixtures("empty")

BASE = "/ojs/v1/webhooks"
URL = "https://example.com/hooks"
FIELDS = {
    "id", "url", "events", "filter", "active", "metadata", "created_at", "updated_at",
    "last_delivery_at", "last_delivery_status", "success_count", "failure_count", "tenant_id",
}  # fmt: skip


class Api:
    """A client that sends and receives JSON."""

    def __init__(self, **headers: str) -> None:
        self._client = Client(raise_request_exception=False, headers=headers)

    def __call__(self, method: str, path: str, body: object = None, *, status: int) -> Any:
        text = b"" if body is None else orjson.dumps(body)
        answer = self._client.generic(method, BASE + path, text, content_type=OJS_TYPE)
        assert answer.status_code == status, answer.content
        return answer.json() if answer.content else None


@pytest.fixture
def api() -> Api:
    """Return a client that needs no key."""
    return Api()


def made(api: Api, **members: Any) -> dict[str, Any]:
    """Subscribe and return the answer."""
    body = {"url": URL, "events": ["job.*"], **members}
    found: dict[str, Any] = api("POST", "/subscriptions", body, status=201)
    return found


@spec("WH-1")
def test_a_subscription_is_shown_wrapped_and_flat_its_secret_once(api: Api) -> None:
    answer = made(api, metadata={"team": "a"}, filter={"queues": ["mail"]})

    shown = api("GET", f"/subscriptions/{answer['id']}", status=200)
    listed = api("GET", "/subscriptions?limit=1", status=200)

    assert answer["secret"].startswith("whsec_")
    assert answer["subscription"]["secret"] == answer["secret"]
    assert shown.keys() >= FIELDS
    assert shown["subscription"] == {k: v for k, v in shown.items() if k != "subscription"}
    assert "secret" not in str(shown)
    assert listed["subscriptions"] == listed["items"] == [shown["subscription"]]
    assert (listed["total"], listed["pagination"]["total"]) == (1, 1)
    assert shown["filter"] == {"queues": ["mail"], "job_types": []}


@spec("contract 26.2")
def test_the_store_and_the_log_hold_no_secret(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    made(api, secret="a-secret-of-mine")  # noqa: S106 - a secret of this test only

    row = Subscription.objects.get()

    assert b"a-secret-of-mine" not in bytes(row.secret)
    assert "a-secret-of-mine" not in caplog.text


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
@spec("WH-1")
def test_both_changes_merge(api: Api, method: str) -> None:
    known = made(api, metadata={"a": 1})

    changed = api(method, f"/subscriptions/{known['id']}", {"active": False}, status=200)

    assert (changed["active"], changed["url"], changed["metadata"]) == (False, URL, {"a": 1})
    assert changed["subscription"]["active"] is False


@spec("WH-1")
def test_a_deleted_subscription_is_gone(api: Api) -> None:
    known = made(api)

    api("DELETE", f"/subscriptions/{known['id']}", status=204)

    for method in ("GET", "DELETE"):
        api(method, f"/subscriptions/{known['id']}", status=404)
    api("PATCH", f"/subscriptions/{known['id']}", {}, status=404)


@spec("WH-6")
def test_a_rotation_shows_the_new_secret(api: Api) -> None:
    known = made(api)

    rotated = api("POST", f"/subscriptions/{known['id']}/rotate-secret", status=200)

    assert rotated["id"] == known["id"]
    assert rotated["secret"] == rotated["new_secret"] != known["secret"]
    assert rotated["previous_valid_until"]


@pytest.mark.parametrize(
    ("members", "status", "field"),
    [
        ({"url": None}, 400, "url"),
        ({"url": 1}, 400, "url"),
        ({"url": "example.com"}, 400, "url"),
        ({"url": "http://example.com/"}, 400, "url"),
        ({"url": "https://10.0.0.1/"}, 422, "url"),
        ({"url": "https://[::1]/"}, 422, "url"),
        ({"url": "https://localhost:8000/"}, 422, "url"),
        ({"url": "https://169.254.169.254/latest"}, 422, "url"),
        ({"events": None}, 400, "events"),
        ({"events": []}, 422, "events"),
        ({"events": "job.*"}, 422, "events"),
        ({"events": ["job*"]}, 422, "events"),
        ({"events": [1]}, 422, "events"),
        ({"events": ["*"] * 10_000}, 422, "events"),
        ({"filter": []}, 400, "filter"),
        ({"filter": {"tenants": []}}, 400, "filter.tenants"),
        ({"filter": {"queues": ["no queue"]}}, 422, "filter.queues"),
        ({"secret": "short"}, 400, "secret"),
        ({"secret": 12345678}, 400, "secret"),
        ({"active": "yes"}, 400, "active"),
        ({"metadata": 1}, 400, "metadata"),
        ({"timeout_ms": 1}, 400, "timeout_ms"),
        ({"timeout_ms": True}, 400, "timeout_ms"),
        ({"timeout_ms": 2**63 - 1}, 400, "timeout_ms"),
        ({"tenant_id": 1}, 400, "tenant_id"),
    ],
)
@spec("WH-2")
def test_a_wrong_member_is_named(
    api: Api, members: dict[str, Any], status: int, field: str
) -> None:
    body = {"url": URL, "events": ["job.*"], **members}

    error = api("POST", "/subscriptions", body, status=status)["error"]

    assert error["details"]["field"] == field
    assert Subscription.objects.count() == 0


@spec("WH-2")
def test_unknown_event_names_are_taken(api: Api) -> None:
    assert made(api, events=["own.event", "job.never_heard_of"])["events"] == [
        "own.event", "job.never_heard_of",
    ]  # fmt: skip


@spec("contract 26.1")
def test_metadata_that_is_too_large_is_refused(api: Api) -> None:
    body = {"url": URL, "events": ["*"], "metadata": {"a": "x" * 20_000}}

    api("POST", "/subscriptions", body, status=413)


@spec("contract 26.1")
def test_deliveries_are_listed_shown_and_sent_again(
    api: Api, subscribe: Subscribe, receiver: Receiver
) -> None:
    subscription = subscribe("job.enqueued")
    receiver.answers = [(400, {}), (200, {})]
    stored_ids(2)
    wait_until_complete()
    relay()
    send_due()

    dead = api("GET", "/deliveries?status=dead", status=200)["items"]
    of_it = api("GET", f"/deliveries?subscription_id={subscription.id}&per_page=1", status=200)
    none = api("GET", "/deliveries?event_type=job.failed", status=200)
    shown = api("GET", f"/deliveries/{dead[0]['id']}", status=200)
    again = api("POST", f"/deliveries/{dead[0]['id']}/retry", status=202)

    assert len(dead) == 1
    assert (len(of_it["deliveries"]), of_it["pagination"]["has_more"]) == (1, True)
    assert none["items"] == []
    assert [one["status_code"] for one in shown["attempt_log"]] == [400]
    assert (again["id"], again["status"]) == (dead[0]["id"], "pending")
    error = api("POST", f"/deliveries/{dead[0]['id']}/retry", status=409)["error"]
    assert error["code"] == "conflict"


@pytest.mark.parametrize("query", ["status=odd", "offset=999999", "limit=0", "event_type=%00"])
@spec("contract 26.1")
def test_a_wrong_parameter_is_refused(api: Api, query: str) -> None:
    api("GET", f"/deliveries?{query}", status=400)


@spec("contract 26.1")
def test_a_test_of_an_endpoint_that_is_down_answers_200(
    api: Api, subscribe: Subscribe, receiver: Receiver
) -> None:
    subscription = subscribe("*")
    receiver.stop()

    answer = api("POST", f"/subscriptions/{subscription.id}/test", status=200)

    assert (answer["success"], answer["status_code"], answer["status"]) == (False, 0, 0)
    assert answer["error"]


# --- tenants --------------------------------------------------------------------------------------

KeyOf = Callable[[str | None], Api]


@pytest.fixture
def key_of(settings: Any, empty: None) -> Iterator[KeyOf]:
    """Return a function that makes a client with a key of a tenant."""
    settings.OJS = {**settings.OJS, "AUTH": "apikey"}
    api_keys.cache.clear()

    def make(tenant: str | None) -> Api:
        _, text = create(NewKey("test", ("admin",), tenant=tenant))
        return Api(Authorization=f"Bearer {text}")

    yield make
    ApiKey.objects.all().delete()
    api_keys.cache.clear()


@spec("WH-12")
def test_a_bound_key_has_its_tenant_s_subscriptions_alone(key_of: KeyOf) -> None:
    north, south, admin = key_of("north"), key_of("south"), key_of(None)
    mine, global_one = made(north), made(admin)
    Delivery.objects.create(
        id="del_1",
        subscription_id=mine["id"],
        tenant="north",
        event_id="e",
        event_type="t",
        body=b"",
    )

    assert (mine["tenant_id"], global_one["tenant_id"]) == ("north", None)
    assert made(admin, tenant_id="east")["tenant_id"] == "east"
    assert [one["id"] for one in north("GET", "/subscriptions", status=200)["items"]] == [
        mine["id"]
    ]
    assert admin("GET", "/subscriptions", status=200)["total"] == 3
    assert south("GET", "/deliveries", status=200)["items"] == []
    for method, path, body in (
        ("GET", f"/subscriptions/{mine['id']}", None),
        ("PATCH", f"/subscriptions/{mine['id']}", {"active": False}),
        ("DELETE", f"/subscriptions/{mine['id']}", None),
        ("POST", f"/subscriptions/{mine['id']}/test", None),
        ("POST", f"/subscriptions/{mine['id']}/rotate-secret", None),
        ("GET", "/deliveries/del_1", None),
        ("POST", "/deliveries/del_1/retry", None),
    ):
        south(method, path, body, status=404)
    foreign = {"url": URL, "events": ["*"], "tenant_id": "north"}
    south("POST", "/subscriptions", foreign, status=403)
