"""The audit log: each action leaves an entry with actor, action, target and reason."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from console.actions.table import ACTIONS
from durable.services import checkpoints
from durable.services.checkpoints import Save
from durable.services.suspend import suspend
from jobs.domain.access.caller import Caller
from jobs.domain.lanes.limits import parse_key, parse_policy
from jobs.domain.states import State
from jobs.domain.wire.jsonio import dumps
from jobs.models import ApiKey, Audit, Worker
from jobs.services.access.api_keys import NewKey, create
from jobs.services.lanes import limits
from jobs.services.operate import maintenance
from jobs.services.workers.heartbeat import Report, heartbeat
from ojs_tasks.worker.ports import Suspend
from scheduling.api.cron_codec import decode_definition
from scheduling.domain.pool_request import parse_pool
from scheduling.services import cron_register, pools
from tenancy.domain.tenant import Definition, Standing
from tenancy.services import tenants
from tests.console.test_actions import act, messages_of
from tests.factories import JobFactory, stored_ids
from webhooks.api.codec import decode_subscription
from webhooks.services import subscriptions

ADA = Caller("ada")
Form = dict[str, str]
AT = "2026-11-25T10:00:00+00:00"
STEPS = {
    "stock": {"state": "done", "result": True, "attempts": 1, "ms": 20, "at": AT},
    "charge": {"state": "done", "result": {"id": 7}, "attempts": 3, "ms": 20, "at": AT},
    "approved": {
        "state": "waiting",
        "signal": "approved",
        "until": "2999-01-01T00:00:00Z",
        "at": AT,
    },
}


def dead() -> Form:
    return {"id": JobFactory.create(state=State.DISCARDED).id}


def live() -> Form:
    return {"id": JobFactory.create().id}


def queue() -> Form:
    stored_ids(1, queue="mail")
    return {"id": "mail", "confirm": "mail", "states": "available"}


def emptied() -> Form:
    return {**queue(), "strategy": "discard"}


def worker() -> Form:
    heartbeat(Report("w1"))
    return {"id": "w1"}


def lost_worker() -> Form:
    heartbeat(Report("w1"))
    Worker.objects.update(dead_at="2020-01-01T00:00:00Z")
    return {"id": "w1"}


def schedule() -> Form:
    body = {"name": "n", "expression": "0 3 * * *", "job_template": {"type": "r", "args": []}}
    entry, _ = cron_register.register(decode_definition(body), ADA, lambda _queue, _kind: None)
    return {"id": str(entry.pk)}


def key() -> Form:
    return {"id": create(NewKey("k", ("producer",)))[0].prefix}


def limit() -> Form:
    policy = parse_policy({"concurrency": 3})
    limits.override(parse_key("api", "key"), policy, None, ADA)
    return {"id": "api", "key": "api", "concurrency": "5"}


def pool() -> Form:
    pools.put(parse_pool("fast", {"queues": ["mail"]}))
    return {"id": "fast"}


def tenant() -> Form:
    tenants.put("blue", Definition())
    return {"id": "blue", "limit": "max_concurrency", "value": "5"}


def suspended() -> Form:
    tenants.put("blue", Definition(standing=Standing.SUSPENDED))
    return {"id": "blue"}


def hook() -> Form:
    body = {"url": "https://hooks.example.org/x", "events": ["job.*"]}
    found, _ = subscriptions.create(decode_subscription(body, None), Caller("ada"))
    return {"id": found.id, "url": "https://hooks.example.org/y", "events": "job.*"}


def stepped() -> Form:
    """Make a job that waits for a signal after two steps."""
    job_id = JobFactory.create(state=State.ACTIVE).id
    checkpoints.save(Save(job_id, dumps({"__steps": STEPS}).decode()))
    until = datetime.now(UTC) + timedelta(days=1)
    suspend(Suspend(job_id, "approved", until, ("approved",)))
    return {"id": job_id, "step": "charge", "name": "approved", "payload": "1"}


def maintained() -> Form:
    maintenance.start(ADA, reason=None, duration_ms=None)
    return {}


# not in the table: `webhook-test` sends a request to another host; `webhook-retry`,
# `tenant-release` and `cancel-workflow` need rows that only the tests of these parts make
FORMS: dict[str, Callable[[], Form]] = {
    "retry": dead, "delete": dead, "cancel": live, "pause": queue, "resume": queue, "purge": queue,
    "queue-delete": emptied,
    "quiet": worker, "unquiet": worker, "terminate": worker, "evict-worker": worker,
    "remove-worker": lost_worker,
    "cron-trigger": schedule, "cron-pause": schedule, "cron-resume": schedule,
    "cron-delete": schedule, "key-revoke": key, "limit-override": limit, "limit-end": limit,
    "pool-delete": pool, "tenant-suspend": tenant, "tenant-limit": tenant, "tenant-delete": tenant,
    "tenant-delete-force": tenant, "tenant-resume": suspended, "webhook-create": hook,
    "webhook-enable": hook, "webhook-disable": hook, "webhook-rotate": hook,
    "webhook-delete": hook, "maintain": dict,
    "end-maintenance": maintained, "send-signal": stepped, "retry-from-step": stepped,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _without_users(store: None) -> Iterator[None]:
    yield
    User.objects.all().delete()
    ApiKey.objects.all().delete()


@pytest.mark.parametrize("verb", FORMS)
def test_an_action_leaves_who_did_what_and_why(console: Client, verb: str) -> None:
    assert verb in ACTIONS
    form = FORMS[verb]()
    before = Audit.objects.order_by("-id").values_list("id", flat=True).first() or 0

    answer = act(console, verb, **form, reason="because")

    entries = Audit.objects.filter(id__gt=before)
    assert entries, messages_of(answer)
    assert {(one.actor, one.reason) for one in entries} == {("console:operator", "because")}
    assert not ACTIONS[verb].audit or ACTIONS[verb].audit in {one.action for one in entries}
    assert all(one.target or verb.endswith("maintenance") or verb == "maintain" for one in entries)


def test_what_an_action_is_refused_leaves_nothing(console: Client) -> None:
    before = Audit.objects.count()

    act(console, "cancel", id="nonsense", reason="because")

    assert Audit.objects.count() == before


def test_the_reason_of_a_service_counts_before_that_of_a_form() -> None:
    caller = replace(ADA, reason="of the form")

    maintenance.start(caller, reason="of the service", duration_ms=None)
    maintenance.end(caller)

    assert list(Audit.objects.order_by("id").values_list("reason", flat=True)) == [
        "of the service", "of the form",
    ]  # fmt: skip
