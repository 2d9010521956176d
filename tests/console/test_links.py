"""Links of a job to its trace and its logs: templates, values and checks."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from console import links
from console.checks import check_links
from jobs.domain.states import State
from jobs.services.read.show import show
from tests.factories import JobFactory

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
TRACED = {"traceparent": f"00-{TRACE_ID}-00f067aa0ba902b7-01"}
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


def made(settings: Any, template: str, **envelope: Any) -> list[tuple[str, str]]:
    """Return the links of a new job with a template of logs."""
    settings.OJS_CONSOLE = {"LOG_URL": template}
    return links.of_job(show(JobFactory.create(**envelope).id), NOW)


def test_a_job_links_to_its_trace_and_its_logs(console: Client, settings: Any) -> None:
    settings.OJS_CONSOLE = {
        "TRACE_URL": "https://traces.example.org/explore?left=%7B%7D&trace={trace_id}",
        "LOG_URL": "https://logs.example.org/?q={job_id}+or+{trace_id}",
    }
    job = JobFactory.create(meta=TRACED)

    page = console.get(reverse("ojs_console:job", args=[job.id])).content.decode()

    assert (
        f'<a href="https://traces.example.org/explore?left=%7B%7D&amp;trace={TRACE_ID}"'
        ' rel="noreferrer">Trace</a>' in page
    )
    assert f'href="https://logs.example.org/?q={job.id}+or+{TRACE_ID}"' in page


def test_a_job_without_a_trace_has_no_link_to_one(console: Client, settings: Any) -> None:
    settings.OJS_CONSOLE = {
        "TRACE_URL": "https://traces.example.org/{trace_id}",
        "LOG_URL": "https://logs.example.org/{job_id}",
    }
    for meta in ({}, {"traceparent": "nonsense"}, {"traceparent": 7}):
        job = JobFactory.create(meta=meta)
        shown = console.get(reverse("ojs_console:job", args=[job.id])).content.decode()
        assert "traces.example.org" not in shown
        assert f"logs.example.org/{job.id}" in shown


def test_without_settings_a_job_has_no_links(console: Client) -> None:
    job = JobFactory.create(meta=TRACED)

    shown = console.get(reverse("ojs_console:job", args=[job.id])).content.decode()

    assert "Observability" not in shown


def test_times_reach_from_before_the_creation_to_after_the_end(store: None, settings: Any) -> None:
    template = "https://logs.example.org/?{from}|{to}|{from_ms}|{to_ms}"
    ended = JobFactory.create(state=State.COMPLETED)
    settings.OJS_CONSOLE = {"LOG_URL": template}

    ((_, address),) = links.of_job(show(ended.id), NOW)
    since, until, since_ms, until_ms = address.partition("?")[2].split("|")

    job = show(ended.id)
    assert job.finished_at
    assert since.endswith("Z")
    assert "%3A" in since  # quoted
    assert int(since_ms) == int(job.created_at.timestamp() * 1000) - 60_000
    assert abs(int(until_ms) - int(job.finished_at.timestamp() * 1000) - 60_000) <= 1
    assert until > since
    running = made(settings, template)[0][1]
    assert running.endswith(f"|{int(NOW.timestamp() * 1000) + 60_000}")


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("javascript:alert({job_id})", "must begin with https:// or http://"),
        ("//logs.example.org/{job_id}", "must begin with https:// or http://"),
        ("https:///{job_id}", "must begin with https:// or http://"),
        ("https://{job_id}.example.org/", "must have no placeholder in its host"),
        ("https://logs.example.org/{job}", "has the unknown placeholder {job}: use {job_id}, "),
        ("https://[::1/", "is not an address"),
        ("https://logs.example.org/" + "x" * 2000, "must have at most 2000 characters"),
    ],
)
def test_a_template_that_makes_no_links_is_reported_and_unused(
    store: None, settings: Any, template: str, problem: str
) -> None:
    assert made(settings, template) == []
    (found,) = check_links()

    assert found.id == "ojs.E051"
    assert found.msg.startswith(f"OJS_CONSOLE['LOG_URL'] {problem}")


@pytest.mark.parametrize(
    "template", ["http://localhost:3000/{job_id}", 'https://a.example.org/?left={"a":1}&{trace_id}']
)
def test_a_template_with_other_braces_is_accepted(settings: Any, template: str) -> None:
    settings.OJS_CONSOLE = {"TRACE_URL": template}

    assert check_links() == []
