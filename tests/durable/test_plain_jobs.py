"""Jobs without steps pay nothing for durable execution. Spec: contract 34.3."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from durable.extension import TABLES
from durable.services import checkpoints
from durable.services.checkpoints import Save
from jobs.database import new_connection
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.envelope import parse_job
from jobs.domain.states import State
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.cancel import cancel
from jobs.services.outcome.dead_letter import retry
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.progress import Progress, report
from tests.asserts import assert_state
from tests.conftest import empty
from tests.factories import JobFactory, error
from tests.spec import spec
from tests.workflows.flows import chain, created, job, run

pytestmark = pytest.mark.usefixtures("store")


def lifecycle() -> None:
    """Run plain jobs through every verb of a worker, and a workflow of plain jobs."""
    ids = [one.id for one in enqueue([parse_job(DRAFT) for _ in range(4)]) if one is not None]
    claimed = {one.id for one in fetch(FetchRequest(("plain",), count=10)).jobs}
    assert claimed == set(ids)
    done, failed, dead, waiting = ids
    report(done, Progress(0.5, "half"))
    ack([Ack(done)])
    nack([Nack(failed, error())])
    nack([Nack(dead, error(retryable=False))])
    retry(dead)
    cancel(waiting)
    created(chain(job(), job()))
    run()
    assert_state(State.COMPLETED, done)
    assert_state(State.AVAILABLE, dead)


DRAFT: dict[str, Any] = {
    "type": "plain.job", "args": [], "options": {"queue": "plain", "retry": {"max_attempts": 3}},
}  # fmt: skip


@contextmanager
def locked() -> Iterator[None]:
    """Let each statement fail that reads or changes a table of durable execution."""
    other = new_connection()
    with closing(other), connection.cursor() as cursor:
        other.set_autocommit(False)
        other.cursor().execute(f"LOCK TABLE {', '.join(TABLES)} IN ACCESS EXCLUSIVE MODE")
        cursor.execute("SET lock_timeout = '1s'")
        try:
            yield
        finally:
            cursor.execute("RESET lock_timeout")


@spec("contract 34.3")
def test_plain_jobs_touch_no_table_of_durable_execution() -> None:
    other = JobFactory.create()

    with locked():
        lifecycle()
        with pytest.raises(OperationalError, match="lock timeout"):
            checkpoints.save(Save(other.id, "{}"), may_seed=True)


def statements() -> int:
    """Count the statements of the verbs, with the configuration read before."""
    lifecycle()
    empty()
    with CaptureQueriesContext(connection) as captured:
        lifecycle()
    empty()
    return len(captured)


@spec("contract 34.3")
def test_plain_jobs_take_as_many_statements_without_the_extension(
    settings: Any,
) -> None:
    with_it = statements()
    settings.OJS = {
        **settings.OJS,
        "EXTENSIONS": [one for one in settings.OJS["EXTENSIONS"] if "durable" not in one],
    }

    assert statements() == with_it
