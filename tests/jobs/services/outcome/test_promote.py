"""Promotion of due jobs. Spec: contract 2.5."""

import pytest
from django.db import connection, transaction

from jobs.domain.states import State
from jobs.models import Event, Ready
from jobs.services.outcome.promote import promote
from tests.factories import JobFactory
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

DUE = "UPDATE ojs_later SET due_at = clock_timestamp() WHERE id = %s RETURNING due_at"


@spec("contract 2.5")
def test_no_job_is_available_before_its_time_whenever_the_transaction_began() -> None:
    job = JobFactory.create(state=State.SCHEDULED)

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(DUE, [job.id])  # due after the start of the transaction
        due = cursor.fetchone()[0]
        assert promote() == 1

    assert Ready.objects.get(id=job.id).enqueued_at >= due
    assert Event.objects.filter(job_id=job.id).latest("seq").at >= due
