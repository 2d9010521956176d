"""Paged lists: together the pages are the whole list, and a full page costs no more."""

from typing import Any

import pytest
from django.test import Client

from console import search, walk
from console.filters import JobFilter
from console.search import Total
from console.views import queues as queues_page
from console.views import workers as workers_page
from jobs.domain.states import State
from jobs.models import Queue, Worker
from jobs.services.outcome.cancel import cancel
from jobs.services.read.find import Wanted, find
from jobs.services.workers.workers import WorkerFilter, workers
from tests.concurrency import aggregate_all
from tests.console.test_pages import text, url
from tests.factories import stored_ids

pytestmark = pytest.mark.usefixtures("store")
AT = "2026-11-22T12:00:00Z"


def some_workers() -> list[list[str]]:
    """Make workers in every state; return their ids by state, in the order of the list."""
    made: list[dict[str, dict[str, Any]]] = [
        {f"live {n}": {} for n in range(5)} | {"zöe/1": {"hostname": "a b&c"}},
        {f"a dead {n}": {"dead_at": AT} for n in range(3)},
        {f"a stopped {n}": {"stopped_at": AT} for n in range(3)},
        {"a stopped and dead": {"stopped_at": AT, "dead_at": AT}},
    ]
    for one in made[::-1]:
        for name, facts in one.items():
            Worker.objects.create(id=name, **facts)
    return [list(one) for one in made]


def walked(console: Client, address: str, rows: str) -> list[list[Any]]:
    """Follow the links of a list to its end; return the rows of each page."""
    pages, query = [], address.partition("?")[2]
    while True:
        context = console.get(f"{address.partition('?')[0]}?{query}").context
        pages.append(list(context[rows]))
        if not context["next_link"]:
            return pages
        query = context["next_link"].removeprefix("?")


@pytest.mark.parametrize("size", [1, 4, 6, 50])
def test_pages_of_workers_join_to_the_whole_list(
    console: Client, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    by_standing = some_workers()
    monkeypatch.setattr(workers_page, "SIZE", size)

    pages = walked(console, f"{url('workers')}?ended=1", "workers")
    living = walked(console, url("workers"), "workers")

    found = [worker.id for page in pages for worker in page]
    assert found == [one.id for one in workers(WorkerFilter(with_ended=True), limit=50)]
    assert found == [name for names in by_standing for name in names]
    assert {len(page) for page in pages[:-1]} <= {size}
    assert [worker.id for page in living for worker in page] == by_standing[0]


def test_workers_are_found_by_a_part_of_name_or_host(console: Client) -> None:
    some_workers()

    def found(**query: str) -> list[str]:
        return [worker.id for worker in console.get(url("workers"), query).context["workers"]]

    assert found(name="b&c") == ["zöe/1"]
    assert found(name="live 3") == ["live 3"]
    assert found(name="dead") == []
    assert found(name="dead", ended="1") == [f"a dead {n}" for n in range(3)] + [
        "a stopped and dead"
    ]
    assert found(name="%") == []
    assert "No worker with “none” in name or host" in text(console, f"{url('workers')}?name=none")
    assert "No more workers" in text(console, f"{url('workers')}?after=3~a")
    assert len(found(after="no place")) == 6


@pytest.mark.parametrize("size", [1, 3, 50])
def test_pages_of_queues_join_to_the_whole_list(
    console: Client, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    names = sorted(["a", "a.b", "a&b", "b c", "zöe", "A", "mail"], key=str.encode)
    Queue.objects.bulk_create(Queue(name=name) for name in names)
    monkeypatch.setattr(queues_page, "SIZE", size)

    def listed(query: str) -> list[str]:
        pages = walked(console, f"{url('queues')}?{query}", "rows")
        return [queue.name for page in pages for queue, _ in page]

    assert listed("") == names
    assert listed("name=a") == [name for name in names if "a" in name.lower()]
    assert "No more queues" in text(console, f"{url('queues')}?after=zö~")


def test_a_page_of_a_queue_is_the_same_whether_few_or_many_are_looked_at(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(120):
        stored_ids(1, queue="rare" if n % 9 == 0 else "often")
    aggregate_all()
    monkeypatch.setattr(search, "SIZE", 10)
    seen: dict[int, list[Any]] = {}
    for glances in ((15, 20, 50_000), (15, 15, 49_970), (50_000,)):
        monkeypatch.setattr(search, "GLANCES", glances)
        pages = seen[len(seen)] = []
        for queue, since in (
            ("rare", ""),
            ("often", ""),
            ("none", ""),
            ("rare", "1h"),
            ("often", "1h"),
        ):
            asked = JobFilter("available", queue=queue, since=since)
            while True:
                page = search.page(asked)
                pages.append(
                    (queue + since, [job.id for job in page.jobs], page.total, page.is_partial)
                )
                if page.next is None:
                    break
                asked = JobFilter.read(dict(asked.chosen(), after=page.next.id))

    assert seen[0] == seen[1] == seen[2]
    assert [len(ids) for queue, ids, *_ in seen[0] if queue == "rare"] == [10, 4]


def test_a_full_page_of_a_queue_looks_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    stored_ids(60, queue="mail")
    aggregate_all()
    looked: list[int] = []

    def noted(wanted: Wanted, **bounds: Any) -> Any:
        looked.append(bounds["looked"])
        return find(wanted, **bounds)

    monkeypatch.setattr(search, "find", noted)
    monkeypatch.setattr(search, "GLANCES", (55, 4, 49_941))

    page = search.page(JobFilter("available", queue="mail"))
    search.page(JobFilter("available", queue="none"))

    assert (len(page.jobs), page.total) == (50, Total(60, is_exact=True))
    assert looked == [55, 55, 4, 49_941]


@pytest.mark.parametrize("number", [3, 40])
def test_a_preview_of_all_looks_at_one_slice_and_is_exact(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(walk, "SLICE", 10)
    ids = stored_ids(number)
    for job_id in stored_ids(30):
        cancel(job_id)
    aggregate_all()

    seen = walk.preview("cancel", JobFilter())
    narrowed = walk.preview("cancel", JobFilter(type="none"))
    ended = walk.preview("retry", JobFilter(state="cancelled"))

    assert seen.total == Total(number, is_exact=True)
    assert seen.by_state[State.AVAILABLE.value] == seen.total
    assert seen.ids == sorted(ids, reverse=True)[:10]
    assert narrowed.total == Total(0, is_exact=True)
    assert (ended.total, len(ended.ids)) == (Total(30, is_exact=True), 10)
