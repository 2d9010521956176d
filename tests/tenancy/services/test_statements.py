"""Cost of tenancy without tenants or limits. Spec: issue "no hot row", contract 21.2."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.services.enqueue.enqueue import enqueue
from jobs.services.upkeep.reset import clear_caches
from tenancy.domain.tenant import Definition, Rate, TenantLimits
from tenancy.models import Enqueued
from tenancy.services.tenants import put
from tests.factories import DraftFactory

pytestmark = pytest.mark.usefixtures("store")


def statements(work: Callable[[], object]) -> list[str]:
    """Return the statements that were sent to the database."""
    with CaptureQueriesContext(
        connection,
    ) as found:
        work()
    return [query["sql"] for query in found.captured_queries]


def send(*tenants: str) -> None:
    """Enqueue jobs of tenants with one call."""
    enqueue([DraftFactory.create(meta={"tenant_id": one}) for one in tenants])


def test_tenants_without_limits_cost_no_statement() -> None:
    put("blue", Definition(limits=TenantLimits(max_concurrency=5), weight=3))
    send("blue", "red", "_default")

    found = statements(lambda: send("blue", "red", "_default"))

    assert len(found) == 1
    assert not Enqueued.objects.exists()


def test_tenants_that_are_new_to_the_process_cost_one_statement_together() -> None:
    send("blue", "red")
    clear_caches()

    found = statements(lambda: send("blue", "red"))

    assert sum("ojs_tenant" in one for one in found) == 1


def test_limits_cost_the_same_for_any_number_of_jobs_and_tenants() -> None:
    limits = TenantLimits(
        max_enqueue_rate=Rate(100_000, 60_000), max_queue_depth=100_000, max_scheduled=100_000
    )
    tenants = [f"t{n}" for n in range(20)]
    for tenant in tenants:
        put(tenant, Definition(limits=limits))
    send(*tenants)

    few, many = statements(lambda: send("t0")), statements(lambda: send(*tenants * 10))

    assert len(few) == len(many)
    assert sum("ojs_tenant" in one or "20266612" in one for one in many) == 3
