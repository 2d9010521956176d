"""Concurrent requests with equal idempotency keys, and verbs on equal jobs. Spec: contract 11.2."""

from concurrent.futures import Future
from threading import Event

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import Conflict
from jobs.domain.outcome.bulk import JobFilter, Verb
from jobs.models import Job
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.idempotency import Reply, Ticket, once
from jobs.services.operate.bulk import run
from jobs.services.outcome.ack import Ack, ack
from tests.asserts import assert_store_is_sound
from tests.concurrency import at_once, threads, until, wait_until_blocked
from tests.factories import stored_ids
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")


@spec("contract 11.2")
def test_of_equal_requests_at_once_one_does_the_work() -> None:
    ticket = Ticket("op", None, "k", b"{}", is_atomic=True)

    def work() -> Reply:
        stored_ids(1)
        return Reply(201, b"stored")

    replies = at_once([lambda: once(ticket, work)] * 16)

    assert {reply.body for reply in replies} == {b"stored"}
    assert sum(not reply.is_repeated for reply in replies) == 1
    assert Job.objects.count() == 1


@spec("contract 11.2")
def test_a_request_waits_for_the_equal_one_before_it() -> None:
    ticket = Ticket("op", None, "k", b"{}", is_atomic=True)
    with threads(1) as start:
        waiting: list[Future[Reply]] = []

        def work() -> Reply:
            waiting.append(start(lambda: once(ticket, lambda: Reply(200, b"second"))))
            wait_until_blocked()
            return Reply(200, b"first")

        once(ticket, work)

        assert waiting[0].result().body == b"first"


@spec("contract 11.2")
def test_without_a_transaction_the_second_is_told_to_come_back() -> None:
    ticket = Ticket("op", None, "k", b"{}", is_atomic=False)

    def work() -> Reply:
        with pytest.raises(Conflict):
            at_once([lambda: once(ticket, lambda: Reply(200, b"second"))])
        return Reply(200, b"first")

    assert once(ticket, work).body == b"first"


def test_verbs_and_workers_on_the_same_jobs_move_each_of_them_once() -> None:
    ids = stored_ids(600)
    over = Event()

    def work() -> int:
        ended = 0
        while not over.is_set():
            jobs = fetch(FetchRequest(("default",), count=20)).jobs
            ended += len(ack([Ack(job.id) for job in jobs])) if jobs else 0
        return ended

    with threads(2) as start:
        workers = [start(work) for _ in range(2)]
        try:
            reports = at_once([lambda: run(Verb.CANCEL, JobFilter(), "t", most=1000)] * 4)
            until(lambda: not Job.objects.filter(state=None).exists())
        finally:
            over.set()
        completed = sum(worker.result() for worker in workers)

    cancelled = [job_id for report in reports for job_id in report.done]
    assert len(cancelled) == len(set(cancelled))
    assert len(cancelled) + completed == len(ids)
    assert_store_is_sound()
