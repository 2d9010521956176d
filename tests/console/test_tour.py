"""The first steps on the overview."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from console.tour import tour
from ojs_project.demo_scenes import CYCLE_S, TIMETABLE, Incident, happens
from tests.console.test_pages import text, url
from tests.factories import stored_ids


def test_an_empty_server_shows_the_first_steps(console: Client) -> None:
    assert "First steps" in text(console, url("overview"))
    stored_ids(1)
    assert "First steps" not in text(console, url("overview"))


def test_a_demo_shows_its_tour(console: Client, settings: Any) -> None:
    settings.OJS_DEMO = True

    shown = text(console, url("overview"))

    assert "Tour of the demo" in shown
    for path in (url("versions_of_type", "invoice.render"), url("queue", "exports")):
        assert f'href="{path}"' in shown


def test_the_tour_leads_to_permitted_pages_only(viewer: User, settings: Any) -> None:
    settings.OJS_DEMO = True
    client = Client()
    client.force_login(viewer)
    request = client.get(url("overview")).wsgi_request

    labels = {stop.label for stop in tour(request)}
    assert "Jobs" in labels
    assert "A canary" not in labels


@pytest.mark.parametrize("incident", list(Incident))
def test_each_incident_of_the_demo_ends_before_the_next_begins(incident: Incident) -> None:
    begin, end = TIMETABLE[incident]

    assert happens(incident, begin)
    assert not happens(incident, end)
    assert happens(incident, begin + CYCLE_S)
    assert [one for one in Incident if happens(one, begin)] == [incident]


@pytest.mark.parametrize(
    ("page", "advice"),
    [("jobs", "POST /ojs/v1/jobs"), ("queues", "POST /ojs/v1/jobs"), ("crons", "/ojs/v1/cron"),
     ("workflows", "/ojs/v1/workflows"), ("pools", "Create a pool"), ("versions", "version"),
     ("workers", "runworker"), ("limits", "rate_limit"), ("schemas", "/ojs/v1/admin/schemas"),
     ("webhooks", "Subscribe a URL"), ("operations", "Filter the"), ("dead_letter", "dead_letter"),
     ("api_keys", "Create one below"), ("regions", "OJS_FEDERATION_REGIONS"),
     ("events", "Each change of a job")],
)  # fmt: skip
def test_an_empty_page_says_what_to_do_first(console: Client, page: str, advice: str) -> None:
    shown = text(console, url(page)).partition('class="empty"')[2].partition("</p>")[0]

    assert advice in shown
