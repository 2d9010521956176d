"""Versions under concurrency: real threads and commits. Spec: job-versioning 8.2."""

from collections import Counter
from functools import partial

import pytest
from django.db.models.functions import Now

from jobs.domain.dispatch.claim import FetchRequest
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from ojs_tasks.versions import parse_version
from tests.concurrency import at_once
from tests.factories import DraftFactory
from tests.spec import spec
from tests.versioning.routing import redrawn
from versioning.domain.declaration import declared, handles
from versioning.models import Apart, Route
from versioning.services.routes import route_of

pytestmark = pytest.mark.usefixtures("store")

RANGES = (">=1.0 <2.0", ">=2.0 <3.0", ">=1.1 <2.1", "*")
JOBS = 40


def _produce(job_type: str, number: int) -> list[tuple[str, str | None]]:
    """Enqueue jobs of many versions, some of which are new to the server."""
    ids = []
    for n in range(JOBS):
        version = f"{1 + n % 2}.{(n * 7 + number) % 11}" if n % 5 else None
        stored = enqueue([DraftFactory.create(type=job_type, version=version, queue="mixed")])[0]
        assert stored is not None
        ids.append((stored.id, version))
    return ids


def _work(job_type: str, versions: str) -> list[tuple[str, str | None]]:
    """Fetch until all jobs are enqueued and none is left for this range."""
    handlers = [{"type": job_type, "versions": versions}]
    wanted = FetchRequest(("mixed",), count=5, declaration=declared(handlers, is_exclusive=True))
    return [(job.id, job.version) for _ in range(60) for job in fetch(wanted).jobs]


@spec("VER-8.2-a")
def test_mixed_versions_never_cross_while_new_ones_appear() -> None:
    job_type = "races.mixed"
    works = [partial(_produce, job_type, n) for n in range(3)]
    workers = [partial(_work, job_type, versions) for versions in RANGES]

    done = at_once([*works, *workers])

    ids = {job_id for produced in done[:3] for job_id, _ in produced}
    taken: Counter[str] = Counter()
    for versions, found in zip(RANGES, done[3:], strict=True):
        worker = handles(declared([{"type": job_type, "versions": versions}], is_exclusive=True))
        for job_id, version in found:
            taken[job_id] += 1
            if version is not None:
                assert worker.accepts(job_type, parse_version(version.strip('"'))), versions
    redrawn()  # moves jobs without a version that were enqueued before these workers
    Apart.objects.update(starts_at=Now())
    redrawn()
    for job_id, _ in _work(job_type, "*"):
        taken[job_id] += 1
    assert set(taken.values()) == {1}
    assert taken.keys() == ids


def test_a_version_that_many_meet_at_once_gets_one_route() -> None:
    version = parse_version("7.7")

    found = at_once([partial(route_of, "races.one", version)] * 8)

    assert len(set(found)) == 1
    assert Route.objects.filter(type="races.one").count() == 1
