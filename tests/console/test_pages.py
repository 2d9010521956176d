"""The pages of the console: their contents, their permissions and their cost."""

from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from jobs.domain.states import State
from jobs.models import Queue
from jobs.services.operate.queues import pause
from jobs.services.outcome.cancel import cancel
from jobs.services.workers.heartbeat import Report, Standing, heartbeat
from tests.concurrency import aggregate_all
from tests.cost import statements_of
from tests.factories import JobFactory, stored, stored_ids
from tests.spec import spec

PAGES = ("overview", "jobs", "queues", "dead_letter", "limits", "pools", "workers", "events",
         "operations")  # fmt: skip
UNKNOWN = "01890000-0000-7000-8000-000000000000"
MOST_STATEMENTS = 16
MOST_OF_CAUSES = 14  # more, to explain a waiting job at the top of a page, also in pools


def url(name: str, /, *args: str, **query: str) -> str:
    """Return the path of a page."""
    return reverse(f"ojs_console:{name}", args=args) + (f"?{urlencode(query)}" if query else "")


def text(console: Client, address: str) -> str:
    """Return the text of a page, which must exist."""
    answer = console.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def listed(console: Client, address: str) -> list[str]:
    """Return the ids of the jobs a page lists."""
    answer = console.get(address)
    assert answer.status_code == 200
    return [job.id for job in answer.context["page"].jobs]


@pytest.mark.parametrize("name", PAGES)
def test_strangers_are_sent_to_the_login(store: None, name: str) -> None:
    answer = Client().get(url(name))
    assert answer.status_code == 302
    assert answer["Location"] == f"{url('login')}?next={url(name)}"


def test_a_job_is_shown_to_nobody_without_permission(store: None, operator: User) -> None:
    User.objects.create_user("nobody")
    client = Client()
    client.force_login(User.objects.get(username="nobody"))
    answer = client.get(url("overview"))
    assert answer.status_code == 403
    assert "ojs_jobs.view_job" in answer.content.decode()


def test_every_page_shows_every_state_at_a_fixed_cost(console: Client) -> None:
    def cost(name: str) -> int:
        return statements_of(lambda: text(console, url(name)))

    def one_of_each(round_: str) -> None:
        for state in State:
            JobFactory.create(state=state, queue=f"{round_}-{state.value}")
        heartbeat(Report(f"worker-{round_}", queues=("a",), concurrency=3, hostname="host"))
        pause(f"{round_}-active")
        aggregate_all()

    one_of_each("first")
    for name in PAGES:  # the first view removes expired leftovers of earlier tests
        text(console, url(name))
    before = {name: cost(name) for name in PAGES}
    for n in range(5):
        one_of_each(f"more{n}")
    assert {name: cost(name) for name in PAGES} == before
    assert max(before.values()) <= MOST_STATEMENTS


def test_the_overview_counts_and_tells_failures(console: Client) -> None:
    JobFactory.create(state=State.DISCARDED, type="mail.send", queue="mail")
    stored(3, queue="mail")
    answer = console.get(url("overview"))
    assert answer.context["totals"][State.AVAILABLE] == 3
    assert answer.context["totals"][State.DISCARDED] == 1
    assert [failure.type for failure in answer.context["failures"]] == ["mail.send"]
    assert "it broke" in answer.content.decode()


def test_the_overview_says_when_no_loop_runs(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.services.health.health.STALE_LOOP_MS", -3_600_000)
    assert "No loops have run lately" in text(console, url("overview"))


@pytest.mark.parametrize("state", State)
def test_a_job_page_offers_what_its_state_allows(console: Client, state: State) -> None:
    job = JobFactory.create(state=state, meta={"order": 7})
    page = text(console, url("job", job.id))
    assert job.id in page
    assert (url("act", "cancel") in page) == (
        state not in {State.COMPLETED, State.CANCELLED, State.DISCARDED}
    )
    assert (url("act", "retry") in page) == (state in {State.DISCARDED, State.CANCELLED})
    assert (url("act", "delete") in page) == (
        state in {State.COMPLETED, State.CANCELLED, State.DISCARDED}
    )
    assert (url("job_retry", job.id) in page) == (state in {State.DISCARDED, State.CANCELLED})
    assert url("job_clone", job.id) in page


def test_a_waiting_job_tells_why_it_waits(console: Client) -> None:
    first, second = stored_ids(2, queue="mail", expires_at="+PT1H")
    pause("mail")

    page = text(console, url("job", second))

    assert "Queue mail is paused: resume it to let its jobs start." in page
    assert "1 ahead in the queue" in page
    assert "No estimate: the opening time of a gate is unknown: gate queue." in page
    assert page.count('<span class="badge">closed</span>') == 2  # and no worker fetches it
    assert "next in the queue" not in text(console, url("job", first))


def test_a_started_job_tells_what_picked_it(console: Client) -> None:
    active = JobFactory.create(state=State.ACTIVE, worker_id="w7", queue="mail", priority=3)
    cancelled = JobFactory.create(state=State.CANCELLED)

    page = text(console, url("job", active.id))

    assert "Why this job was claimed" in page
    assert "on worker <code>w7</code>" in page
    assert f'<a\n      href="{url("worker", "w7")}">w7</a>' in page
    assert f'<a href="{url("queue", "mail")}">mail</a>' in page
    assert "from queue mail at priority 3" in page
    assert "Why this job was claimed" not in text(console, url("job", cancelled.id))


@pytest.mark.parametrize("job_id", [UNKNOWN, "nonsense"])
def test_an_unknown_job_is_not_found(console: Client, job_id: str) -> None:
    answer = console.get(f"{url('jobs')}{job_id}/")
    assert answer.status_code == 404
    assert answer["Content-Type"].startswith("text/html")


def test_hostile_text_is_shown_as_text(console: Client) -> None:
    job = JobFactory.create(
        state=State.DISCARDED, args=["<script>alert(1)</script>"], meta={"note": "</pre><b>"}
    )
    for address in (url("job", job.id), url("jobs", type="<script>alert(1)</script>")):
        assert "<script>alert" not in text(console, address)


def test_typing_an_id_leads_to_the_job(console: Client) -> None:
    job = JobFactory.create()
    answer = console.get(url("jobs", id=f" {job.id.upper()} "))
    assert answer["Location"] == url("job", job.id)
    assert "is not a job id" in text(console, url("jobs", id="7"))


@pytest.mark.parametrize(
    "query",
    [
        {"state": "nonsense"}, {"queue": "\x00"}, {"type": "%"}, {"after": "x~y"},
        {"after": f"{UNKNOWN}~9999"}, {"tenant": "\ud800"}, {"state": "completed", "after": "~"},
        {"since": "yesterday"}, {"until": "9999-99-99"}, {"since": "1" * 50 + "d"}, {"by": "x"},
        {"priority": "1e9"}, {"priority": "\u0663"}, {"by": "ended", "state": "active"},
        {"since": "0001-01-01T00:00+23:59"}, {"args": "%_\\"}, {"meta": "\x00"}, {"dead": "1"},
        {"columns": "nonsense"}, {"fingerprint": "x" * 9000}, {"error": "\ud800"},
    ],
)  # fmt: skip
def test_any_query_string_is_answered(console: Client, query: dict[str, Any]) -> None:
    encoded = urlencode(query, errors="surrogatepass")
    for name in PAGES:
        text(console, f"{url(name)}?{encoded}")


@pytest.mark.parametrize("state", ["", *State])
def test_filters_choose_by_queue_type_and_tenant(console: Client, state: str) -> None:
    wanted = State(state) if state else State.AVAILABLE
    odd = JobFactory.create(state=wanted, queue="mail", type="mail.send_now")
    other = JobFactory.create(state=wanted, queue="other", type="mail.sendxnow")

    def found(**query: str) -> set[str]:
        return set(listed(console, url("jobs", state=state, **query)))

    assert found() == {odd.id, other.id}
    assert found(queue="mail") == {odd.id}
    assert found(type="mail.send_now") == {odd.id}
    assert found(type="mail.send*") == {odd.id, other.id}
    assert found(tenant="_default") == {odd.id, other.id}
    assert found(tenant="nobody") == set()


@pytest.mark.parametrize("state", ["", "available", "scheduled", "cancelled"])
def test_paging_shows_each_job_once_newest_first(console: Client, state: str) -> None:
    start = {"scheduled_at": "2099-01-01T00:00:00Z"} if state == "scheduled" else {}
    ids = stored_ids(120, queue="a", **start) + stored_ids(7, queue="b", **start)
    if state == "cancelled":
        for job_id in ids:
            cancel(job_id)
    seen: list[str] = []
    address = url("jobs", state=state)
    while True:
        answer = console.get(address)
        seen += [job.id for job in answer.context["page"].jobs]
        if not answer.context["next_link"]:
            break
        address = f"{url('jobs')}?{answer.context['next_link']}"
    assert seen == sorted(ids, reverse=True)


def test_a_search_that_stops_early_says_so_and_goes_on(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.search.LOOKED_WIDE", 60)
    rare = stored_ids(1, type="tests.rare")
    stored(130)
    address, pages = url("jobs", type="tests.rare"), 0
    while not (found := listed(console, address)):
        answer = console.get(address)
        assert "Search on" in answer.content.decode()
        address = f"{url('jobs')}?{answer.context['next_link']}"
        pages += 1
    assert (found, pages) == (rare, 2)


def test_queues_are_found_by_a_part_of_their_name(console: Client) -> None:
    for name in ("mail", "mail-bulk", "other"):
        stored(1, queue=name)
    found = [row for row, _ in console.get(url("queues") + "?name=MAIL").context["rows"]]
    assert [queue.name for queue in found] == ["mail", "mail-bulk"]


def test_workers_that_ended_are_shown_on_request(console: Client) -> None:
    heartbeat(Report("alive"))
    heartbeat(Report("gone", standing=Standing.TERMINATE))
    assert [w.id for w in console.get(url("workers")).context["workers"]] == ["alive"]
    all_of_them = console.get(url("workers", ended="1")).context["workers"]
    assert [worker.id for worker in all_of_them] == ["alive", "gone"]


@pytest.mark.parametrize(
    ("kept", "shown"),
    [
        ({}, "Queue mail keeps at most 10,000 dead jobs for 180 d."),
        (
            {"max_age": "PT36H", "max_count": 7},
            "Queue mail keeps at most 7 dead jobs for 1 d 12 h.",
        ),
        ({"max_age": "PT36H", "max_count": 0}, "Queue mail keeps its dead jobs for 1 d 12 h."),
        ({"max_age": None, "max_count": 7}, "Queue mail keeps at most 7 dead jobs."),
    ],
)
@spec("contract 28.3")
def test_the_dead_letter_says_what_it_keeps(
    console: Client, kept: dict[str, Any], shown: str
) -> None:
    stored(1, queue="mail")
    Queue.objects.filter(name="mail").update(config={"retention": {"dead_letter": kept}})

    of_mail, of_all = (text(console, url("dead_letter", **q)) for q in ({"queue": "mail"}, {}))
    assert shown in " ".join(of_mail.split())
    assert "Each queue keeps at most" in " ".join(of_all.split())
