"""Concurrent tenants register one worker id: it belongs to exactly one tenant. Spec: MT 5."""

from collections.abc import Callable

import pytest

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import WorkerTaken
from jobs.models import Worker
from jobs.services.dispatch.fetch import fetch
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.concurrency import at_once
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

TENANTS = ("acme", "beta", "gamma", "delta")


@spec("MT-5.1-a")
def test_tenants_that_register_one_id_at_once_leave_it_to_one() -> None:
    for number in range(10):
        worker_id = f"w{number}"
        taken: list[str] = []

        def register(tenant: str, worker_id: str = worker_id, taken: list[str] = taken) -> None:
            try:
                heartbeat(Report(worker_id, tenant=tenant, hostname=tenant))
            except WorkerTaken:
                return
            taken.append(tenant)

        def ask(tenant: str, worker_id: str = worker_id) -> None:
            fetch(FetchRequest(("q",), worker_id=worker_id, tenant=tenant, caller_tenant=tenant))

        runs: list[Callable[[], object]] = [
            lambda tenant=tenant, do=do: do(tenant)  # type: ignore[misc]
            for tenant in TENANTS
            for do in (register, ask)
        ]
        at_once(runs)

        row = Worker.objects.get(id=worker_id)
        assert row.tenant in TENANTS
        assert set(taken) <= {row.tenant}
        assert row.hostname in {None, row.tenant}
