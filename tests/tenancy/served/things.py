"""Things of one tenant, of every kind, and a snapshot that shows whether they have changed."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from zlib import crc32

from django.db import connection
from django.utils import timezone

from attention.models import Finding
from jobs.domain.states import State
from jobs.domain.wire.ids import new_id
from jobs.models import Undo
from tests.factories import JobFactory
from tests.tenancy.wire import answer, put, send
from webhooks.models import Delivery

MARK = "zebra"  # in every name of this tenant's things
STATES = (
    State.COMPLETED, State.DISCARDED, State.RETRYABLE, State.ACTIVE, State.CANCELLED,
    State.SCHEDULED, State.PENDING, State.AVAILABLE,
)  # fmt: skip
# tables that change with the requests of any tenant
NOT_COMPARED = {"ojs_audit", "ojs_api_key", "ojs_loop", "ojs_attention_finding"}
Names = Mapping[str, str]


def nothings() -> Names:
    """Return names of things that do not exist."""
    return {
        "tenant": "no-tenant", "tenant_id": "no-tenant", "queue": "no-queue", "cron": "no-cron",
        "type": "no.type", "worker_id": f"no-worker-{new_id()}", "key": "no-key",
        "job_id": new_id(),
        "workflow_id": new_id(), "subscription_id": f"sub_{new_id()}",
        "delivery_id": f"del_{new_id()}", "verb": "quiet", "federation_id": new_id(),
        "finding_id": new_id(), "number": "9000000000", "change": "9000000000",
        "about": "queue", "subject": "no-queue",
    }  # fmt: skip


def make(mark: str = MARK, queue: str | None = None) -> list[Names]:
    """Give a tenant a job in every state and one thing of every other kind; return their names.

    The list has an entry for each job. All other names are equal in all entries.
    """
    queue = queue or f"{mark}-queue"
    header = {"X_OJS_Tenant": mark}
    put(mark, status=201, name=f"{mark} ltd", limits={"max_concurrency": 100})
    idle = {"worker_id": f"{mark}-idle", "hostname": mark}
    answer(send("POST", "workers/register", idle, **header))
    jobs = [
        JobFactory.create(
            state=state, queue=queue if state is State.AVAILABLE else f"{mark}-queue",
            type=f"{mark}.made", worker_id=f"{mark}-worker",
            meta={"tenant_id": mark, "secret": mark}, args=[mark, str(state)],
            rate_limit={"key": f"{mark}-key", "concurrency": 50},
            unique={"keys": ["args"]}, retry={"max_attempts": 3, "initial_interval": "PT1H"},
        )
        for state in STATES
    ]  # fmt: skip
    state = {"state": {"secret": mark}, "worker_id": f"{mark}-worker"}
    answer(send("PUT", f"jobs/{jobs[3].id}/checkpoint", state, **header))
    for job in jobs[3], jobs[7]:
        secret = {"payload": {"secret": mark}}
        answer(send("POST", f"jobs/{job.id}/signals/approved", secret, **header))
    report = {"progress": 0.5, "message": mark}
    answer(send("PUT", f"jobs/{jobs[3].id}/progress", report, **header))
    step = {"type": f"{mark}.made", "args": [], "options": {"queue": f"{mark}-flow"}}
    flow = {"type": "chain", "name": f"{mark}-flow", "steps": [step, step]}
    workflow = answer(send("POST", "workflows", flow, **header), 201)
    cron = {"name": f"{mark}-cron", "expression": "0 * * * *", "type": f"{mark}.made"}
    answer(send("POST", "cron", cron, **header), 201)
    hook = {"url": f"https://example.org/{mark}", "events": ["*"]}
    subscription = answer(send("POST", "webhooks/subscriptions", hook, **header), 201)
    subscription = subscription.get("subscription", subscription)
    delivery = Delivery.objects.create(
        id=f"del_{new_id()}", subscription_id=subscription["id"], tenant=mark,
        event_id=f"evt_{new_id()}", event_type="job.completed", body=mark.encode(),
        status="dead", ended_at=timezone.now(),
    )  # fmt: skip
    finding = Finding.objects.create(
        id=new_id(), rule="tenant_noisy", subject=mark, tenant=mark, severity=1, jobs=1, tenants=1,
        since=timezone.now(), facts={"reasons": []},
    )  # fmt: skip
    undo = Undo.objects.create(
        id=1_000_000_000 + crc32(mark.encode()), until=timezone.now() + timedelta(hours=1),
        actor=mark, tenant=mark, action="jobs.cancelled", target=mark, state="done", jobs=1,
    )  # fmt: skip
    common = {
        "tenant": mark, "tenant_id": mark, "queue": queue, "cron": f"{mark}-cron",
        "type": f"{mark}.made", "worker_id": f"{mark}-idle", "key": f"{mark}-key",
        "workflow_id": workflow.get("workflow", workflow)["id"],
        "subscription_id": subscription["id"], "delivery_id": delivery.id, "verb": "quiet",
        "federation_id": new_id(), "finding_id": finding.id,
        "number": str(undo.pk), "change": str(undo.pk), "about": "queue", "subject": queue,
    }  # fmt: skip
    return [{**common, "job_id": job.id} for job in jobs]


def snapshot(things: list[Names]) -> dict[str, Any]:
    """Return, for each table, number and digest of the rows with the tenant or one of its ids."""
    ids = {value for one in things for name, value in one.items() if name.endswith("_id")}
    found = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
            " AND relname LIKE 'ojs\\_%'"
        )
        for (table,) in cursor.fetchall():
            if table in NOT_COMPARED:
                continue
            cursor.execute(
                f"SELECT count(*), md5(string_agg(t::text, '' ORDER BY t::text)) FROM {table} AS t"  # noqa: S608
                " WHERE t::text ~ %s",
                [rf"(^|[^\w-])({'|'.join(sorted(ids))})([^\w.-]|$)"],
            )
            found[table] = cursor.fetchone()
    return found
