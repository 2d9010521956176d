"""Writes that PostgreSQL refuses for a passing reason: retries, answers with 503, health."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import OperationalError, connection, transaction
from django.test import Client

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.sqlstates import refusal_of
from jobs.models import Event, Job
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.enqueue.enqueue_each import enqueue_each
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.storage import refused
from jobs.services.workers.heartbeat import Report, Standing, heartbeat
from tests.factories import DraftFactory, error, stored

pytestmark = pytest.mark.usefixtures("store")

MADE = """
CREATE SEQUENCE refusals;
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF nextval('refusals') <= %(times)s THEN
    RAISE EXCEPTION 'refused by a test' USING ERRCODE = %(code)s;
  END IF;
  RETURN NULL;
END $$;
"""
GONE = "DROP FUNCTION IF EXISTS refuse CASCADE; DROP SEQUENCE IF EXISTS refusals"
FOREVER = 1_000_000


@contextmanager
def refusing(code: str, table: str = "ojs_event", times: int = FOREVER) -> Iterator[None]:
    """Make the next writes to a table fail with a code, `times` in total.

    A sequence counts them, because sequences never roll back.
    """
    with connection.cursor() as cursor:
        cursor.execute(MADE % {"times": times, "code": f"'{code}'"})
        cursor.execute(
            f"CREATE TRIGGER refuse AFTER INSERT OR UPDATE ON {table} EXECUTE FUNCTION refuse()"
        )
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(GONE)
        refused.clear()


@pytest.mark.parametrize(
    ("code", "status", "error_code"),
    [
        ("53100", 503, "backend_unavailable"),  # disk full
        ("53200", 503, "backend_unavailable"),  # out of memory
        ("58030", 503, "backend_unavailable"),  # i/o error
        ("25006", 503, "backend_unavailable"),  # read-only
        ("40P01", 503, "backend_unavailable"),  # deadlock at every attempt
        ("40001", 503, "backend_unavailable"),
        ("55P03", 504, "backend_timeout"),
        ("57014", 504, "backend_timeout"),
        ("XX000", 500, "backend_error"),
        ("42P01", 500, "backend_error"),
    ],
)
def test_a_refusal_is_answered_by_its_code(
    api: Client, code: str, status: int, error_code: str
) -> None:
    with refusing(code):
        answer = api.post(
            "/ojs/v1/jobs", {"type": "a.b", "args": []}, content_type="application/json"
        )

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, error_code)
    assert answer.json()["error"]["retryable"] is True
    assert answer.json()["error"]["details"] == {}  # the transaction certainly had no effect
    assert ("Retry-After" in answer.headers) is (status != 500)


@pytest.mark.parametrize("code", [None, "08006", "57P01", "40003"])
def test_the_outcome_of_a_lost_connection_is_not_known(code: str | None) -> None:
    assert not refusal_of(code).is_undone


@pytest.mark.parametrize("code", ["08001", "08004", "53300", "57P03"])
def test_nothing_has_happened_where_no_session_was_had(code: str) -> None:
    assert refusal_of(code).is_undone


def test_health_tells_of_a_full_disk_until_writes_were_not_refused_for_long(
    api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refusing("53100"):
        api.post("/ojs/v1/jobs", {"type": "a.b", "args": []}, content_type="application/json")
        health, ready = api.get("/ojs/v1/health"), api.get("/ready")
        monkeypatch.setattr(refused, "REMEMBERED_S", 0)
        after = api.get("/ready").json()["checks"]["writes"]

    assert (health.status_code, health.json()["status"]) == (200, "degraded")
    assert health.json()["backend"]["status"] == "degraded"
    assert health.json()["backend"]["error"] == "the database has no resources left"
    assert ready.status_code == 200
    assert ready.json()["checks"]["writes"] == "the database has no resources left"
    assert after == "ok"


def test_a_read_only_database_is_unhealthy_and_asked_on_a_new_connection(api: Client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
    before = connection.connection

    health, ready = api.get("/ojs/v1/health"), api.get("/ready")

    assert (health.status_code, health.json()["backend"]["status"]) == (503, "unhealthy")
    assert "Retry-After" in health.headers
    assert ready.status_code == 200  # the next connection may lead to another server
    assert connection.connection is not before


# --- retries --------------------------------------------------------------------------------------


WORK: dict[str, Callable[[str], object]] = {
    "enqueue": lambda _: enqueue([DraftFactory.create()]),
    "enqueue many": lambda _: enqueue(DraftFactory.create_batch(3)),
    "enqueue each": lambda _: enqueue_each(DraftFactory.create_batch(3)),
    "fetch": lambda _: fetch(FetchRequest(("other",), 1)).jobs[0],
    "ack": lambda job_id: ack([Ack(job_id)]),
    "nack": lambda job_id: nack([Nack(job_id, error())]),
}


@pytest.mark.parametrize("name", WORK)
@pytest.mark.parametrize("code", ["40P01", "40001"])
def test_a_transaction_that_others_were_in_the_way_of_is_repeated(name: str, code: str) -> None:
    stored(1)
    stored(1, queue="other")
    held = fetch(FetchRequest(("default",), 1)).jobs[0].id
    before = Event.objects.count()

    with refusing(code, times=2):
        WORK[name](held)

    assert Event.objects.count() > before


def test_a_heartbeat_is_repeated() -> None:
    with refusing("40P01", table="ojs_worker", times=2):
        assert heartbeat(Report("w1", Standing.RUNNING)).standing is Standing.RUNNING


def test_a_transaction_of_the_host_is_not_repeated_by_halves() -> None:
    with refusing("40P01", times=1), pytest.raises(OperationalError), transaction.atomic():
        enqueue([DraftFactory.create()])

    assert Job.objects.count() == 0
