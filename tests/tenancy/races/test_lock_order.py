"""An enqueue locks tenants before lanes, also when it starts again: docs/architecture.md."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection, transaction

from jobs.domain.dispatch.claim import LaneKey
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import OJSError
from jobs.models import Job
from jobs.services.enqueue import enqueue_each as enqueue_each_module
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.enqueue.store import store
from jobs.services.lanes import configuration, lanes
from tenancy import queries
from tenancy.domain.tenant import Definition, TenantLimits
from tenancy.services import tenant_cache
from tenancy.services.tenants import put
from tests.concurrency import threads, wait_until_blocked
from tests.factories import DraftFactory

pytestmark = pytest.mark.usefixtures("store")

TENANT = "blue"


def test_an_enqueue_that_begins_anew_holds_no_lane_while_it_waits_for_its_tenant() -> None:
    put(TENANT, Definition())
    draft = DraftFactory.create(queue="q", meta={"tenant_id": TENANT})
    stale = configuration.of_queues({"q"}), tenant_cache.current([TENANT])
    put(TENANT, Definition(limits=TenantLimits(max_queue_depth=100)))

    def enqueue_by_old_configuration() -> None:
        configuration.cache.latest, tenant_cache.cache.latest = stale
        with transaction.atomic():  # as in the transaction of a workflow or of a host project
            enqueue([draft])

    with threads(1) as start, transaction.atomic():
        queries.lock([TENANT])  # as a POST /jobs does when its process has read the limit
        other = start(enqueue_by_old_configuration)
        wait_until_blocked()
        # this deadlocks if the other transaction holds the lane that its first attempt created
        lanes.resolve([LaneKey("q", draft.priority, TENANT)])
    other.result()

    assert Job.objects.count() == 1


def locked_tenants() -> int:
    """Count the tenants that this connection has locked."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 20266612"
            " AND pid = pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


def test_a_request_in_parts_locks_all_its_tenants_before_the_first_lane(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put("blue", Definition(limits=TenantLimits(max_queue_depth=1)))
    put("red", Definition(limits=TenantLimits(max_queue_depth=100)))
    held: list[int] = []

    def storing(drafts: Sequence[JobDraft], *rest: Any, **more: Any) -> Any:
        held.append(locked_tenants())
        return store(drafts, *rest, **more)

    monkeypatch.setattr(enqueue_each_module, "store", storing)
    tenants = ("red", "blue", "blue", "red")

    outcomes = enqueue_each_module.enqueue_each(
        [DraftFactory.create(queue="q", meta={"tenant_id": one}) for one in tenants]
    )

    assert sum(isinstance(one, OJSError) for one in outcomes) == 1
    assert held[0] == 0  # the first attempt stores the whole request; parts follow a refusal
    assert set(held[1:]) == {2}
