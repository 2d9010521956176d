"""Enqueue in a transaction of the host."""

import asyncio
from collections.abc import Iterator

import pytest
from django.db import transaction

from jobs.models import Job
from ojs_tasks.exceptions import Refused, UncommittedJob
from ojs_tasks.remote.server import RemoteServer
from ojs_tasks.server import Snapshot
from tests.ojs_tasks.remote.conftest import Site

DRAFT = {"type": "tests.remote", "queue": "remote", "args": [1]}


def undone(server: RemoteServer) -> list[Snapshot | None]:
    """Enqueue a job in a transaction that ends with a rollback."""
    with transaction.atomic():
        found = server.enqueue([DRAFT])
        transaction.set_rollback(True)
    return found


@pytest.fixture
def patient(site: Site, key: str) -> Iterator[RemoteServer]:
    """Return a server that gets jobs with the commit."""
    options = {"SERVER": site.url, "API_KEY": key, "ENQUEUE_ON_COMMIT": True}
    found = RemoteServer(options)
    yield found
    found.close()


def test_a_job_is_stored_at_once_even_if_the_transaction_is_undone(remote: RemoteServer) -> None:
    (job,) = undone(remote)

    assert job is not None
    assert remote.read(job.id).state == "available"


def test_with_the_setting_a_job_is_stored_with_the_commit(patient: RemoteServer) -> None:
    with transaction.atomic():
        job, _ = patient.enqueue([DRAFT, DRAFT])
        assert job is not None
        assert job.state == "uncommitted"
        assert not Job.objects.exists()
        with pytest.raises(UncommittedJob):
            patient.wait(job.id, 1)

    assert patient.read(job.id).state == "available"
    assert Job.objects.count() == 2


def test_with_the_setting_a_rollback_leaves_no_job(patient: RemoteServer) -> None:
    undone(patient)

    assert not Job.objects.exists()


def test_with_the_setting_a_job_outside_of_a_transaction_is_stored_at_once(
    patient: RemoteServer,
) -> None:
    (job,) = patient.enqueue([DRAFT])
    assert job is not None
    assert job.state == "available"

    (other,) = asyncio.run(patient.aenqueue([DRAFT]))
    assert other is not None
    assert other.state == "available"


def test_a_refusal_at_the_commit_reaches_the_code_that_commits(patient: RemoteServer) -> None:
    with pytest.raises(Refused), transaction.atomic():
        patient.enqueue([{**DRAFT, "queue": "No Queue"}])
