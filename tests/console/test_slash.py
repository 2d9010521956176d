"""Each page has one path, which ends in a slash."""

import pytest
from django.test import Client, RequestFactory
from django.urls import URLPattern

from console.slash import WithSlash
from console.urls import urlpatterns
from jobs.domain.states import State
from jobs.models import Queue
from tests.asserts import state
from tests.factories import JobFactory


def test_every_path_ends_in_a_slash() -> None:
    paths = [str(one.pattern) for one in urlpatterns if isinstance(one, URLPattern) and one.name]

    assert len(paths) > 15
    assert all(path == "" or path.endswith("/") for path in paths)


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("/console/jobs", "/console/jobs/"),
        ("/console/jobs?state=active&type=a%2Fb", "/console/jobs/?state=active&type=a%2Fb"),
        ("/console/login?next=/console/", "/console/login/?next=/console/"),
        ("/console/cron/new", "/console/cron/new/"),
        ("/console/workflows/x", "/console/workflows/x/"),
    ],
)
def test_a_path_without_it_leads_there(console: Client, path: str, there: str) -> None:
    answer = console.get(path)

    assert (answer.status_code, answer["Location"]) == (308, there)


def test_a_form_sent_there_arrives(console: Client) -> None:
    answer = console.post("/console/actions/pause", {"id": "mail"}, follow=True)

    assert answer.status_code == 200
    assert Queue.objects.get(name="mail").paused_at is not None


@pytest.mark.parametrize("path", ["/console/nowhere", "/console/jobs/x/y", "/console/cron/one"])
def test_other_paths_are_not_found(console: Client, path: str) -> None:
    assert console.get(path).status_code == 404


def test_a_path_that_names_another_site_leads_to_none() -> None:
    request = RequestFactory(SCRIPT_NAME="//example.org").get("/console/jobs")

    assert WithSlash.as_view()(request)["Location"] == "/%2Fexample.org/console/jobs/"


def test_a_cancelled_job_may_be_retried_from_its_page(console: Client) -> None:
    job = JobFactory.create(state=State.CANCELLED)
    assert "/console/actions/retry/" in console.get(f"/console/jobs/{job.id}/").content.decode()

    console.post("/console/actions/retry/", {"id": job.id})

    assert state(job.id) is State.AVAILABLE
