"""Statements per request over the real views, with the API key in the cache.

Design: one statement per verb where possible, and never more statements for a larger batch. Each
statement is a transaction by itself, so it costs no transaction control.
"""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from django.conf import settings
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from jobs.api.wire.media import OJS_TYPE
from jobs.domain.states import State
from jobs.models import ApiKey, Later
from jobs.queries import ago
from jobs.services.access import api_keys
from jobs.services.enqueue.enqueue import enqueue
from tests.factories import DraftFactory, EnvelopeFactory, JobFactory, stored_ids

CONTROL = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")


class Api:
    """A client with an API key that counts the statements of its last request."""

    def __init__(self, key: str) -> None:
        self._client = Client(headers={"Authorization": f"Bearer {key}"})
        self.statements: list[str] = []
        self.control: list[str] = []

    def __call__(self, path: str, body: object = None, *, status: int = 200) -> dict[str, Any]:
        url = f"/ojs/v1/{path}"
        with CaptureQueriesContext(connection) as captured:
            if body is None:
                response = self._client.get(url)
            else:
                response = self._client.post(url, orjson.dumps(body), content_type=OJS_TYPE)
        ran = [query["sql"] for query in captured.captured_queries]
        self.control = [sql for sql in ran if sql.startswith(CONTROL)]
        self.statements = [sql for sql in ran if not sql.startswith(CONTROL)]
        assert response.status_code == status, response.content
        answer: dict[str, Any] = orjson.loads(response.content)
        return answer

    def cost(self) -> tuple[int, int]:
        """Return the numbers of statements and of transaction control."""
        return len(self.statements), len(self.control)


@pytest.fixture
def api(store: None) -> Iterator[Api]:
    """Return a client whose key is in the cache of this process."""
    chosen = {**settings.OJS, "AUTH": "apikey", "API_KEY_CACHE_MS": 3_600_000}
    with override_settings(OJS=chosen, MIDDLEWARE=[]):  # pages have middleware, API paths have none
        _, key = api_keys.create(api_keys.NewKey("budgets", ("admin",)))
        api = Api(key)
        api("jobs", EnvelopeFactory.create(queue="other"), status=201)
        yield api
    api_keys.cache.clear()
    ApiKey.objects.all().delete()


@pytest.fixture
def lane(store: None) -> None:
    """Put the lane of the default queue into the cache of this process."""
    enqueue([DraftFactory.create(scheduled_at="2099-01-01T00:00:00Z")])


FORMS: list[dict[str, Any]] = [
    {},
    {"scheduled_at": "+PT1H"},
    {"pending": True},
    {"result_ttl": 60},
    {"expires_at": "+PT1H", "meta": {"a": 1}, "tags": ["a"], "retry": {"max_attempts": 9}},
]


@pytest.mark.usefixtures("lane")
@pytest.mark.parametrize("form", FORMS)
def test_enqueue_takes_one_statement(api: Api, form: dict[str, Any]) -> None:
    api("jobs", EnvelopeFactory.create(**form), status=201)

    assert api.cost() == (1, 0)


def test_enqueue_to_a_new_queue_takes_three_statements_more(api: Api) -> None:
    api("jobs", EnvelopeFactory.create(queue="new"), status=201)

    assert api.cost() == (4, 2)  # its configuration, a lock against new limits, its lane


@pytest.mark.usefixtures("lane")
@pytest.mark.parametrize("number", [1, 10, 1000])
def test_enqueue_of_a_batch_takes_one_statement_whatever_its_size(api: Api, number: int) -> None:
    api("jobs/batch", {"jobs": EnvelopeFactory.create_batch(number)}, status=201)

    assert api.cost() == (1, 0)


def test_enqueue_of_a_batch_to_new_queues_takes_three_statements_more(api: Api) -> None:
    jobs = [EnvelopeFactory.create(queue=f"q{n}", priority=n % 9) for n in range(300)]
    api("jobs/batch", {"jobs": jobs}, status=201)

    assert api.cost() == (4, 2)


@pytest.mark.usefixtures("lane")
def test_enqueue_of_a_used_id_takes_one_statement(api: Api) -> None:
    job = JobFactory.create()

    api("jobs", EnvelopeFactory.create(id=job.id), status=409)

    assert api.cost() == (1, 0)


@pytest.mark.parametrize("number", [0, 1, 50])
@pytest.mark.parametrize("worker", [{}, {"worker_id": "w1"}])
def test_fetch_takes_one_statement_whatever_it_finds(
    api: Api, number: int, worker: dict[str, str]
) -> None:
    for n in range(number):
        stored_ids(1, queue=f"q{n % 3}", priority=n % 2)
    queues = ["empty", "q0", "q1", "q2"]

    found = api("workers/fetch", {"queues": queues, "count": 50, **worker})

    assert len(found["jobs"]) == number
    assert api.cost() == (1, 0)


def test_fetch_by_a_quiet_worker_takes_one_statement(api: Api) -> None:
    api("workers/heartbeat", {"worker_id": "w1", "state": "quiet"})

    api("workers/fetch", {"queues": ["default"], "worker_id": "w1"})

    assert api.cost() == (1, 0)


def test_fetch_before_the_loops_takes_two_more_to_promote_what_is_due(api: Api) -> None:
    JobFactory.create(state=State.SCHEDULED)
    Later.objects.update(due_at=ago(1000))

    found = api("workers/fetch", {"queues": ["default"]})

    assert len(found["jobs"]) == 1
    assert api.cost() == (3, 0)


@pytest.mark.parametrize("form", [{}, {"result_ttl": 0}, {"result_ttl": 60}])
def test_ack_takes_one_statement(api: Api, form: dict[str, int]) -> None:
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1", **form)

    api("workers/ack", {"job_id": job.id, "result": {"rows": 3}, "worker_id": "w1"})

    assert api.cost() == (1, 0)


def test_ack_of_an_ended_job_takes_one_more_to_say_why(api: Api) -> None:
    job = JobFactory.create(state=State.COMPLETED)

    api("workers/ack", {"job_id": job.id}, status=409)

    assert api.cost() == (2, 0)


@pytest.mark.parametrize("number", [1, 100])
def test_ack_of_a_batch_takes_one_statement_whatever_its_size(api: Api, number: int) -> None:
    ids = stored_ids(number)
    api("workers/fetch", {"queues": ["default"], "count": 100})

    api("workers/ack/batch", {"acks": [{"job_id": job_id} for job_id in ids]})

    assert api.cost() == (1, 0)


def test_ack_of_a_batch_takes_one_more_for_all_that_are_refused(api: Api) -> None:
    ids = stored_ids(20)

    api("workers/ack/batch", {"acks": [{"job_id": job_id} for job_id in ids]})

    assert api.cost() == (2, 0)


@pytest.mark.parametrize("error", [{"code": "x"}, {"code": "x", "retryable": False}])
def test_nack_takes_two_statements(api: Api, error: dict[str, Any]) -> None:
    job = JobFactory.create(state=State.ACTIVE)

    api("workers/nack", {"job_id": job.id, "error": error})

    assert api.cost() == (2, 0)


def test_nack_with_requeue_takes_one_statement(api: Api) -> None:
    job = JobFactory.create(state=State.ACTIVE)

    api("workers/nack", {"job_id": job.id, "requeue": True})

    assert api.cost() == (1, 0)


@pytest.mark.parametrize("number", [1, 100])
def test_nack_of_a_batch_takes_two_statements_whatever_its_size(api: Api, number: int) -> None:
    ids = stored_ids(number)
    api("workers/fetch", {"queues": ["default"], "count": 100})

    nacks = [{"job_id": job_id, "error": {"code": "x"}} for job_id in ids]
    api("workers/nack/batch", {"nacks": nacks})

    assert api.cost() == (2, 0)


@pytest.mark.parametrize("number", [0, 1, 100])
def test_heartbeat_takes_one_statement_whatever_it_names(api: Api, number: int) -> None:
    ids = stored_ids(number) if number else []
    api("workers/fetch", {"queues": ["default"], "count": 100, "worker_id": "w1"})

    beat = api("workers/heartbeat", {"worker_id": "w1", "active_jobs": ids})

    assert sorted(beat["jobs_extended"]) == sorted(ids)
    assert api.cost() == (1, 0)


def test_show_takes_one_statement(api: Api) -> None:
    job = JobFactory.create()

    api(f"jobs/{job.id}")

    assert api.cost() == (1, 0)
