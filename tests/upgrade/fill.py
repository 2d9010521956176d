"""Fill a database of an earlier release with rows of every kind, by that release's source.

The actions of producers, workers and operators go through the release's own HTTP API and loops.
Some rows come from no single request, such as findings of loops or copies from other regions. These
are written to the tables directly. Every table that is still empty gets a row that its columns
allow.
"""

import gzip
import json
import os
import subprocess
import sys
import uuid
from threading import Event
from time import monotonic
from typing import Any, LiteralString

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ojs_project.settings")
django.setup()

from django.contrib.auth.models import Group, User  # noqa: E402 - needs the settings
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django_q.models import OrmQ, Schedule, Task  # noqa: E402

from console.models import ExportPart, Operation, SavedView  # noqa: E402
from federation.models import RegionLoad  # noqa: E402
from jobs.domain.access.caller import Caller  # noqa: E402
from jobs.models import Staff  # noqa: E402
from jobs.services.access.api_keys import NewKey, create  # noqa: E402
from tenancy.models import Tenant, Throttle  # noqa: E402

PATIENCE_S = 60.0
COUNTED = """
SELECT coalesce((SELECT max(stamp) FROM ojs_event) < (SELECT stamp FROM ojs_fold_position), false)
   AND EXISTS (SELECT FROM ojs_depth) AND EXISTS (SELECT FROM ojs_webhook_attempt)
"""
RETRY = {"max_attempts": 2, "initial_interval": "PT1H", "on_exhaustion": "dead_letter"}
client = Client(headers={"Host": "localhost"})


def send(method: str, path: str, body: Any = None, **headers: str) -> dict[str, Any]:
    """Send a request. Raises RuntimeError for an answer that is no success."""
    answer = client.generic(
        method, f"/ojs/v1/{path}", b"" if body is None else json.dumps(body).encode(),
        content_type="application/json", headers=headers,
    )  # fmt: skip
    if not 200 <= answer.status_code < 300:
        raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.content.decode()}")
    found: dict[str, Any] = json.loads(answer.content or b"{}")
    return found


def push(kind: str, queue: str, **options: Any) -> str:
    """Enqueue a job; return its id."""
    top: dict[str, Any] = {
        name: options.pop(name) for name in ("meta", "version") if name in options
    }
    sent = {
        "type": kind,
        "args": [1],
        "options": {"queue": queue, "retry": RETRY, **options},
        **top,
    }
    return str(send("POST", "jobs", sent)["job"]["id"])


def fetch(queues: list[str], count: int, **more: Any) -> list[dict[str, Any]]:
    """Fetch jobs as a worker of these queues."""
    worker = "-".join(["w", *queues])
    wanted = {"queues": queues, "count": count, "worker_id": worker, **more}
    jobs: list[dict[str, Any]] = send("POST", "workers/fetch", wanted)["jobs"]
    if len(jobs) != count:
        raise RuntimeError(f"{len(jobs)} of {count} jobs of {queues} came")
    return [{"job_id": job["id"], "worker_id": worker} for job in jobs]


def ack(job: dict[str, Any], **more: Any) -> None:
    """Complete a job."""
    send("POST", "workers/ack", {**job, **more})


def nack(job: dict[str, Any], *, retryable: bool) -> None:
    """Fail an attempt."""
    error = {"type": "SmtpTimeout", "message": "no answer", "retryable": retryable}
    send("POST", "workers/nack", {**job, "error": error})


def configure() -> None:
    """Store each kind of configuration that operators make."""
    send("PUT", "admin/pools/mailers", {"queues": {"mail": 3, "reports": 1}, "concurrency": 40,
                                        "strategy": "weighted"})  # fmt: skip
    send("PUT", "admin/scheduling/config", {"default_strategy": "weighted"})
    send("PUT", "admin/tenants/acme", {"name": "Acme", "limits": {"max_concurrency": 5}})
    send(
        "PUT",
        "admin/tenants/slow",
        {"name": "Slow", "limits": {"max_enqueue_rate": {"limit": 1000, "period": "PT1M"}}},
    )
    send("PUT", "admin/routing/invoice.render", {
        "rules": [{"version": "2.0", "weight": 50}, {"version": "1.0", "weight": 50}],
        "plan": {"steps": [10, 50, 100], "bake_time": "PT30M"},
        "auto_rollback": {"error_rate_threshold": 0.2, "evaluation_window": "PT30M"},
    })  # fmt: skip
    schema = {"args_schema": {"type": "array"}}
    send("PUT", "admin/schemas/mail.send/1.0", schema)
    send(
        "PUT",
        "admin/queues/limited/config",
        {"concurrency": 2, "rate_limit": {"limit": 60, "period": "PT1M"}},
    )
    send("PUT", "admin/queues/bounded/config",
         {"backpressure": {"max_size": 100, "strategy": "reject"}})  # fmt: skip
    send("PUT", "admin/queues/held/config", {})
    send("POST", "queues/held/pause", {})
    send(
        "POST",
        "webhooks/subscriptions",
        {"url": "https://hooks.example.org/jobs", "events": ["job.*"]},
    )
    rule = {"name": "smtp", "filter": {"error_type": "SmtpTimeout"}, "delay": "PT1H"}
    send("PUT", "admin/dead-letter/rules", {"rules": [{**rule, "max_replays": 2}]})
    for name, overlap in (("nightly", "skip"), ("one-by-one", "enqueue")):
        send("POST", "cron", {
            "name": name, "expression": "0 3 * * *", "timezone": "Europe/Berlin",
            "overlap_policy": overlap,
            "job_template": {"type": "mail.send", "args": [], "options": {"queue": "mail"}},
        })  # fmt: skip
        send("POST", f"cron/{name}/trigger", {})
    for region, url in (("us", "http://localhost"), ("eu", "https://eu.example.org")):
        send("PUT", f"admin/federation/regions/{region}", {"url": url, "allow_insecure": True})
    send("PUT", "admin/federation/config", {})
    create(NewKey("ci", ("admin",)), Caller("fill"))


def work() -> str:
    """Leave jobs in every state, with their traces; return a job in the dead letter."""
    for n in range(6):
        push("mail.send", "mail", meta={"tenant_id": ("acme", "slow")[n % 2]})
        push("report.render", "reports", priority=n, meta={"tenant_id": "acme"})
        push("plain.waits", "waiting")
        push("plain.limited", "limited", rate_limit={"key": "api", "concurrency": 2})
    for version in ("1.0", "2.0", None, None):
        push("invoice.render", "invoices", **({"version": version} if version else {}))
    push("plain.once", "waiting", unique={"keys": ["type", "args"], "period": "PT1H"})
    push("plain.later", "later", scheduled_at="+P30D")
    push("plain.soon", "later", scheduled_at="+P31D")
    send(
        "POST",
        "jobs",
        {"type": "plain.pending", "args": [], "options": {"queue": "later", "pending": True}},
    )
    send("POST", "jobs/bulk", {"jobs": [{"type": "plain.bulk", "args": [1]}]},
         **{"Idempotency-Key": "one"})  # fmt: skip
    send("POST", "workers/register", {
        "worker_id": "w-invoices", "queues": ["invoices"],
        "handlers": [{"type": "invoice.render", "versions": ">=1.0 <3.0"}]})  # fmt: skip
    first, second, third, fourth, *_ = fetch(["mail", "reports"], 6, pool="mailers")
    ack(first, result={"sent": True})
    nack(second, retryable=True)
    nack(third, retryable=False)
    nack(fourth, retryable=False)
    for job in fetch(["limited"], 2):
        send("POST", "workers/progress", {**job, "percentage": 50})
    for job in fetch(["invoices"], 2):
        ack(job)
    cancelled = push("plain.cancelled", "waiting")
    send("DELETE", f"jobs/{cancelled}")
    push("plain.result", "results", result_ttl=86_400)
    for job in fetch(["results"], 1):
        ack(job, result=1)
    flows()
    return str(third["job_id"])


def flows() -> None:
    """Leave a running workflow of each kind."""
    one = {"type": "flow.step", "args": [], "options": {"queue": "flows"}}
    send("POST", "workflows", {"type": "chain", "name": "chain", "steps": [one, one, one]})
    send("POST", "workflows", {"type": "group", "name": "wide", "jobs": [one] * 80})
    send("POST", "workflows", {"type": "batch", "name": "batch", "jobs": [one, one],
                               "callbacks": {"on_success": one}})  # fmt: skip
    send("POST", "workflows", {"name": "graph", "steps": [
        {**one, "id": "a"}, {**one, "id": "b", "depends_on": ["a"]}]})  # fmt: skip
    for job in fetch(["flows"], 2):
        ack(job)


def loops() -> None:
    """Run the loops in a worker process until all events are counted and webhooks sent."""
    process = subprocess.Popen([sys.executable, "manage.py", "runworker", "--no-handlers"])
    try:
        end = monotonic() + PATIENCE_S
        while not (_all("SELECT count(*) > 8 FROM ojs_loop") and _all(COUNTED)):
            if monotonic() > end:
                raise RuntimeError("the loops did not count all events")
            Event().wait(0.2)
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def _all(question: LiteralString) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(question)
        return bool(cursor.fetchone()[0])


def operate() -> None:
    """Leave rows of users, operators and the cluster of operator tasks."""
    user = User.objects.create_superuser("admin", password=uuid.uuid4().hex)
    user.groups.add(*Group.objects.all())
    user.user_permissions.add(*Group.objects.get(name__icontains="view").permissions.all()[:2])
    browser = Client(headers={"Host": "localhost"})
    browser.force_login(user)
    assert browser.get("/console/").status_code == 200
    OrmQ.objects.create(key="ojs", payload="", lock=None)
    Schedule.objects.create(name="kept", func="math.copysign", args="2,-2", schedule_type="Y")
    viewer = User.objects.create_user("viewer", password=uuid.uuid4().hex)
    Staff.objects.create(user=viewer, tenants=["acme"])
    SavedView.objects.create(owner=user, page="jobs", name="mine", query="queue=mail")
    operation = Operation.objects.create(
        verb="export", wanted={}, actor="user:admin", estimate=1, state="done", place={},
        matched=1, done=1, options={}, ended_at="2026-11-23T00:00Z")  # fmt: skip
    ExportPart.objects.create(operation=operation, number=1, content=gzip.compress(b"{}"))
    tenant = Tenant.objects.get(id="slow")
    Throttle.objects.create(tenant=tenant, hold="lifted", action="weight", factor=0.5, had=1,
                            reasons=[], until="2027-01-01T00:00Z")  # fmt: skip
    RegionLoad.objects.create(region_id="eu", available=1, active=1, at="2026-11-23T00:00Z")
    Task.objects.create(id=uuid.uuid4().hex, name="done", func="math.copysign", args="", kwargs="",
                        result="", started="2026-01-01T00:00Z", stopped="2026-01-01T00:00Z",
                        success=True)  # fmt: skip


# columns that need a particular value, not only a value of the right type
CHOSEN: dict[tuple[str, str], Any] = {
    ("ojs_maintenance", "ends_at"): "2026-01-01T00:00:00Z",  # the maintenance is over
    ("ojs_federation_job", "state"): "completed",
}
BY_TYPE: dict[str, Any] = {
    "smallint": 1, "integer": 1, "bigint": 1, "double precision": 0.5, "boolean": False,
    "timestamp with time zone": "2026-11-23T00:00:00Z", "jsonb": "{}", "bytea": b"x",
    "text": "upgrade", "character varying": "upgrade", "xid8": "1", "ARRAY": "{}",
}  # fmt: skip
COLUMNS = """
SELECT column_name, data_type FROM information_schema.columns
 WHERE table_schema = 'public' AND table_name = %s AND is_nullable = 'NO'
   AND column_default IS NULL AND is_identity = 'NO' AND is_generated = 'NEVER'
"""
TABLES = """
SELECT table_name FROM information_schema.tables
 WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1
"""


def complete() -> list[str]:
    """Insert a row into every empty table; return the names of these tables."""
    found = []
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        for (table,) in cursor.fetchall():
            cursor.execute(f'SELECT EXISTS (SELECT FROM "{table}")')  # noqa: S608
            if not cursor.fetchone()[0]:
                _insert(cursor, table)
                found.append(table)
    return found


def _insert(cursor: Any, table: str) -> None:
    cursor.execute(COLUMNS, [table])
    row = {
        name: CHOSEN.get((table, name), str(uuid.uuid4()) if kind == "uuid" else BY_TYPE.get(kind))
        for name, kind in cursor.fetchall()
    }
    row |= {name: value for (of, name), value in CHOSEN.items() if of == table}
    names = ", ".join(f'"{name}"' for name in row)
    places = ", ".join(["%s"] * len(row))
    cursor.execute(f'INSERT INTO "{table}" ({names}) VALUES ({places})', list(row.values()))  # noqa: S608


def main() -> None:
    """Fill the database and print the tables that no request filled."""
    configure()
    dead = work()
    operate()
    loops()
    send("POST", f"dead-letter/{dead}/retry")
    print("no request fills:", *complete())  # noqa: T201


if __name__ == "__main__":
    main()
