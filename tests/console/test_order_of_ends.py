"""Lists, pages, exports and operations walk ended jobs in one order: by their end, then by id."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django_q.models import OrmQ
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from console import exports, operations, search, walk
from console.columns import chosen
from console.filters import JobFilter, read_place
from console.operations import Request
from jobs.domain.access.caller import Caller
from jobs.domain.outcome.bulk import Verb
from jobs.domain.states import State
from jobs.models import Finished
from jobs.models import Job as Row
from jobs.services.operate import bulk
from jobs.services.read import find as module
from jobs.services.read.find import Wanted, find_jobs
from tests.asserts import assert_state, assert_store_is_sound
from tests.effort import examples
from tests.factories import JobFactory

WHO = Caller("console:operator", address="192.0.2.7")
DEAD = {"dead": "1"}
NARROWED = {
    "dead": "1",
    "type": "mail.*",
}  # no index has these types: the search also reads rows that do not match
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
JOBS = 9

# minutes from BEGAN to the end of the n-th job in the order of ids; ties are common
ends = st.lists(st.integers(0, 12), min_size=JOBS, max_size=JOBS)
orders = settings(
    max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(autouse=True)
def clean(operator: User) -> None:
    """Remove all operations after the test, by the fixture `operator`."""


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages and slices small, and let a slice read more rows than it takes."""
    monkeypatch.setattr(walk, "SLICE", 2)
    monkeypatch.setattr(walk, "LOOKED", 5)
    monkeypatch.setattr(search, "SIZE", 2)
    monkeypatch.setattr(search, "LOOKED_WIDE", 5)
    monkeypatch.setattr(module, "LOOKED_WIDE", 100)
    clock = iter(range(10**6))
    monkeypatch.setattr(operations, "monotonic", lambda: next(clock) * 3.0)


@pytest.fixture
def ids() -> list[str]:
    """Return jobs of the dead letter, in the order of their ids."""
    return sorted(_dead(n) for n in range(JOBS))


def _dead(number: int, kind: str = "q") -> str:
    retry = {"on_exhaustion": "dead_letter"}
    queue = f"{kind}{number % 3}"
    job = JobFactory.create(state=State.DISCARDED, queue=queue, type="mail.send", retry=retry)
    return str(job.id)


def _end(ids: Sequence[str], minutes: Sequence[int]) -> list[str]:
    """Set the end of each job; return the ids, latest end first."""
    times = {job_id: BEGAN + timedelta(minutes=n) for job_id, n in zip(ids, minutes, strict=True)}
    for job_id, at in times.items():
        Finished.objects.filter(id=job_id).update(finished_at=at)
        Row.objects.filter(id=job_id).update(finished_at=at)
    return sorted(ids, key=lambda job_id: (times[job_id], job_id), reverse=True)


def _pages(asked: dict[str, str]) -> Iterator[list[str]]:
    """Read the list of the console as an operator does, page by page."""
    link = JobFilter.read(asked)
    for _ in range(100):
        page = search.page(link)
        yield [job.id for job in page.jobs]
        if page.next is None:
            return
        query = dict(part.split("=", 1) for part in link.link(page.next).split("&"))
        after = query["after"].replace("%7E", "~").replace("%3A", ":").replace("%2B", "+")
        assert read_place(after) == page.next
        link = JobFilter.read(asked | {"after": after})
    raise AssertionError("the pages have no end")


def _slices(asked: dict[str, str]) -> Iterator[list[str]]:
    """Walk the jobs as an operation does, without an action on them."""
    wanted = JobFilter.read(asked)
    place: bulk.Place | None = bulk.begin()
    for _ in range(100):
        if place is None:
            return
        found, place = walk.pick(wanted, [State.DISCARDED], place)
        yield found.ids
    raise AssertionError("the walk has no end")


def _run_tasks() -> None:
    while queued := OrmQ.objects.order_by("id").first():
        arguments = queued.task["args"]
        queued.delete()
        operations.go_on(*arguments)


@pytest.mark.parametrize("asked", [DEAD, NARROWED], ids=["counted", "narrowed"])
@orders
@given(minutes=ends)
def test_pages_slices_and_the_api_follow_the_ends(
    ids: list[str], asked: dict[str, str], minutes: list[int]
) -> None:
    expected = _end(ids, minutes)

    assert [job_id for page in _pages(asked) for job_id in page] == expected
    assert [job_id for part in _slices(asked) for job_id in part] == expected
    kind = "mail.%" if "type" in asked else None
    for ascending, order in ((False, expected), (True, expected[::-1])):
        wanted = Wanted(is_dead=True, type=kind, ascending=ascending)
        read = [find_jobs(wanted, offset=n, limit=2).jobs for n in range(0, JOBS + 1, 2)]
        assert [job.id for page in read for job in page] == order


@pytest.mark.parametrize("asked", [DEAD, NARROWED], ids=["counted", "narrowed"])
@pytest.mark.parametrize("verb", ["retry", "delete"])
@settings(parent=orders, max_examples=examples(6))
@given(minutes=ends, late=st.integers(0, 3))
def test_an_operation_takes_each_job_that_was_dead_when_it_began(
    verb: str, asked: dict[str, str], minutes: list[int], late: int
) -> None:
    ids = sorted(_dead(n) for n in range(JOBS))
    _end(ids, minutes)
    operation = operations.start(Request(verb, JobFilter.read(asked), "a drill"), WHO)
    operations.go_on(*_next_task())
    failed_meanwhile = [_dead(number) for number in range(late)] if verb == "delete" else []

    _run_tasks()

    operation.refresh_from_db()
    assert (operation.state, operation.matched, operation.done) == ("done", JOBS, JOBS)
    assert not Row.objects.filter(id__in=ids, state__isnull=False).exists()
    assert_state(State.DISCARDED, *failed_meanwhile)
    assert_store_is_sound()
    bulk.act_on(Verb.CANCEL, ids, "test")
    bulk.act_on(Verb.DELETE, [*ids, *failed_meanwhile], "test")


def _next_task() -> Any:
    queued = OrmQ.objects.get()
    arguments = queued.task["args"]
    queued.delete()
    return arguments


@settings(parent=orders, max_examples=examples(5))
@given(minutes=ends)
def test_an_export_has_each_job_once_in_the_order_of_the_list(
    ids: list[str], minutes: list[int]
) -> None:
    expected = _end(ids, minutes)
    wanted = Request(
        "export", JobFilter.read(NARROWED), None, exports.Format.CSV, chosen(["state"])
    )

    operation = operations.start(wanted, WHO)
    _run_tasks()

    operation.refresh_from_db()
    lines = b"".join(exports.read(operation)).decode().split()
    assert [line.partition(",")[0] for line in lines[1:]] == expected


def test_the_page_says_how_many_still_match(ids: list[str], console: Client) -> None:
    operation = operations.start(Request("retry", JobFilter.read(NARROWED), "a drill"), WHO)
    _run_tasks()
    failed_since = [_dead(number, "since") for number in range(2)]

    shown = console.get(reverse("ojs_console:operation", args=[operation.pk]))

    operation.refresh_from_db()
    assert operation.done == JOBS
    assert shown.context["still"].jobs == len(failed_since)
    assert "Still match" in shown.content.decode()


def test_the_page_says_when_none_matches_any_more(ids: list[str], console: Client) -> None:
    operation = operations.start(Request("delete", JobFilter.read(DEAD), "a drill"), WHO)
    _run_tasks()

    shown = console.get(reverse("ojs_console:operation", args=[operation.pk]))

    assert shown.context["still"].jobs == 0
    assert "No job matches any more" in shown.content.decode()


def test_live_jobs_in_any_state_are_read_in_one_order() -> None:
    """A search that reads few rows of several states continues after the last row that it read."""
    states = (State.AVAILABLE, State.SCHEDULED, State.AVAILABLE, State.SCHEDULED)
    ids = [JobFactory.create(state=state, queue=f"q{n}").id for n, state in enumerate(states)]
    for number in range(4):
        ids.append(JobFactory.create(state=State.SCHEDULED, queue=f"late{number}").id)

    wanted = Wanted(is_live=True)
    read: list[str] = []
    after = None
    for _ in range(len(ids) + 1):
        found = module.find(wanted, size=3, looked=3, after=after)
        read += found.ids
        if found.rest is None:
            break
        after = module.Place(found.rest)

    assert read == sorted(ids, reverse=True)


def test_retention_leaves_the_place_of_a_page_usable(ids: list[str]) -> None:
    """The removal of the last job of a page does not change the start of the next page."""
    expected = _end(ids, list(range(JOBS)))
    page = search.page(JobFilter.read(DEAD))
    bulk.act_on(Verb.DELETE, [page.jobs[-1].id], "test")
    assert page.next is not None

    following = search.page(JobFilter.read(DEAD | {"after": f"{page.next.id}~{page.next.at}"}))

    assert [job.id for job in following.jobs] == expected[2:4]
