"""The example of docs/extensions.md, proved through the API."""

from typing import Any

import pytest
from django.test import Client

from docs.site import markdown
from tests.conftest import ROOT

OJS = "application/openjobspec+json"
EXAMPLE = ROOT / "tests" / "extensions" / "house_rules" / "extension.py"


@pytest.fixture
def api(store: None, settings: Any) -> Client:
    """Return a client of a server that has the example as its last extension."""
    path = "tests.extensions.house_rules.extension.HouseRules"
    settings.OJS = {**settings.OJS, "EXTENSIONS": (*settings.OJS["EXTENSIONS"], path)}
    return Client()


def push(api: Client, queue: str, **meta: str) -> Any:
    """Enqueue one job."""
    body = {"type": "house.job", "args": [], "meta": meta, "options": {"queue": queue}}
    return api.post("/ojs/v1/jobs", body, content_type=OJS)


def fetched(api: Client, worker_id: str) -> int:
    """Return how many jobs a worker gets that asks for ten."""
    body = {"queues": ["payments", "mail"], "count": 10, "worker_id": worker_id}
    answer = api.post("/ojs/v1/workers/fetch", body, content_type=OJS)
    assert answer.status_code == 200
    return len(answer.json()["jobs"])


def test_enqueue_without_a_cost_centre_is_refused(api: Client) -> None:
    answer = push(api, "payments")

    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["field"] == "meta.cost_centre"
    assert fetched(api, "w1") == 0


def test_enqueue_with_a_cost_centre_or_to_another_queue_is_stored(api: Client) -> None:
    assert push(api, "payments", cost_centre="4711").status_code == 201
    assert push(api, "mail").status_code == 201


def test_claim_of_a_worker_on_trial_has_one_job(api: Client) -> None:
    for _ in range(3):
        push(api, "mail")

    assert fetched(api, "trial-1") == 1
    assert fetched(api, "w1") == 2


def test_the_manual_shows_the_example_as_it_is_tested() -> None:
    page = (ROOT / "docs" / "extensions.md").read_text()

    assert EXAMPLE.read_text() in {block.text for block in markdown.blocks(page)}
