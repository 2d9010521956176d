"""The pages of events and webhooks. Spec: contract 25, 26."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from jobs.domain.access.caller import Caller
from tests.factories import stored_ids
from webhooks.models import Attempt, Delivery, Position, Status, Subscription
from webhooks.services import subscriptions
from webhooks.services.subscriptions import Draft

EVENTS, WEBHOOKS = "/console/events/", "/console/webhooks/"


@pytest.fixture(autouse=True)
def _clean(store: None) -> Iterator[None]:
    yield
    for table in (Attempt, Delivery, Subscription, Position):
        table.objects.all().delete()


def act(console: Client, verb: str, **form: str) -> str:
    """Send the form of an action and return the next page."""
    address = reverse("ojs_console:act", args=[verb])
    return console.post(address, {"next": WEBHOOKS, **form}, follow=True).content.decode()


def test_the_events_page_lists_by_filter_and_says_what_to_follow(console: Client) -> None:
    stored_ids(2, queue="mail")
    stored_ids(1, queue="other")

    answer = console.get(EVENTS, {"queue": "mail", "type": "job.*"})

    assert len(answer.context["rows"]) == 2
    assert answer.context["stream"] == "/ojs/v1/events/stream?types=job.%2A&queue=mail"
    assert "data-ojs-stream" in answer.content.decode()


@pytest.mark.parametrize("query", ["page=0", "page=x", "page=99999999", "queue=%00", "type=%00x"])
def test_the_events_page_takes_any_query(console: Client, query: str) -> None:
    assert console.get(f"{EVENTS}?{query}").status_code == 200


def test_the_events_page_says_that_a_job_id_is_none(console: Client) -> None:
    assert "is not a job id" in console.get(EVENTS, {"job": "x"}).content.decode()


def test_older_events_are_a_page_that_does_not_grow(console: Client) -> None:
    stored_ids(60)

    first = console.get(EVENTS)
    second = console.get(EVENTS, {"page": "2"})

    assert first.context["next_link"] == "page=2"
    assert len(second.context["rows"]) == 10
    assert second.context["stream"] == ""


def test_an_operator_subscribes_and_sees_the_secret_once(console: Client) -> None:
    page = act(
        console, "webhook-create", url="https://example.org/hooks", events="job.* queue.paused"
    )

    made = Subscription.objects.get()
    assert made.events == ["job.*", "queue.paused"]
    assert "whsec_" in page
    assert "whsec_" not in console.get(WEBHOOKS).content.decode()


@pytest.mark.parametrize("verb", ["webhook-create", "webhook-rotate"])
def test_a_secret_is_in_the_answer_alone_and_in_no_cookie_or_session(
    console: Client, verb: str
) -> None:
    made, _ = subscriptions.create(Draft("https://example.org/", ["*"]), Caller("test"))
    form = {"id": made.id, "url": "https://example.org/other", "events": "*"}

    answer = console.post(reverse("ojs_console:act", args=[verb]), form)

    assert "whsec_" in answer.content.decode()
    assert answer["Cache-Control"] == "no-store"
    assert "whsec_" not in str(answer.cookies)
    assert "messages" not in answer.cookies
    assert "whsec_" not in str(dict(console.session))


def test_a_refused_address_is_said(console: Client) -> None:
    page = act(console, "webhook-create", url="https://10.0.0.1/", events="*")

    assert "private network" in page
    assert not Subscription.objects.exists()


def test_an_operator_switches_rotates_and_deletes(console: Client) -> None:
    made, _ = subscriptions.create(Draft("https://example.org/", ["*"]), Caller("test"))

    assert "is disabled" in act(console, "webhook-disable", id=made.id)
    assert "is enabled" in act(console, "webhook-enable", id=made.id)
    assert "whsec_" in act(console, "webhook-rotate", id=made.id)
    assert "is deleted" in act(console, "webhook-delete", id=made.id)
    assert "does not exist" in act(console, "webhook-delete", id=made.id)


def test_a_delivery_is_looked_at_and_sent_again(console: Client) -> None:
    made, _ = subscriptions.create(Draft("https://example.org/", ["*"]), Caller("test"))
    Delivery.objects.create(
        id="del_1", subscription_id=made.id, event_id="e", event_type="job.completed",
        body=b'{"type": "job.completed"}', status=Status.DEAD, attempts=1,
    )  # fmt: skip
    Attempt.objects.create(delivery_id="del_1", number=1, took_ms=7, error="refused & gone")

    listed = console.get(WEBHOOKS, {"status": "dead"})
    shown = console.get(f"{WEBHOOKS}deliveries/del_1/").content.decode()

    assert len(listed.context["rows"]) == 1
    assert "refused &amp; gone" in shown
    assert "https://example.org/" in shown
    assert "is sent again" in act(console, "webhook-retry", id="del_1")
    assert Delivery.objects.get().status == Status.PENDING
    assert console.get(f"{WEBHOOKS}deliveries/none/").status_code == 404


def test_a_delivery_with_more_attempts_is_retrying(console: Client) -> None:
    Delivery.objects.create(
        id="del_1", subscription_id="sub_gone", event_id="e", event_type="job.completed",
        body=b"{}", status=Status.FAILED, attempts=1, next_attempt_at=timezone.now(),
    )  # fmt: skip

    listed = console.get(WEBHOOKS, {"status": "failed"}).content.decode()
    shown = console.get(f"{WEBHOOKS}deliveries/del_1/").content.decode()

    for page in (listed, shown):
        assert '<span class="badge retryable">retrying</span>' in page
    assert "The subscription was deleted." in shown


def test_who_may_only_look_at_jobs_sees_no_webhooks(viewer: User) -> None:
    client = Client()
    client.force_login(viewer)

    assert client.get(EVENTS).status_code == 200
    assert client.get(WEBHOOKS).status_code == 403
    assert client.post(reverse("ojs_console:act", args=["webhook-test"])).status_code == 403
