"""The three failures of a deployment, with old and new producers and workers at once.

Spec: job-versioning 4. The arguments of version 2 have a currency. Old code ignores it, and new
code requires it.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import orjson
import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.job import Job
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.ack import Ack, ack
from tests.concurrency import at_once
from tests.factories import DraftFactory
from tests.spec import spec
from versioning.domain.canary_request import parse_wanted
from versioning.domain.declaration import declared
from versioning.services import routing

pytestmark = pytest.mark.usefixtures("store")

TYPE = "invoice.generate"
QUEUE = "invoices"
OLD: dict[str, Any] = {"customer_id": "cust_123", "amount": 9999}
NEW: dict[str, Any] = {**OLD, "currency": "EUR"}
JOBS = 30
ROUNDS = 50


@dataclass
class Books:
    """The enqueued or handled invoices, and their faults."""

    ids: list[str] = field(default_factory=list)
    wrong_currency: list[str] = field(default_factory=list)
    missing_field: list[str] = field(default_factory=list)


def by_old_code(job: Job, books: Books) -> None:
    """Ignore the currency, which it does not expect: the invoice is wrong."""
    if "currency" in orjson.loads(job.args)[0]:
        books.wrong_currency.append(job.id)


def by_new_code(job: Job, books: Books) -> None:
    """Crash where the currency is missing."""
    if "currency" not in orjson.loads(job.args)[0]:
        books.missing_field.append(job.id)


def produce(args: dict[str, Any], version: str | None, number: int = JOBS) -> Books:
    """Enqueue invoices one by one."""
    books = Books()
    for _ in range(number):
        draft = DraftFactory.create(type=TYPE, queue=QUEUE, args=[args], version=version)
        (job,) = enqueue([draft])
        assert job is not None
        books.ids.append(job.id)
    return books


def work(versions: str | None, handle: Callable[[Job, Books], None]) -> Books:
    """Fetch repeatedly, and acknowledge each handled job."""
    handlers = [] if versions is None else [{"type": TYPE, "versions": versions}]
    wanted = FetchRequest((QUEUE,), count=3, declaration=declared(handlers, is_exclusive=False))
    books = Books()
    for _ in range(ROUNDS):
        for job in fetch(wanted).jobs:
            handle(job, books)
            ack([Ack(job.id)])
            books.ids.append(job.id)
    return books


def deployment(
    versions: tuple[str, str], ranges: tuple[str, str]
) -> tuple[Books, Counter[str], set[str]]:
    """Deploy under load; return the faults, the handled jobs with their counts, and all jobs."""
    stale = produce(OLD, versions[0])  # enqueued before, processed after
    works: list[Callable[[], Books]] = [
        partial(produce, OLD, versions[0]),
        partial(produce, NEW, versions[1]),
        partial(work, ranges[0], by_old_code),
        partial(work, ranges[1], by_new_code),
    ]
    done = at_once(works)
    done += [work(ranges[0], by_old_code), work(ranges[1], by_new_code)]
    wrong = Books(
        wrong_currency=[one for books in done for one in books.wrong_currency],
        missing_field=[one for books in done for one in books.missing_field],
    )
    handled = Counter(one for books in done[2:] for one in books.ids)
    return wrong, handled, {*stale.ids, *done[0].ids, *done[1].ids}


@spec("job-versioning 4")
def test_with_versions_none_of_the_three_failures_happens() -> None:
    wrong, handled, every = deployment(("1.0", "2.0"), (">=1.0 <2.0", ">=2.0 <3.0"))

    assert wrong == Books()
    assert handled.keys() == every
    assert set(handled.values()) == {1}


@spec("job-versioning 4")
def test_nor_under_routing_rules_that_do_not_fit_the_jobs() -> None:
    rules = [{"version": "2.0", "weight": 50}, {"version": "1.0", "weight": 50}]
    routing.put(parse_wanted(TYPE, {"rules": rules}))

    wrong, handled, every = deployment(("1.0", "2.0"), (">=1.0 <2.0", ">=2.0 <3.0"))

    assert wrong == Books()
    assert handled.keys() == every


@spec("job-versioning 4")
def test_without_versions_they_do() -> None:
    stale = produce(OLD, None, 3)
    crashed = work(None, by_new_code)
    fresh = produce(NEW, None, 3)
    ignored = work(None, by_old_code)

    assert crashed.missing_field == stale.ids
    assert ignored.wrong_currency == fresh.ids
