"""Facts on the pages: times, averages, bars, audit entries, titles, the page of an error."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect

from console.filters import JobFilter, read_time
from console.sizes import filesizeformat
from console.templatetags.ojs import band, cron_reason, facts
from console.times import NOTHING, age, average
from console.versions import RuleLine, scale
from console.zones import zone_name
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.lanes.limits import parse_key, parse_policy
from jobs.domain.states import State
from jobs.models import Audit, Queue
from jobs.services.audit.audit import record
from jobs.services.dispatch.fetch import fetch
from jobs.services.lanes import limits, queue_config
from jobs.services.operate.queues import pause
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from tests.concurrency import aggregate_all
from tests.console.conftest import WAIT_MS
from tests.console.test_pages import UNKNOWN, text, url
from tests.console.test_pools import words
from tests.factories import JobFactory, stored, stored_ids
from tests.factories import error as failure
from tests.versioning.routing import put
from tests.versioning.wire import TYPE
from tests.workflows.flows import chain, claimed, created, fail, job
from versioning.domain.evidence import Outcomes, wilson
from versioning.domain.version import parse_version
from versioning.services import routing

expect.set_options(timeout=WAIT_MS)
CHART = """data => {
  const figure = document.createElement("figure");
  Object.assign(figure, {id: "probe", className: "chart"});
  figure.innerHTML = '<div class="plot"></div><p data-ojs-said></p><p class="picked" hidden>' +
    "<span></span><a></a><a></a><button></button></p>";
  figure.dataset.chart = "latency";
  figure.dataset.values = JSON.stringify(data);
  document.querySelector("main").prepend(figure);
  document.dispatchEvent(new Event("ojs:fresh"));
}"""
NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


def test_age_shows_how_long_something_lasts() -> None:
    shown = str(age(timezone.now() - timedelta(minutes=6, seconds=2)))

    assert ">6 min 2 s</time>" in shown
    assert "ago" not in shown


@pytest.mark.parametrize(("ms", "shown"), [(0.0, NOTHING), (None, NOTHING), (250.0, "250 ms")])
def test_average_of_nothing_is_no_duration(ms: float | None, shown: str) -> None:
    assert average(ms) == shown


def test_queue_without_runs_shows_no_run_time(console: Client) -> None:
    stored_ids(1, queue="mail")
    aggregate_all()

    for page in (url("queues"), url("queue", "mail")):
        shown = text(console, page)
        assert "0 ms" not in shown
        links = ('title="since', "&amp;since=")  # of times, and of the steps of a chart
        for known in links:
            shown = shown.replace(known, "")
        assert "since" not in shown.partition("<main")[2]


def test_bars_of_all_versions_have_one_scale() -> None:
    lines = [_line("2.0", Outcomes(60, 40)), _line("1.0", Outcomes(9_900, 100))]
    most = scale(lines, 0.05)

    assert most == lines[0].interval.high
    bar = str(band(0.0, 0.01, 0.01, 0.05, most))
    assert f'width="{round(100 * 0.01 / most, 1)}"' in bar


def _line(version: str, ended: Outcomes) -> RuleLine:
    return RuleLine(parse_version(version), 0.5, ended, wilson(ended), False, 1, None)


def test_audit_facts_are_words_and_no_python() -> None:
    data = {"rate": {"limit": 1, "period": "PT1H"}, "until": None, "is_new": True,
            "rules": [{"version": "2.0", "weight": 10}, {"version": "1.0", "weight": 90}],
            "changed": ["rate_limit", "retention"]}  # fmt: skip

    assert facts(data) == [
        ("rate", "limit 1, period PT1H"),
        ("is new", "yes"),
        ("rules", "version 2.0, weight 10; version 1.0, weight 90"),
        ("changed", "rate_limit, retention"),
    ]


def test_audit_log_fits_the_screen(page: Page) -> None:
    record(Caller("ada"), "key.created", "ojs_x", data={f"member_{n}": "x" * 60 for n in range(9)})
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(url("audit"))

    box = page.locator("#live .scroll")
    assert box.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert "None" not in page.locator("#live").inner_text()


def test_buttons_of_a_row_cover_no_number_on_a_small_screen(page: Page) -> None:
    stored_ids(1, queue="mail")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(url("queues"))

    number = page.locator("#live tbody td.n a").bounding_box()
    button = page.get_by_role("button", name="Pause", exact=True).bounding_box()
    assert number
    assert button
    assert number["x"] + number["width"] <= 390
    assert button["x"] >= number["x"] + number["width"]


def test_buttons_of_a_wide_table_are_in_sight(page: Page) -> None:
    stored_ids(1, queue="q" * 100)
    pause("q" * 100)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(url("queues"))

    box = page.locator("#live .scroll").bounding_box()
    button = page.get_by_role("button", name="Resume").bounding_box()
    assert box
    assert button
    assert button["x"] + button["width"] <= box["x"] + box["width"]


def test_latency_above_a_million_ms_is_shown_in_minutes(page: Page) -> None:
    series = [{"kind": "p50", "label": "p50", "values": [1_200_000, 1_200_000]}]
    times = [1_800_000_000, 1_800_000_060]
    latency = {"title": "Latency", "unit": "ms", "at": times, "series": series, "by": "ended",
               "step": 60, "marks": [], "jobs": "/console/jobs/", "query": {}}  # fmt: skip
    page.evaluate(CHART, latency)

    page.locator("#probe .u-over").hover()

    expect(page.locator("#probe .tip")).to_contain_text("p50 20 min")


def test_page_of_an_error_keeps_the_menus(console: Client) -> None:
    for path in ("/console/nowhere/", url("job", UNKNOWN), url("queue", "unknown")):
        answer = console.get(path)
        assert answer.status_code == 404
        assert f'href="{url("queues")}"' in answer.content.decode()


def test_page_of_an_error_shows_strangers_no_menus(store: None) -> None:
    answer = Client().get("/console/nowhere/")

    assert answer.status_code == 404
    assert f'href="{url("queues")}"' not in answer.content.decode()


def test_refused_user_keeps_the_permitted_menus(viewer: User) -> None:
    client = Client()
    client.force_login(viewer)

    answer = client.get(url("audit"))

    assert answer.status_code == 403
    assert f'href="{url("queues")}"' in answer.content.decode()
    assert f'href="{url("audit")}"' not in answer.content.decode()


def test_titles_name_the_object(console: Client) -> None:
    made = JobFactory.create(type="mail.send", queue="mail")
    titles = {
        url("job", made.id): f"mail.send {made.id[-12:]} · Jobs · OJS",
        url("job_clone", made.id): f"Clone mail.send {made.id[-12:]} · Jobs · OJS",
        url("queue", "mail"): "mail · Queues · OJS",
        url("queues"): "Queues · OJS",
    }

    for path, title in titles.items():
        assert f"<title>{title}</title>" in text(console, path)


@pytest.mark.parametrize(
    ("typed", "zone", "at"),
    [("2026-11-22T10:00", "", "10:00"), ("2026-11-22T10:00", "Europe/Berlin", "09:00"),
     ("2026-11-22T10:00Z", "Europe/Berlin", "10:00"),
     ("2026-11-22 10:00+02:00", "Asia/Tokyo", "08:00"),
     ("2026-11-22T10:00", "Nowhere/None", "10:00")],
)  # fmt: skip
def test_times_of_a_filter_are_in_its_zone(typed: str, zone: str, at: str) -> None:
    found = read_time(typed, NOW, zone)

    assert found is not None
    assert f"{found.astimezone(UTC):%H:%M}" == at


@pytest.mark.parametrize("zone", ["../etc/passwd", "x" * 99, "Europe", "\x00", "/usr"])
def test_unknown_zone_stands_for_utc(zone: str) -> None:
    assert zone_name(zone) == ""


def test_links_have_the_zone_only_with_times() -> None:
    asked = JobFilter.read({"zone": "Europe/Berlin", "queue": "mail"})

    assert asked.link() == "queue=mail"
    assert JobFilter.read({"zone": "Europe/Berlin"}).is_empty
    timed = JobFilter.read({"zone": "Europe/Berlin", "since": "2026-11-22T10:00"})
    assert timed.frozen(NOW).chosen() == {"since": "2026-11-22T09:00:00Z"}


def test_filter_takes_the_time_zone_of_the_browser(page: Page) -> None:
    debugger = page.context.new_cdp_session(page)
    debugger.send("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"})
    page.goto(url("jobs"))
    page.get_by_text("More filters").click()
    expect(page.locator("[data-ojs-zone-name]")).to_have_text("Asia/Tokyo")
    page.get_by_label("From").fill("2026-11-22T10:00")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url("**zone=Asia*")
    expect(page.locator("[data-ojs-zone-name]")).to_have_text("Asia/Tokyo")
    page.get_by_label("From").fill("")
    page.get_by_role("button", name="Search").click()
    page.wait_for_url(lambda address: "zone" not in address)
    debugger.detach()


def test_rate_limit_counts_available_jobs_up_to_its_bound(
    console: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(3, rate_limit={"key": "stripe", "concurrency": 1})
    fetch(FetchRequest(("default",), count=1))
    assert "at least" not in text(console, url("limits"))

    monkeypatch.setattr(limits, "COUNTED", 2)
    assert "at least" in text(console, url("limits"))


def test_step_shows_the_state_of_its_job(console: Client) -> None:
    flow = created(chain(job("a", retry={"initial_interval": "PT1H"}), job("b")))
    path = url("workflow", flow)
    assert 'class="badge available"' in text(console, path)
    fail(claimed()[0], retryable=True)

    shown = text(console, path)

    assert 'class="badge retryable"' in shown
    assert "pending" not in shown.partition("<main")[2]


def test_rollback_shows_its_evidence_and_reason(console: Client) -> None:
    put()
    routing.roll_back(TYPE, Caller("console:ada", reason="customers complain"))

    shown = " ".join(text(console, url("versions_of_type", TYPE)).split())

    assert shown.count("By console:ada: customers complain.") == 2
    assert "No version was rolled back" not in shown


@pytest.mark.parametrize(
    ("code", "words"),
    [("overlap_skip", "skipped: the previous run was live"), ("queue_full", "queue full"),
     (None, "")],
)  # fmt: skip
def test_reason_of_a_missed_run_is_in_words(code: str | None, words: str) -> None:
    assert cron_reason(code) == words


def post(client: Client, **form: str) -> Any:
    """Send the form of the queue mail."""
    return client.post(url("queue", "mail"), form)


def test_queue_form_stores_what_the_api_would(console: Client) -> None:
    wanted = {
        "concurrency": 5, "rate_limit": {"limit": 100, "period": "PT1M"},
        "backpressure": {"max_depth": 1000, "strategy": "block", "warning_threshold": 0.5},
        "visibility_timeout_ms": 60_000, "default_timeout_ms": 30_000,
        "default_retry": {"max_attempts": 5},
        "retention": {"completed": "P7D", "discarded": None, "dead_letter": {"max_count": 10}},
        "allowed_job_types": ["mail.*", "news"],
        "objective": {"start_within_ms": 30_000, "percent": 99.5},
    }  # fmt: skip
    queue_config.configure("mail", wanted, strict=True)
    shown = dict(console.get(url("queue", "mail")).context["fields"])
    queue_config.configure("mail", dict.fromkeys(wanted), strict=True)

    assert post(console, **shown, reason="as before").status_code == 302

    assert Queue.objects.get(name="mail").config == wanted
    assert post(console, **{**shown, "rate": "", "rate_period": ""}).status_code == 302
    assert "rate_limit" not in Queue.objects.get(name="mail").config
    assert Audit.objects.filter(action="queue.config_changed").latest("id").data == {
        "changed": ["rate_limit"]
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [("concurrency", "-1"), ("concurrency", "many"), ("rate", "5"), ("rate_period", "PT1M"),
     ("max_depth", "1.5"), ("strategy", "panic"), ("warning_threshold", "2"), ("lease", "soon"),
     ("timeout", "1ms"), ("keep_completed", "a while"), ("most_dead", "-1"), ("types", "NO!"),
     ("objective_percent", "100"), ("objective_percent", "most"), ("objective_within", "soon"),
     ("retry", "["), ("retry", '{"max_attempts": -1}')],
)  # fmt: skip
def test_wrong_field_of_the_queue_form_is_marked(console: Client, field: str, value: str) -> None:
    stored_ids(1, queue="mail")
    bound = {"max_depth": "9"} if field in {"strategy", "warning_threshold"} else {}
    if field == "objective_within":
        bound = {"objective_percent": "99"}

    answered = post(console, **{**bound, field: value})

    assert answered.status_code == 400
    assert answered.context["wrong"].field.split("_", 1)[0] == field.split("_", 1)[0]
    assert answered.context["fields"][field] == value
    assert Queue.objects.get(name="mail").config == {}


def test_queue_page_warns_before_json_resets_members(console: Client) -> None:
    stored_ids(1, queue="mail")

    shown = text(console, url("queue", "mail"))

    assert '<p class="problem warning">The text replaces the whole configuration' in shown


def test_override_of_a_limit_says_from_when_it_applies(console: Client) -> None:
    limits.override(
        parse_key("type:mail", "key"), parse_policy({"concurrency": 1}), None, Caller("ada")
    )

    assert "applies to jobs enqueued after" in text(console, url("limits"))


@pytest.mark.parametrize(
    ("envelope", "error", "shown"),
    [
        ({}, {"retryable": False}, "no retry: the worker reported the error as not retryable"),
        ({}, {"code": "DISCARD"}, "no retry: the worker ended the job by the code DISCARD"),
        ({}, {"code": "DEAD_LETTER"}, "no retry: the worker moved the job to the dead letter"),
        (
            {"retry": {"non_retryable_errors": ["CardDeclined"]}}, {},
            "no retry: its retry policy lists the error as not retryable",
        ),
        ({"retry": {"max_attempts": 1}}, {"retryable": False}, None),
    ],
)  # fmt: skip
def test_a_job_says_why_no_retry_followed(
    console: Client, envelope: dict[str, Any], error: dict[str, Any], shown: str | None
) -> None:
    failing = JobFactory.create(state=State.ACTIVE, **envelope)
    nack([Nack(failing.id, failure(**{"type": "CardDeclined", **error}))])

    page = words(text(console, url("job", failing.id)))

    assert "Attempt 1 of" in page
    assert (shown in page) if shown else ("no retry:" not in page)


def test_a_duration_of_an_event_is_named(console: Client) -> None:
    (job_id,) = stored_ids(1)
    fetch(FetchRequest(("default",)))
    ack([Ack(job_id)])

    page = words(text(console, url("events")))

    assert re.search(r"job\.started .* waited \d", page)
    assert re.search(r"job\.completed .* ran \d", page)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"), (1, "1 byte"), (112 * 1024, "112 KB"), (1153434, "1.1 MB"),
        (10 * 2**30, "10 GB"),
    ],
)  # fmt: skip
def test_sizes_have_no_spare_decimal(size: int, words: str) -> None:
    assert filesizeformat(size).replace("\N{NO-BREAK SPACE}", " ") == words
