"""Groups of the dead letter by error: their trend, and actions on one group."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from console import failure_groups as module
from console.failure_groups import Groups, groups
from console.filters import JobFilter
from jobs.domain.states import State
from jobs.models import Finished
from jobs.models import Job as Row
from jobs.services.outcome.nack import Nack, nack
from tests.asserts import assert_state
from tests.console.test_operations import run_tasks
from tests.cost import statements_of
from tests.factories import JobFactory, error

PAGE = "/console/dead-letter/"
_queues = iter(range(10**9))


def died(message: str, ago: timedelta = timedelta(), **envelope: Any) -> str:
    """Let a job fail with an error; return its id."""
    job = JobFactory.create(
        state=State.ACTIVE, queue=f"q{next(_queues)}",
        retry={"max_attempts": 1, "on_exhaustion": "dead_letter"}, **envelope,
    )  # fmt: skip
    nack([Nack(job.id, error(type="Broken", message=message))])
    at = datetime.now(UTC) - ago
    Row.objects.filter(pk=job.id).update(finished_at=at)
    Finished.objects.filter(id=job.id).update(finished_at=at)
    return str(job.id)


def seen(**asked: str) -> Groups:
    """Return the groups of the dead letter."""
    return groups(JobFilter(**asked), timezone.now())


def test_errors_that_are_alike_are_one_group(store: None) -> None:
    for n in range(3):
        died(f"user {n} not found", timedelta(hours=n), meta={"tenant_id": f"t{n % 2}"})
    newest = died("disk is full", version="2.0.0")

    found = seen()

    first, second = found.groups
    assert (first.jobs, first.lately, first.error_type) == (3, 1, "Broken")
    assert first.hit == [("t0", 2), ("t1", 1)]
    assert first.last_at - first.first_at > timedelta(hours=1.9)
    assert "not found" in first.message
    assert (second.jobs, second.newest, second.versions) == (1, newest, {"2.0.0": 1})
    assert (found.number, found.jobs, found.looked, found.is_partial) == (2, 4, 4, False)


def test_a_trend_counts_when_they_died(store: None) -> None:
    for hours in (0, 0, 5, 5, 5, 23):
        died("x", timedelta(hours=hours))

    found = seen()

    (group,) = found.groups
    assert sum(group.trend) == 6
    assert len(group.trend) == len(found.bins) <= module.BINS
    assert group.trend[-1] + group.trend[-2] == 2  # a new bin of the trend may just have begun
    chart = found.chart()
    assert len(chart["at"]) == len(chart["lines"][0]["jobs"])
    assert chart["at"] == sorted(chart["at"])


@pytest.mark.parametrize("ago", [0, 30, 3000, 90_000, 3_000_000, 40_000_000])
def test_a_trend_reaches_back_to_the_oldest(store: None, ago: int) -> None:
    died("x", timedelta(seconds=ago))
    died("x")
    found = seen()
    assert found.bins[0] <= timezone.now() - timedelta(seconds=ago) or ago > 30_000_000
    assert sum(found.groups[0].trend) == 2


def test_what_was_not_there_before_is_new(store: None) -> None:
    died("old trouble", timedelta(days=1))
    died("old trouble")
    died("new trouble", timedelta(minutes=3))
    assert {group.message: group.is_new for group in seen().groups} == {
        "Broken: old trouble": False, "Broken: new trouble": True,
    }  # fmt: skip


def test_only_so_many_are_read_and_that_is_told(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOKED", 3)
    for n in range(5):
        died("x", timedelta(minutes=n))
    found = seen()
    assert (found.jobs, found.looked, found.is_partial) == (3, 3, True)
    assert not found.groups[0].is_new  # jobs that were not read may be older
    assert "among the latest 3 dead jobs" in console.get(PAGE).content.decode()


def test_groups_are_narrowed_by_tenant_queue_and_type(store: None) -> None:
    died("x", meta={"tenant_id": "mine"}, type="mail.send")
    died("y", meta={"tenant_id": "theirs"}, type="other")
    assert [group.message for group in seen(tenant="mine").groups] == ["Broken: x"]
    assert [group.message for group in seen(type="mail.*").groups] == ["Broken: x"]
    assert seen(queue="nowhere").groups == []


@pytest.mark.parametrize(
    "query", ["error=disk", "since=1h", "priority=5", "version=2", "args=x", "after=x", "meta=x"]
)
def test_groups_are_left_out_where_their_numbers_would_be_wrong(
    console: Client, query: str
) -> None:
    died("disk is full")
    died("user not found")
    assert console.get(PAGE, {"type": "*", "by": "ended"}).context["found"].number == 2

    answer = console.get(f"{PAGE}?queue=q&type=mail.*&{query}")

    assert answer.context["found"] is None
    text = answer.content.decode()
    assert 'id="groups"' not in text
    is_first = "after" not in query
    assert ('href="?queue=q&amp;type=mail.%2A">without other filters' in text) is is_first


def test_a_group_has_a_page_and_is_retried_by_one_operation(console: Client) -> None:
    mine = [died(f"user {n} not found") for n in range(3)]
    other = died("disk is full")
    (group, _) = seen().groups
    answer = console.get(PAGE, {"fingerprint": group.fingerprint})
    assert {job.id for job in answer.context["page"].jobs} == set(mine)
    text = answer.content.decode()
    assert "user" in text
    assert f"verb=retry&amp;fingerprint={group.fingerprint}&amp;dead=1" in text

    console.post(reverse("ojs_console:operation_new"),
                 {"verb": "retry", "dead": "1", "fingerprint": group.fingerprint})  # fmt: skip
    run_tasks()

    assert_state(State.AVAILABLE, *mine)
    assert_state(State.DISCARDED, other)
    assert [found.message for found in seen().groups] == ["Broken: disk is full"]


def test_a_group_is_discarded_by_one_operation(console: Client) -> None:
    mine = [died(f"user {n} not found") for n in range(3)]
    other = died("disk is full")
    console.post(
        reverse("ojs_console:operation_new"),
        {"verb": "delete", "dead": "1", "fingerprint": seen().groups[0].fingerprint},
    )
    run_tasks()
    assert not Row.objects.filter(pk__in=mine).exists()
    assert_state(State.DISCARDED, other)


def test_the_page_costs_a_fixed_number_of_statements(console: Client) -> None:
    def cost() -> int:
        return statements_of(lambda: console.get(PAGE))

    died("first")
    before = cost()
    for n in range(12):
        died(f"kind {'abcdefghijkl'[n]}", meta={"tenant_id": f"t{n}"})
    assert cost() == before <= 15


def test_hostile_errors_are_shown_as_text(console: Client) -> None:
    died("<script>alert(1)</script>", type="x.y")
    assert "<script>alert" not in console.get(PAGE).content.decode()
    one = seen().groups[0].fingerprint
    assert "<script>alert" not in console.get(PAGE, {"fingerprint": one}).content.decode()
