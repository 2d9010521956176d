"""Search by filter: the matches, the total, and how far the search read."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from console import search
from console.columns import COLUMNS, USUAL, chosen, query
from console.filters import JobFilter, read_time
from jobs.domain.states import State
from jobs.domain.wire.ids import new_id, time_of
from jobs.models import Finished
from jobs.models import Job as Row
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.nack import Nack, nack
from tests.concurrency import aggregate_all
from tests.factories import JobFactory, error, stored_ids

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def found(**asked: str) -> set[str]:
    """Return the ids that a filter finds on its first page."""
    return {job.id for job in search.page(JobFilter.read(asked)).jobs}


def ended(job_id: str, ago: timedelta) -> None:
    """Set the end of a job to an earlier time."""
    Row.objects.filter(pk=job_id).update(finished_at=datetime.now(UTC) - ago)
    Finished.objects.filter(id=job_id).update(finished_at=datetime.now(UTC) - ago)


@pytest.mark.parametrize("state", ["", *State])
@pytest.mark.parametrize(
    ("name", "value", "odd"),
    [
        ("version", "2.1.0", {"version": "2.1.0"}),
        ("version", "2.*", {"version": "2.1.0"}),
        ("version", "7", {"version": 7}),
        ("priority", "-3", {"priority": -3}),
        ("args", "invoice-42", {"args": [{"id": "INVOICE-42"}]}),
        ("args", 'say "hi"', {"args": ['they say "hi"']}),
        ("args", "100%_", {"args": ["100%_ sure"]}),
        ("meta", '"order": 42', {"meta": {"order": 42}}),
    ],
)
def test_each_filter_finds_it_in_every_state(
    store: None, state: str, name: str, value: str, odd: dict[str, Any]
) -> None:
    wanted = State(state) if state else State.AVAILABLE
    one = JobFactory.create(state=wanted, queue="a", **odd)
    other = JobFactory.create(state=wanted, queue="b", args=["100xx"])

    assert found(state=state, **{name: value}) == {one.id}
    assert found(state=state) == {one.id, other.id}


def test_errors_are_found_by_text_type_and_what_they_have_in_common(store: None) -> None:
    ids = []
    for n, message in enumerate(("user 17 not found", "user 4711 not found", "disk is full")):
        job = JobFactory.create(state=State.ACTIVE, queue=f"q{n}")
        nack([Nack(job.id, error(type="Lookup", message=message, retryable=False))])
        ids.append(job.id)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id::text, ojs_fingerprint(type, error) FROM ojs_job ORDER BY created_at, id"
        )
        prints = dict(cursor.fetchall())

    assert found(error="USER 47") == {ids[1]}
    assert found(state="discarded", error="disk") == {ids[2]}
    assert found(error_type="Lookup") == set(ids)
    assert prints[ids[0]] == prints[ids[1]] != prints[ids[2]]
    assert found(fingerprint=prints[ids[0]]) == set(ids[:2])


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("a 1 b", "a 22 b", True),
        (
            "id 01890000-0000-7000-8000-000000000000",
            "id 0189ffff-0000-7000-8000-00000000ffff",
            True,
        ),
        ("no key 'a'", "no key 'bcd'", True),
        ('no key "a"', 'no key "bcd"', True),
        ("can't open a, won't try", "can't open b, won't try", False),
        ("refused", "timed out", False),
        ("0x7f00", "0x80ff", True),
        (None, None, True),
    ],
)
def test_a_fingerprint_leaves_out_what_differs_between_jobs(
    store: None, first: str | None, second: str | None, is_same: bool
) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT ojs_fingerprint('t', jsonb_build_object('message', %s::text)),"
            " ojs_fingerprint('t', jsonb_build_object('message', %s::text)),"
            " ojs_fingerprint('u', jsonb_build_object('message', %s::text))",
            [first, second, first],
        )
        one, other, of_another_type = cursor.fetchone()
    assert (one == other) is is_same
    assert one != of_another_type


def test_times_bound_the_creation_or_the_end(store: None) -> None:
    old, new = (JobFactory.create(state=State.COMPLETED, queue=q) for q in "ab")
    live = JobFactory.create()
    ended(old.id, timedelta(hours=3))

    assert found(by="ended", since="1h") == {new.id}
    assert found(by="ended", until="1h") == {old.id}
    assert found(by="ended", since="4h", until="2h", state="completed") == {old.id}
    assert found(since="1h") == {old.id, new.id, live.id}
    assert found(until="1h") == set()
    assert found(state="completed", since="1h") == {old.id, new.id}


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("", None), ("2h", NOW - timedelta(hours=2)), ("15m", NOW - timedelta(minutes=15)),
        ("P1D", NOW - timedelta(days=1)),
        ("2026-11-01T10:00", datetime(2026, 11, 1, 10, tzinfo=UTC)),
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T10:00+02:00", datetime(2026, 11, 1, 8, tzinfo=UTC)),
    ],
)  # fmt: skip
def test_a_time_is_one_in_utc_or_how_long_ago(text: str, at: datetime | None) -> None:
    assert read_time(text, NOW) == at


def test_a_filter_that_does_not_move_means_the_same_jobs_later() -> None:
    frozen = JobFilter(since="2h", until="2026-11-22T11:00", state="active").frozen(NOW)
    assert frozen == JobFilter(
        since="2026-11-22T10:00:00Z", until="2026-11-22T11:00:00Z", state="active"
    )
    assert frozen.frozen(NOW + timedelta(days=1)) == frozen


def test_an_id_tells_when_it_was_made() -> None:
    assert abs(time_of(new_id()) - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("asked", "field"),
    [({"since": "soon"}, "since"), ({"until": "32"}, "until"), ({"priority": "urgent"}, "priority"),
     ({"by": "ended", "state": "active"}, "by")],
)  # fmt: skip
def test_what_cannot_be_read_is_told_and_looked_for_nowhere(
    console: Client, asked: dict[str, str], field: str
) -> None:
    stored_ids(2)
    answer = console.get(reverse("ojs_console:jobs"), asked)
    assert set(answer.context["wanted"].problems) == {field}
    assert answer.context["page"].jobs == []
    assert field.capitalize() in answer.content.decode()


# --- totals ---------------------------------------------------------------------------------------


def test_totals_are_exact_where_counts_or_the_search_tell_them(console: Client) -> None:
    stored_ids(70, queue="mail") + stored_ids(3, queue="other")
    for job_id in stored_ids(60, queue="gone"):
        cancel(job_id)
    aggregate_all()

    def total(**asked: str) -> Any:
        return search.page(JobFilter.read(asked)).total

    for asked, jobs in (
        ({"state": "available"}, 73), ({"state": "available", "queue": "mail"}, 70), ({}, 133),
        ({"state": "cancelled"}, 60), ({"type": "tests.*"}, 133), ({"args": "none"}, 0),
    ):  # fmt: skip
        assert (total(**asked).jobs, total(**asked).is_exact) == (jobs, True)
    page = console.get(reverse("ojs_console:jobs"), {"state": "available"}).content.decode()
    assert "<b>73</b> jobs" in page


def test_a_total_is_estimated_from_what_was_read(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.search.LOOKED_WIDE", 60)
    stored_ids(100) + stored_ids(20, type="tests.rare") + stored_ids(40)
    aggregate_all()

    answer = console.get(reverse("ojs_console:jobs"), {"type": "tests.rare"})

    page = answer.context["page"]
    assert (page.total.jobs, page.total.is_exact) == (160 * 20 // 60, False)
    assert (page.is_partial, page.looked) == (True, 60)
    text = answer.content.decode()
    assert "about <b>" in text or "<b>about" in text
    assert "searched 60 jobs, back to" in text


def test_a_search_that_found_nothing_yet_offers_each_state(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.search.LOOKED_WIDE", 60)
    stored_ids(1, type="tests.rare") + stored_ids(70)

    text = console.get(reverse("ojs_console:jobs"), {"type": "tests.rare"}).content.decode()

    assert '<a href="?type=tests.rare&amp;state=available">available</a>' in text
    found = console.get(reverse("ojs_console:jobs"), {"type": "tests.rare", "state": "available"})
    assert "search the jobs of one state" not in found.content.decode()


def test_a_search_for_text_ends_in_time(console: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    stored_ids(30, args=["x" * 200_000])
    monkeypatch.setattr("console.search.MOST_MS", 1)
    before = _statement_timeout()

    answer = console.get(reverse("ojs_console:jobs"), {"args": "y" * 100})

    assert answer.status_code == 200
    assert answer.context["page"].is_late
    assert "stopped after two seconds" in answer.content.decode()
    assert _statement_timeout() == before


def _statement_timeout() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        return str(cursor.fetchone()[0])


# --- columns --------------------------------------------------------------------------------------


def test_columns_are_chosen_and_kept_by_links(console: Client) -> None:
    stored_ids(60, meta={"order": 7}, version="2.0.0")
    answer = console.get(f"{reverse('ojs_console:jobs')}?columns=meta&columns=version")
    assert [column.name for column in answer.context["columns"]] == ["version", "meta"]
    assert "&quot;order&quot;" in answer.content.decode()
    assert "columns=version%2Cmeta" in answer.context["next_link"]
    following = console.get(f"{reverse('ojs_console:jobs')}?{answer.context['next_link']}")
    assert [column.name for column in following.context["columns"]] == ["version", "meta"]
    assert len(following.context["page"].jobs) == 10


@pytest.mark.parametrize("state", State)
def test_every_column_is_shown_in_every_state(console: Client, state: State) -> None:
    job = JobFactory.create(state=state, worker_id="w")
    answer = console.get(reverse("ojs_console:jobs"), {"columns": ",".join(COLUMNS)})
    assert len(answer.context["columns"]) == len(COLUMNS)
    assert job.id[-12:] in answer.content.decode()


def test_links_name_no_columns_that_are_usual() -> None:
    assert query(chosen([])) == query(chosen(USUAL)) == query(chosen(["nonsense"])) == {}
    assert query(chosen(["queue"])) == {"columns": "queue"}


def test_a_completed_job_keeps_what_was_filtered_by(store: None) -> None:
    job = JobFactory.create(state=State.ACTIVE, version="3.0.0")
    ack([Ack(job.id)])
    assert found(version="3.*") == {job.id}
