"""Charts over time: their steps at the bounds of ranges, their numbers, their marks and links."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qsl, urlencode
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from console import chart as charts
from console import marks, ranges, types
from console.marks import Subject
from console.ranges import BY_NAME, RANGES
from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.models import DEFAULT_TENANT, Audit, Period, Worker
from jobs.services.operate.queues import pause, resume
from jobs.services.record.aggregate import aggregate_events
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.concurrency import aggregate_all
from tests.console.test_pages import listed, url
from tests.cost import statements_of
from tests.factories import JobFactory, stored
from versioning.domain.declaration import declared

NOW = datetime(2026, 11, 25, 10, 7, 30, tzinfo=UTC)
ADA = Caller("ada")


def counted(at: datetime, span_s: int = 60, **counts: Any) -> None:
    """Store the counts of one period."""
    Period.objects.create(
        **{"span_s": span_s, "at": at, "queue": "mail", "type": "mail.send"} | counts
    )


def shown(console: Client, name: str = "overview", *args: str, **query: str) -> charts.Chart:
    """Return the chart of a page."""
    answer = console.get(url(name, *args, **query))
    assert answer.status_code == 200
    found: charts.Chart = answer.context["chart"]
    return found


@pytest.fixture(autouse=True)
def _aggregates(store: None) -> None:
    """Set the start of the aggregation, which its first call does."""
    aggregate_events(1)


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """Stop the clock of charts."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    return NOW


@pytest.mark.parametrize(
    ("name", "rows", "step_s", "number", "since"),
    [
        ("15m", 0, 60, 15, "2026-11-25T09:53"),
        ("1h", 10**9, 60, 60, "2026-11-25T09:08"),
        ("6h", 0, 300, 72, "2026-11-25T04:10"),
        ("6h", 1_000, 3600, 6, "2026-11-25T05:00"),
        ("24h", 0, 900, 96, "2026-11-24T10:15"),
        ("24h", 500, 3600, 24, "2026-11-24T11:00"),
        ("7d", 0, 3600, 168, "2026-11-18T11:00"),
        ("7d", 2_000, 86_400, 7, "2026-11-19T00:00"),
        ("30d", 0, 21_600, 120, "2026-10-26T12:00"),
        ("30d", 500, 86_400, 30, "2026-10-27T00:00"),
        ("90d", 10**9, 86_400, 90, "2026-08-28T00:00"),
    ],
)
def test_a_range_has_whole_steps_and_reads_a_bounded_number_of_rows(
    name: str, rows: int, step_s: int, number: int, since: str
) -> None:
    spell = BY_NAME[name].spell(NOW, rows)

    assert spell.period_s == step_s
    assert (spell.until - spell.since) / timedelta(seconds=step_s) == number
    assert spell.since == datetime.fromisoformat(since).replace(tzinfo=UTC)
    assert spell.since < NOW < spell.until <= NOW + timedelta(seconds=step_s)


@pytest.mark.parametrize("one", RANGES, ids=lambda one: one.name)
def test_a_time_on_a_bound_is_in_the_step_that_it_begins(one: ranges.Range) -> None:
    on_the_bound = datetime(2026, 11, 25, tzinfo=UTC)

    spell = one.spell(on_the_bound)

    assert spell.until - timedelta(seconds=spell.period_s) == on_the_bound
    before = one.spell(on_the_bound - timedelta(microseconds=1))
    assert before.until == on_the_bound


def test_a_range_longer_than_the_kept_minutes_is_made_of_hours(settings: Any) -> None:
    assert BY_NAME["24h"].step_s(0) == 900
    settings.OJS = {**settings.OJS, "RETENTION_MINUTES": "PT12H", "RETENTION_HOURS": "P7D"}

    assert BY_NAME["6h"].step_s(0) == 300
    assert BY_NAME["24h"].step_s(0) == 3600
    assert BY_NAME["7d"].step_s(0) == 3600
    assert BY_NAME["30d"].step_s(0) == 86_400


@pytest.mark.parametrize(
    "change",
    [
        datetime(2026, 3, 29, 1, tzinfo=UTC),  # Berlin skips 02:00 to 03:00
        datetime(2026, 10, 25, 1, tzinfo=UTC),  # Berlin has 02:00 to 03:00 twice
    ],
)
def test_no_step_is_skipped_or_repeated_when_clocks_change(change: datetime) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    spell = BY_NAME["24h"].spell(change.astimezone(berlin) + timedelta(hours=4))
    at = [spell.since + n * timedelta(minutes=15) for n in range(96)]

    lengths = {later.timestamp() - sooner.timestamp() for sooner, later in pairwise(at)}
    assert lengths == {900.0}
    assert change in at
    assert spell.until.tzinfo is UTC


def test_a_chart_sums_the_counts_within_its_bounds(console: Client, frozen: datetime) -> None:
    minute = timedelta(minutes=1)
    last = frozen.replace(second=0)
    for at, number in (
        (last - 60 * minute, 1_000),  # just before the range
        (last - 59 * minute, 3),
        (last, 5),
        (last + minute, 1_000),
    ):
        counted(at, enqueued=number, completed=number, failed=1, started=number,
                wait_ms=number * 10, run_ms=number * 20)  # fmt: skip
    counted(last, type="other", enqueued=7)
    counted(last, queue="else", enqueued=11)

    found = shown(console)

    assert (found.enqueued, found.completed, found.failed) == (26, 8, 2)
    assert found.error_rate == 0.2
    series = {kind: values for kind, _, values in found.counts.series}
    assert series["enqueued"] == [3, *[0] * 58, 23]
    assert [row.values for row in found.counts.rows] == [[23, 5, 1], [3, 3, 1]]
    of_type = shown(console, "type", "mail.send")
    assert of_type.enqueued == 19
    assert [mean for mean in of_type.means.series[0][2] if mean] == [30.0, 30.0]
    queues = console.get(url("type", "mail.send")).context["queues"]
    assert {one.queue: one.counts.enqueued for one in queues} == {"else": 11, "mail": 8}


def test_known_jobs_are_in_the_charts_of_their_queue_and_type(console: Client) -> None:
    for _ in range(3):
        JobFactory.create(state=State.COMPLETED, queue="mail", type="mail.send")
    JobFactory.create(state=State.DISCARDED, queue="mail", type="mail.send")
    stored(2, queue="mail", type="mail.other")
    stored(5, queue="other", type="mail.other")
    aggregate_all()

    for one in RANGES:
        queue = shown(console, "queue", "mail", range=one.name)
        of_type = shown(console, "type", "mail.send", range=one.name)
        assert (queue.enqueued, queue.completed, queue.failed) == (6, 3, 1)
        assert (of_type.enqueued, of_type.completed, of_type.failed) == (4, 3, 1)
        assert shown(console, range=one.name).enqueued == 11
        assert len(of_type.points) == len(of_type.counts.encoded["at"])


def test_a_step_links_to_exactly_its_jobs(console: Client) -> None:
    mine = stored(1, queue="mail", type="mail.send")[0]
    stored(1, queue="mail", type="other")
    aggregate_all()

    (row,) = shown(console, "type", "mail.send").counts.rows

    assert listed(console, f"{url('jobs')}?{row.query}") == [mine.id]
    given = dict(parse_qsl(row.query))
    assert given["since"].endswith("Z")
    given["since"] = given["until"]
    assert not listed(console, f"{url('jobs')}?{urlencode(given)}")
    given = {"type": "mail.send", "until": row.since.isoformat().replace("+00:00", "Z")}
    assert not listed(console, f"{url('jobs')}?{urlencode(given)}")


def test_the_links_of_ranges_keep_the_other_parameters(console: Client) -> None:
    found = shown(console, range="24h", more="x")

    assert [label for label, _, is_chosen in found.links if is_chosen] == ["24 h"]
    assert dict(parse_qsl(found.links[-1][1])) == {"range": "90d", "more": "x"}
    assert shown(console, range="12 parsecs").range.name == "1h"


def test_marks_tell_the_numbers_before_and_after(console: Client, frozen: datetime) -> None:
    minute = timedelta(minutes=1)
    change = frozen.replace(second=0) - 20 * minute
    for n in range(1, 6):
        counted(change - n * minute, completed=9, failed=1)
        counted(change + n * minute, completed=1, failed=1)
    counted(change, completed=1, failed=99)  # in the step of the change: on neither side
    changed(change + timedelta(seconds=5), "routing.promoted", "mail.send", reason="it is fine")

    (mark,) = shown(console, "type", "mail.send").marks

    assert (mark.kind, mark.label) == ("deployed", "Next step of the rollout: mail.send")
    assert (mark.before.error_rate, mark.after.error_rate) == (0.1, 0.5)
    assert (mark.actor, mark.reason) == ("ada", "it is fine")
    page = console.get(url("type", "mail.send")).content.decode()
    assert "10.0 %" in page
    assert "50.0 %" in page


def test_a_chart_says_what_the_letters_of_its_marks_mean(console: Client, frozen: datetime) -> None:
    for action in ("queue.resumed", "queue.paused", "queue.config_changed", "queue.purged"):
        changed(frozen - timedelta(minutes=5), action, "mail")

    assert shown(console).counts.kinds == [
        ("paused", "pause"), ("resumed", "resumption"), ("changed", "change"),
    ]  # fmt: skip
    assert len({word[0] for word in marks.KINDS.values()}) == len(marks.KINDS)


def changed(at: datetime, action: str, target: str, **more: str) -> None:
    """Write an entry of the audit log with this time."""
    Audit.objects.create(at=at, actor="ada", action=action, target=target, **more)


def test_each_page_has_the_marks_of_its_subject(console: Client, frozen: datetime) -> None:
    stored(1, queue="mail", type="mail.send")
    at = frozen - timedelta(minutes=30)
    for number, (action, target) in enumerate(
        (
            ("queue.paused", "mail"),
            ("queue.paused", "other"),
            ("schema.registered", "mail.send@2.0"),
            ("schema.registered", "mail.send_all@2.0"),
            ("routing.changed", "mail.send"),
            ("maintenance.started", "system"),
            ("key.created", "mail"),
        )
    ):
        changed(at + timedelta(seconds=number), action, target)
    changed(at + timedelta(seconds=9), "queue.resumed", "mail", outcome="denied")
    Worker.objects.create(id="w1", started_at=at, labels={"build": "1.4"}, last_heartbeat_at=at)
    Worker.objects.create(id="w2", started_at=at, labels={"build": "1.4"}, last_heartbeat_at=at)
    old = at - timedelta(days=1)
    Worker.objects.create(id="w3", started_at=old, labels={"build": "1.3"}, last_heartbeat_at=at)
    Worker.objects.create(id="w4", started_at=at, labels={"build": "1.3"}, last_heartbeat_at=at)

    def labels(*page: str) -> list[str]:
        return [mark.label for mark in shown(console, *page).marks]

    build, both = "Build 1.4 of 2 workers", "Maintenance started"
    schema, rules = "Schema registered: mail.send@2.0", "Version rules changed: mail.send"
    assert set(labels("queue", "mail")) == {build, "Queue paused: mail", both}
    assert set(labels("type", "mail.send")) == {build, schema, rules, both}
    assert len(labels("overview")) == 7
    assert labels("overview")[-1] == both
    assert "Schema registered: mail.send_all@2.0" in labels("overview")


def test_pauses_by_operators_are_marks_for_users_who_may_see_the_audit_log(
    console: Client, viewer: User
) -> None:
    stored(1, queue="mail")
    pause("mail", ADA, "it floods")
    resume("mail", ADA)
    client = Client()
    client.force_login(viewer)

    found = shown(console, "queue", "mail").marks

    assert [(mark.kind, mark.actor) for mark in found] == [("paused", "ada"), ("resumed", "ada")]
    assert not shown(client, "queue", "mail").marks


def test_a_mark_for_all_entries_is_bounded(console: Client, frozen: datetime) -> None:
    for number in range(100):
        changed(frozen - timedelta(seconds=100 - number), "queue.paused", f"q{number}")

    found = shown(console).marks

    assert len(found) == 40
    assert found[-1].label == "Queue paused: q99"


def test_the_pages_of_types_cost_the_same_for_every_range_and_number_of_jobs(
    console: Client,
) -> None:
    def cost(address: str) -> int:
        return statements_of(lambda: console.get(address))

    def costs() -> dict[str, set[int]]:
        pages = {"types": url("types"), "type": url("type", "mail.send")}
        return {
            name: {cost(f"{page}?range={one.name}") for one in RANGES}
            for name, page in pages.items()
        }

    JobFactory.create(state=State.DISCARDED, queue="mail", type="mail.send", version="1.0")
    heartbeat(Report("w1", queues=("mail",)))
    aggregate_all()
    costs()  # fills the caches
    before = costs()
    for n in range(5):
        JobFactory.create(state=State.DISCARDED, queue=f"q{n}", type="mail.send", version="1.0")
        heartbeat(Report(f"more{n}", queues=("mail",)))
        JobFactory.create(state=State.COMPLETED, queue=f"p{n}", type=f"mail.n{n}")
    aggregate_all()

    assert costs() == before
    assert before == {"types": {4}, "type": {18}}


def test_the_page_of_a_type_tells_runs_errors_tenants_versions_and_workers(
    console: Client,
) -> None:
    for tenant in ("acme", "acme", "zoo"):
        JobFactory.create(state=State.COMPLETED, queue="mail", type="mail.send",
                          version="1.0", meta={"tenant_id": tenant})  # fmt: skip
    dead = JobFactory.create(state=State.DISCARDED, queue="mail", type="mail.send")
    JobFactory.create(state=State.DISCARDED, queue="mail", type="mail.other")
    takes = [{"type": "mail.send", "versions": ">=1.0"}]
    other = [{"type": "mail.other", "versions": "*"}]
    for name, handlers, queue in (
        ("w1", takes, "mail"), ("w2", other, "mail"), ("w3", takes, "else"),
    ):  # fmt: skip
        heartbeat(Report(name, queues=(queue,), declaration=declared(handlers, is_exclusive=True)))
    aggregate_all()
    with connection.cursor() as cursor:  # known times instead of real ones
        for kind, ms in ((3, 40), (4, 500), (5, 70)):
            cursor.execute("UPDATE ojs_event SET took_ms = %s WHERE kind = %s", [ms, kind])

    context = console.get(url("type", "mail.send")).context

    runs = {one.label: (one.number, list(one.values)) for one in context["sample"].spreads}
    assert runs == {"Wait": (4, [40.0] * 3), "Run": (3, [500.0] * 3)}
    all_time = [one for one in context["spreads"] if one.is_bound]
    assert [(one.label, one.number) for one in all_time] == [("Wait", 4), ("Run", 3)]
    assert dict(context["sample"].tenants) == {"acme": 2, "zoo": 1, DEFAULT_TENANT: 1}
    recent, latest = context["sample"].recent, context["sample"].latest
    assert recent[0].id == dead.id
    assert [latest[job.id] for job in recent] == sorted(latest.values(), reverse=True)
    assert [(one.attempts, one.lately, one.message) for one in context["errors"]] == [
        (1, 1, "it broke")
    ]
    assert [str(one.version) for one in context["versions"].versions] == ["1.0"]
    assert [worker.id for worker in context["accepting"].workers] == ["w1"]
    assert console.get(url("type", "never.seen")).status_code == 200
    assert console.get(url("type", "No Type")).status_code == 404


@pytest.mark.parametrize(
    ("number", "ranks"),
    [(1, [0, 0, 0]), (2, [0, 1, 1]), (100, [49, 94, 98]), (200, [99, 189, 197])],
)
def test_percentiles_are_the_smallest_values_that_cover_their_share(
    number: int, ranks: list[int]
) -> None:
    assert [types.rank(share, number) for share in types.SHARES] == ranks


def names(found: Iterable[Any]) -> list[str]:
    """Return the names of types."""
    return [one.type for one in found]


def test_types_are_listed_by_the_chosen_order(console: Client, frozen: datetime) -> None:
    at = frozen - timedelta(minutes=5)
    counted(at, type="a.busy", started=90, completed=90, failed=1, run_ms=90, wait_ms=90_000)
    counted(at, type="b.broken", started=10, completed=1, failed=9, run_ms=5_000)
    counted(at, type="c.old", started=1, completed=1, span_s=3600)

    def order(**query: str) -> list[str]:
        return names(console.get(url("types", **query)).context["rows"])

    assert order() == order(sort="nonsense") == ["a.busy", "b.broken"]
    assert order(sort="failed") == order(sort="rate") == order(sort="run") == ["b.broken", "a.busy"]
    assert order(sort="wait") == order(sort="name") == ["a.busy", "b.broken"]
    assert order(name="bro") == ["b.broken"]
    assert order(range="7d") == ["c.old"]
    assert Subject(type="x").query == {"type": "x"}
