"""The benchmark of the console: it has every page, and requests them with a small store."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.urls import URLPattern, path
from django.views.generic import TemplateView
from django_q.models import OrmQ, Schedule, Task

from bench.console import pages
from bench.console.look import Looks, looks
from bench.console.measure import MOST_STATEMENTS, Found, measure
from bench.console.report import conclusion, line
from bench.console.store import Store
from bench.console.tasks import finish
from bench.database import Database
from console.filters import JobFilter
from console.models import Operation
from jobs.models import Depth, Event, Job

JOBS = 2000


@pytest.fixture
def database(store: None) -> Iterator[Database]:
    """Return the test database as the benchmark connects to it; then remove users and tasks."""
    facts = connection.settings_dict
    yield Database(facts["NAME"], Path(facts["HOST"]))
    for model in (Operation, User, Task, OrmQ, Schedule):
        model.objects.all().delete()


@pytest.mark.long
def test_pages_are_all_asked_of_a_store_that_was_loaded(database: Database) -> None:
    Store(database, JOBS).build()
    finish()

    found = list(measure(pages.asks(database), times=1))

    assert Job.objects.count() == JOBS
    assert sum(Depth.objects.values_list("jobs", flat=True)) == JOBS
    assert Event.objects.filter(kind=5).exists()
    assert {one.ask.page for one in found} == {str(page.name) for page in pages.pages()}
    assert all(one.statements for one in found if one.ask.page != "login")
    assert [one.ask.path for one in found if one.statements > MOST_STATEMENTS] == []


def test_each_page_of_an_object_has_an_object() -> None:
    of_objects = {str(page.name) for page in pages.pages() if page.pattern.converters}
    assert of_objects == set(pages.PLACES)


def test_a_page_that_is_not_known_is_told(
    monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    new: URLPattern = path("new/<int:pk>/", TemplateView.as_view(), name="new")
    monkeypatch.setattr(pages, "urlpatterns", [new])

    with pytest.raises(pages.UnknownPageError, match="'new'"):
        list(pages.asks(database))


def test_each_filter_of_the_jobs_has_a_value() -> None:
    assert set(JobFilter.__dataclass_fields__) <= set(pages.OF_JOBS)


def test_looks_for_findings_are_measured(database: Database) -> None:
    looked = looks(2)

    assert 0 < looked.share < 1
    assert str(Looks(250.0, 99.0)).endswith("0.98% of a core with the pauses of the loop")
    assert Looks(99.0, 400.0).share < 0.01  # the pause grows
    assert str(Looks(99.0, 1000.0)).endswith("1.64% of a core with the pauses of the loop  ABOVE")


def test_what_is_above_a_bound_is_marked_with_its_slowest_statement() -> None:
    ask = pages.Ask("jobs", "state=active", "/console/jobs/?state=active")
    slow = Found(ask, 9, 400.0, 301.0, 350.0, "250 ms: SELECT  1")
    many = Found(ask, MOST_STATEMENTS + 1, 4.0, 3.0, 3.0, "")
    fine = Found(ask, MOST_STATEMENTS, 900.0, 300.0, 900.0, "")

    assert [one.is_within for one in (slow, many, fine)] == [False, False, True]
    assert line(slow).endswith("ABOVE")
    first, *_, last = conclusion([slow, many, fine])
    assert "250 ms: SELECT 1" in first
    assert last == "1 pages, 3 requests, 2 above 300 ms and 30 statements"
