"""The path from an event to the subscriber's server. Spec: contract 26.2."""

import socket
import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.db import transaction
from django.utils import timezone

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.record.events import Kind
from jobs.models import Event
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.operate.queues import pause
from jobs.services.outcome.nack import Nack, nack
from tests.alerts import alerts_of
from tests.concurrency import threads, until, wait_until_complete
from tests.factories import DraftFactory, error, stored, stored_ids
from tests.spec import spec
from tests.webhooks.conftest import Configure, Receiver, Subscribe
from webhooks.domain.signature import sign
from webhooks.models import Attempt, Delivery, Position, Status, Subscription
from webhooks.services import subscriptions
from webhooks.services.deliveries import delete_expired_deliveries, retry, send_test
from webhooks.services.post import post
from webhooks.services.relay import relay
from webhooks.services.send import Sender, attempt, claim, record, send_due

DEADLINE_S = 30


def relay_all() -> None:
    """Turn all complete events into deliveries."""
    wait_until_complete()
    while relay():
        pass


def due_now() -> None:
    """Make all waiting deliveries due."""
    Delivery.objects.filter(next_attempt_at__isnull=False).update(
        next_attempt_at=timezone.now() - timedelta(seconds=1)
    )


def count_events(kind: Kind) -> int:
    """Return the number of events of a kind."""
    return Event.objects.filter(kind=kind).count()


@spec("WH-4")
def test_and_5_an_event_arrives_as_its_signed_envelope(
    subscribe: Subscribe, receiver: Receiver
) -> None:
    subscription = subscribe("job.enqueued", secret="my-own-secret")  # noqa: S106 - a secret of this test only
    (job_id,) = stored_ids(1)
    relay_all()

    assert send_due() == 1

    _, headers, body = receiver.requests[0]
    event = orjson.loads(body)
    delivery = Delivery.objects.get()
    assert (event["type"], event["data"]["job_id"]) == ("job.enqueued", job_id)
    assert headers["Content-Type"] == "application/json"
    assert headers["User-Agent"].startswith("OJS-Webhook/1.0 (")
    assert headers["X-OJS-Event-Type"] == "job.enqueued"
    assert headers["X-OJS-Delivery-ID"] == delivery.id
    assert headers["X-OJS-Subscription-ID"] == subscription.id
    timestamp = headers["X-OJS-Timestamp"]
    assert headers["X-OJS-Signature"] == sign(["my-own-secret"], timestamp, body)
    assert (delivery.status, delivery.attempts, delivery.last_status_code) == ("delivered", 1, 200)
    assert count_events(Kind.WEBHOOK_DELIVERED) == 1


@spec("WH-5")
def test_a_second_attempt_keeps_the_delivery_id(subscribe: Subscribe, receiver: Receiver) -> None:
    subscribe("job.enqueued")
    receiver.answers = [(500, {}), (200, {})]
    stored_ids(1)
    relay_all()

    send_due()
    due_now()
    send_due()

    first, second = (headers for _, headers, _ in receiver.requests)
    assert first["X-OJS-Delivery-ID"] == second["X-OJS-Delivery-ID"]
    assert [(one.number, one.status_code) for one in Attempt.objects.order_by("number")] == [
        (1, 500), (2, 200),
    ]  # fmt: skip


@spec("WH-6")
def test_for_a_day_both_secrets_sign(subscribe: Subscribe, receiver: Receiver) -> None:
    subscription = subscribe("job.enqueued", secret="the-first-one")  # noqa: S106 - a secret of this test only
    _, new = subscriptions.rotate(subscription.id)
    stored_ids(2)
    relay_all()
    send_due()
    Subscription.objects.update(previous_valid_until=timezone.now())
    due_now()
    stored_ids(1)
    relay_all()

    send_due()

    for (_, headers, body), secrets in zip(
        receiver.requests, [[new, "the-first-one"]] * 2 + [[new]], strict=True
    ):
        assert headers["X-OJS-Signature"] == sign(secrets, headers["X-OJS-Timestamp"], body)


@pytest.mark.parametrize(
    ("status", "headers", "expected"),
    [
        (204, {}, Status.DELIVERED), (400, {}, Status.DEAD), (404, {}, Status.DEAD),
        (410, {}, Status.DEAD), (429, {"Retry-After": "7200"}, Status.FAILED),
        (500, {}, Status.FAILED), (503, {}, Status.FAILED), (304, {}, Status.FAILED),
    ],
)  # fmt: skip
@spec("WH-7")
def test_the_answer_decides(
    subscribe: Subscribe, receiver: Receiver, status: int, headers: dict[str, str], expected: str
) -> None:
    subscribe("job.enqueued")
    receiver.answers = [(status, headers)]
    stored_ids(1)
    relay_all()

    send_due()

    delivery = Delivery.objects.get()
    assert delivery.status == expected
    if status == 429:
        assert delivery.next_attempt_at is not None
        assert delivery.next_attempt_at > timezone.now() + timedelta(hours=1.9)


@spec("WH-8")
def test_after_the_last_attempt_a_delivery_is_dead(
    subscribe: Subscribe, receiver: Receiver, configure: Configure
) -> None:
    configure(RETRY_SCHEDULE_S=(0, 1, 1, 1, 1))
    subscribe("job.enqueued")
    receiver.answers = [(500, {})]
    stored_ids(1)
    relay_all()

    for _ in range(7):
        send_due()
        due_now()

    assert len(receiver.requests) == 5
    assert Delivery.objects.get().status == Status.DEAD
    assert (count_events(Kind.WEBHOOK_FAILED), count_events(Kind.WEBHOOK_DEAD)) == (4, 1)
    assert Subscription.objects.get().failure_count == 5


@spec("WH-9")
def test_an_attempt_ends_with_its_time(receiver: Receiver) -> None:
    receiver.is_held.clear()

    answer = post(receiver.url, b"{}", {}, 0.3)

    assert (answer.status, answer.error) == (None, "timeout")
    assert answer.took_ms < 10_000


@spec("WH-9")
def test_a_server_that_sends_a_byte_now_and_then_holds_nobody(configure: Configure) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()

        def drip() -> None:
            line, _ = listener.accept()
            with line:
                for _ in range(200):
                    try:
                        line.send(b"H")
                    except OSError:
                        return
                    if over.wait(0.1):
                        return

        with threads(1) as start:
            done = start(drip)
            answer = post(f"http://127.0.0.1:{listener.getsockname()[1]}/", b"{}", {}, 0.5)
            over.set()
            done.result()

    assert (answer.status, answer.error) == (None, "timeout")
    assert answer.took_ms < 5_000


@spec("WH-7")
def test_nobody_there_is_tried_again(subscribe: Subscribe, receiver: Receiver) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    subscribe("job.enqueued", url=f"http://127.0.0.1:{port}/")
    stored_ids(1)
    relay_all()

    send_due()

    delivery = Delivery.objects.get()
    assert delivery.status == Status.FAILED
    assert delivery.last_error == "connection refused"


@spec("WH-12")
def test_a_subscription_of_a_tenant_gets_its_tenant_s_events(
    subscribe: Subscribe, receiver: Receiver
) -> None:
    north = subscribe("*", tenant="north")
    everybody = subscribe("job.*")

    enqueue([replace(DraftFactory.create(), tenant=name) for name in ("north", "south")])
    pause("mail")
    relay_all()

    by: dict[str, list[str]] = {one.id: [] for one in (north, everybody)}
    for delivery in Delivery.objects.all():
        event = orjson.loads(bytes(delivery.body))
        by[delivery.subscription_id].append(event["data"].get("tenant_id", event["type"]))

    assert set(by[north.id]) == {"north"}
    assert sorted(by[everybody.id]) == ["north", "south"]


@spec("WH-1")
def test_events_before_the_subscription_are_not_sent(
    subscribe: Subscribe, receiver: Receiver
) -> None:
    stored_ids(3)
    wait_until_complete()
    subscribe("*")
    wanted = stored_ids(1)

    relay_all()

    bodies = [
        orjson.loads(bytes(one.body)) for one in Delivery.objects.filter(event_type="job.enqueued")
    ]
    assert [body["data"]["job_id"] for body in bodies] == wanted


@spec("WH-1")
def test_one_failure_for_good_is_four_deliveries(subscribe: Subscribe, receiver: Receiver) -> None:

    subscribe("job.failed", "job.retry_exhausted", "job.discarded", "job.dead_lettered")
    (job,) = stored(1, retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
    fetch(FetchRequest(("default",)))
    nack([Nack(job.id, error())])

    relay_all()

    assert Delivery.objects.count() == 4


@spec("WH-10")
def test_an_event_read_twice_is_delivered_once(subscribe: Subscribe, receiver: Receiver) -> None:

    subscribe("job.*")
    before = Position.objects.get().place
    stored_ids(3)
    relay_all()

    Position.objects.update(place=before)  # as after a restore
    relay_all()

    assert Delivery.objects.count() == 3


@spec("WH-10")
def test_deliveries_wait_for_an_older_transaction_and_none_is_missed(
    subscribe: Subscribe, receiver: Receiver
) -> None:
    subscribe("job.enqueued")
    is_open, may_end = threading.Event(), threading.Event()

    def enqueue_slowly() -> list[str]:
        with transaction.atomic():
            ids = stored_ids(1, queue="slow")
            is_open.set()
            may_end.wait(DEADLINE_S)
        return ids

    with threads(1) as start:
        slow = start(enqueue_slowly)
        is_open.wait(DEADLINE_S)
        quick = stored_ids(1)
        relay()
        may_end.set()
        wanted = {*slow.result(), *quick}
    relay_all()

    found = [orjson.loads(bytes(one.body))["data"]["job_id"] for one in Delivery.objects.all()]
    assert sorted(found) == sorted(wanted)


@spec("WH-13")
def test_a_dead_delivery_can_be_sent_again(subscribe: Subscribe, receiver: Receiver) -> None:
    subscribe("job.enqueued")
    receiver.answers = [(400, {}), (200, {})]
    stored_ids(1)
    relay_all()
    send_due()
    dead = Delivery.objects.get()

    retry(dead.id)
    send_due()

    again = Delivery.objects.get()
    assert (dead.status, again.status, again.id) == (Status.DEAD, Status.DELIVERED, dead.id)
    assert (again.attempts, again.tries) == (2, 1)


@spec("WH-14")
def test_too_many_dead_deliveries_switch_a_subscription_off(
    subscribe: Subscribe, receiver: Receiver, configure: Configure
) -> None:
    configure(DISABLE_AFTER=3)
    subscription = subscribe("job.enqueued")
    receiver.answers = [(410, {})]
    stored_ids(3)
    relay_all()

    send_due()

    subscription.refresh_from_db()
    assert not subscription.active
    assert subscription.disabled_reason
    assert count_events(Kind.WEBHOOK_DISABLED) == 1
    (alert,) = alerts_of("webhook_off")
    assert (alert.kind, alert.subject) == ("webhook_off", subscription.id)
    assert subscription.disabled_reason in alert.text
    changed = subscriptions.change(subscription.id, None, {"active": True})
    assert (changed.active, changed.disabled_reason, changed.dead_in_row) == (True, None, 0)


@spec("contract 26.1")
def test_deleting_a_subscription_cancels_what_waits(
    subscribe: Subscribe, receiver: Receiver
) -> None:
    subscription = subscribe("job.enqueued")
    stored_ids(2)
    relay_all()

    subscriptions.delete(subscription.id)

    assert set(Delivery.objects.values_list("status", flat=True)) == {Status.CANCELLED}
    assert send_due() == 0
    assert receiver.requests == []


@spec("contract 28")
def test_old_deliveries_are_forgotten_with_their_attempts(
    subscribe: Subscribe, receiver: Receiver
) -> None:
    subscribe("job.enqueued")
    stored_ids(2)
    relay_all()
    send_due()
    old = Delivery.objects.first()
    assert old is not None
    Delivery.objects.filter(id=old.id).update(ended_at=timezone.now() - timedelta(days=31))

    assert delete_expired_deliveries() == 1

    assert Delivery.objects.count() == 1
    assert Attempt.objects.count() == 1


# --- allowed destinations -------------------------------------------------------------------------


@spec("contract 26.2")
def test_a_name_that_resolves_into_a_private_network_is_refused(
    receiver: Receiver, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(ALLOW_PRIVATE=False)
    entry = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))
    public = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("1.1.1.1", 80))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: [public, entry])

    answer = post("http://rebound.example/", b"{}", {}, 5)

    assert answer.is_final
    assert answer.error is not None
    assert answer.error == "rebound.example does not lead to a public address"
    assert receiver.requests == []


@spec("contract 26.2")
def test_the_connection_goes_to_the_address_that_was_judged(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(receiver.url.rpartition(":")[2])
    asked = []

    def resolve(host: str, *_arguments: object, **_options: object) -> list[object]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)

    answer = post(f"http://named.example:{port}/hook?x=1", b"{}", {}, 5)

    assert answer.is_success
    path, headers, _ = receiver.requests[0]
    assert (path, headers["Host"]) == ("/hook?x=1", f"named.example:{port}")
    assert asked[0] == "named.example"
    assert set(asked[1:]) <= {"127.0.0.1"}


@spec("WH-7")
def test_redirects_are_followed_three_times_and_judged_each(
    receiver: Receiver, configure: Configure
) -> None:
    receiver.answers = [(307, {"Location": "/next"})] * 3 + [(200, {})]
    assert post(f"{receiver.url}/first", b"{}", {}, 5).is_success
    assert [path for path, _, _ in receiver.requests] == ["/first", "/next", "/next", "/next"]

    receiver.answers = [(307, {"Location": "/next"})]
    assert post(receiver.url, b"{}", {}, 5).error == "too many redirects"

    configure(REDIRECTS=0)
    assert post(receiver.url, b"{}", {}, 5).status == 307


@spec("contract 26.2")
def test_a_redirect_to_a_refused_scheme_is_the_end(receiver: Receiver) -> None:
    receiver.answers = [(302, {"Location": "file:///etc/passwd"})]

    answer = post(receiver.url, b"{}", {}, 5)

    assert answer.is_final
    assert answer.status is None


@spec("contract 26.1")
def test_only_the_first_kib_of_an_answer_is_kept(receiver: Receiver) -> None:
    receiver.body = b"x" * 1_000_000

    answer = post(receiver.url, b"{}", {}, 5)

    assert answer.body == "x" * 1024


@spec("contract 26.1")
def test_a_test_is_sent_once_and_leaves_no_delivery(
    subscribe: Subscribe, receiver: Receiver
) -> None:
    receiver.answers = [(503, {})]

    answer = send_test(subscribe("job.*"))

    _, headers, body = receiver.requests[0]
    assert (answer.status, answer.is_success) == (503, False)
    assert headers["X-OJS-Event-Type"] == orjson.loads(body)["type"] == "webhook.test"
    assert Delivery.objects.count() == 0


@spec("contract 26.2")
def test_a_secret_sealed_with_another_key_is_said_and_not_sent(
    subscribe: Subscribe, receiver: Receiver, settings: Any
) -> None:
    subscribe("job.enqueued")
    stored_ids(1)
    relay_all()
    settings.SECRET_KEY = "another"  # noqa: S105 - a key of this test only

    send_due()

    assert receiver.requests == []
    assert Delivery.objects.get().status == Status.DEAD


# --- the loop -------------------------------------------------------------------------------------


@spec("WH-10")
def test_a_slow_subscriber_holds_up_itself_alone(
    subscribe: Subscribe, receiver: Receiver, configure: Configure
) -> None:
    configure(CONCURRENCY=4, CONCURRENCY_PER_SUBSCRIPTION=2)
    slow = Receiver()
    slow.is_held.clear()
    try:
        subscribe("job.enqueued", url=slow.url)
        subscribe("job.enqueued")
        stored_ids(5)
        relay_all()
        sender = Sender()

        def is_done() -> bool:
            sender.run_once()
            return len(receiver.requests) == 5

        until(is_done)

        assert len(slow.requests) <= 2
        slow.is_held.set()
        until(lambda: bool(sender.run_once() or True) and len(slow.requests) == 5)
        until(
            lambda: (
                bool(sender.run_once() or True)
                and not Delivery.objects.exclude(status=Status.DELIVERED).exists()
            )
        )
    finally:
        slow.stop()


@spec("WH-10")
def test_two_senders_share_the_work_without_a_double(
    subscribe: Subscribe, receiver: Receiver
) -> None:
    subscribe("job.enqueued")
    stored_ids(30)
    relay_all()

    with threads(2) as start:
        sent = sum(future.result() for future in [start(send_due) for _ in range(2)])

    ids = [headers["X-OJS-Delivery-ID"] for _, headers, _ in receiver.requests]
    assert sent == len(ids) == len(set(ids)) == 30


@spec("WH-10")
def test_what_a_killed_process_had_under_way_is_sent_again(
    subscribe: Subscribe, receiver: Receiver
) -> None:

    subscribe("job.enqueued")
    stored_ids(1)
    relay_all()
    (lost,) = claim(10)  # the process is killed before or after its request
    attempt(lost)
    assert send_due() == 0, "its lease holds"
    due_now()  # its lease expires

    assert send_due() == 1

    assert Delivery.objects.get().status == Status.DELIVERED
    record([(lost, attempt(lost))])  # the lost attempt ends after all, and is only logged
    assert Delivery.objects.get().attempts == 2
    assert count_events(Kind.WEBHOOK_DELIVERED) == 1
