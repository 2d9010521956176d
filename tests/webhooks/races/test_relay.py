"""Concurrent relays, and the first subscription racing a relay. Spec: contract 26, WH-10."""

import threading
from collections import Counter

import orjson

from tests.concurrency import at_once, threads, wait_until_complete
from tests.factories import stored_ids
from tests.spec import spec
from tests.webhooks.conftest import Receiver, Subscribe
from webhooks.models import Delivery
from webhooks.services.relay import relay
from webhooks.services.subscriptions import delete

ROUNDS = 5


def delivered() -> Counter[str]:
    """Count the deliveries of each job."""
    bodies = [orjson.loads(bytes(one.body)) for one in Delivery.objects.all()]
    return Counter(body["data"]["job_id"] for body in bodies)


@spec("WH-10")
def test_relays_at_once_make_each_delivery_once(subscribe: Subscribe, receiver: Receiver) -> None:
    subscribe("job.enqueued")
    wanted: list[str] = []
    for _ in range(ROUNDS):
        wanted += stored_ids(20)
        wait_until_complete()
        at_once([relay] * 4)

    assert delivered() == Counter(wanted)


@spec("WH-10")
def test_nothing_is_missed_while_producers_and_a_relay_run(
    subscribe: Subscribe, receiver: Receiver
) -> None:
    subscribe("job.enqueued")
    over = threading.Event()

    def relay_on() -> None:
        while not over.is_set():
            relay()

    with threads(4) as start:
        reading = start(relay_on)
        wanted = [
            job_id
            for future in [start(lambda: [stored_ids(1)[0] for _ in range(30)]) for _ in range(3)]
            for job_id in future.result()
        ]
        over.set()
        reading.result()
    wait_until_complete()
    while relay():
        pass

    assert delivered() == Counter(wanted)


@spec("WH-1")
def test_who_subscribes_after_a_pause_gets_nothing_of_it(
    subscribe: Subscribe, receiver: Receiver
) -> None:
    first = subscribe("job.enqueued")
    delete(first.id)
    stored_ids(5)
    wait_until_complete()
    subscribe("job.enqueued")
    wanted = stored_ids(3)
    wait_until_complete()
    at_once([relay] * 2)

    assert delivered() == Counter(wanted)
