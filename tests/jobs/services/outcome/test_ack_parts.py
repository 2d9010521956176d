"""An ack alone and the same ack among others do the same: see sql/outcome/parts/."""

from typing import Any

import pytest
from django.db import connection, transaction

from jobs import queries
from jobs.domain.states import State
from jobs.models import Job, Lease, Limit, Worker
from jobs.queries import ago
from tests.factories import JobFactory

pytestmark = pytest.mark.usefixtures("store")

NOBODY = {"id": "00000000-0000-7000-8000-000000000000", "worker_id": None, "attempt": None}
TABLES = ("job", "lease", "finished", "event", "result_expiry", "hold", "lane", "worker")


def ended(*acks: dict[str, Any], watched: bool) -> Any:
    """End jobs in a transaction that is rolled back; returns the answer and the tables."""
    with transaction.atomic():
        answer = queries.complete(acks, watched=watched, heard_ms=1000)
        after = {}
        with connection.cursor() as cursor:
            for table in TABLES:
                cursor.execute(
                    "SELECT to_jsonb(x) - 'stamp' - 'seq' - 'finished_at' - 'at' - 'due_at'"  # noqa: S608
                    f" - 'took_ms' - 'last_heartbeat_at' FROM ojs_{table} AS x ORDER BY 1"
                )
                after[table] = cursor.fetchall()
        transaction.set_rollback(True)
    done, left = answer
    return [row[:5] for row in done], left, after


ACKS: list[dict[str, Any]] = [
    {}, {"worker_id": "w1", "attempt": 1}, {"worker_id": "other"}, {"attempt": 2},
    {"result": b"null"}, {"result": b'{"n": 12345678901234567890123, "x": 1.50}'},
]  # fmt: skip
FORMS: list[dict[str, Any]] = [
    {}, {"result_ttl": 0}, {"result_ttl": 60},
    {"rate_limit": {"key": "k", "concurrency": 1}},
]  # fmt: skip


@pytest.mark.parametrize("given", ACKS)
@pytest.mark.parametrize("form", FORMS)
def test_an_ack_does_the_same_alone_and_among_others(
    given: dict[str, Any], form: dict[str, Any]
) -> None:
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1", **form)
    mine = {**NOBODY, "id": job.id, **given}

    alone = ended(mine, watched=False)

    assert alone == ended(mine, NOBODY, watched=False)
    assert len(alone[0]) == (given.get("worker_id", "w1") == "w1" and given.get("attempt", 1) == 1)


@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("worker_id", [None, "w1", "other"])
def test_a_watched_job_stays_or_ends_alike(watched: bool, worker_id: str | None) -> None:
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")
    for model in (Job, Lease):
        model.objects.update(watched=True)
    mine = {**NOBODY, "id": job.id, "worker_id": worker_id}

    alone = ended(mine, watched=watched)

    assert alone == ended(mine, NOBODY, watched=watched)
    assert alone[1] == ([job.id] if not watched and worker_id != "other" else [])


def test_an_ack_alone_frees_the_limit_of_its_job() -> None:
    form = {"rate_limit": {"key": "k", "concurrency": 1}}
    job = JobFactory.create(state=State.ACTIVE, **form)

    _, _, after = ended({**NOBODY, "id": job.id}, watched=False)

    assert Limit.objects.count() == 1
    assert after["hold"] == []


def test_an_ack_alone_is_a_sign_of_life_of_its_worker() -> None:
    job = JobFactory.create(state=State.ACTIVE, worker_id="w1")
    Lease.objects.update(started_at=ago(5000))
    Worker.objects.update(last_heartbeat_at=ago(5000), dead_at=ago(10))

    _, _, after = ended({**NOBODY, "id": job.id}, watched=False)

    assert '"dead_at": null' in after["worker"][0][0]


def test_no_ack_ends_nothing() -> None:
    assert queries.complete([], watched=False, heard_ms=None) == ([], [])
