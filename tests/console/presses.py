"""Every action and form of the console as a button press: its preparation and its place.

A new action or form must be added here: see test_every_action.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from playwright.sync_api import Page

from attention.models import Finding
from attention.services.look import look
from attention.services.mute import mute
from console import cron, simulations
from console.models import SavedView
from console.queue_forms import proposed
from console.roles import Role
from federation.domain.breaker import State as Breaker
from federation.models import ReplicationPeer
from federation.services.health.breakers import force
from federation.services.registry.configure import set_drain
from jobs.domain.access.caller import Caller
from jobs.domain.states import State
from jobs.models import ConfigChange, Queue, Staff
from jobs.queries import ago
from jobs.services.lanes import queue_config
from jobs.services.operate import operate
from jobs.services.operate.queues import pause as pause_queue
from jobs.services.workers import workers
from tests.configured import CASES
from tests.console import test_audited as made
from tests.console.test_operations import begin
from tests.console.test_simulate import perform
from tests.console.test_tenants import throttle
from tests.factories import JobFactory, stored_ids
from tests.federation.replication import lost
from tests.federation.replication.rig import EU
from tests.federation.wire import LOCAL, federate
from tests.jobs.services.record.test_rates import aggregated
from tests.versioning.routing import act as route_act
from tests.versioning.routing import put as put_rules
from tests.versioning.wire import TYPE
from tests.workflows.flows import chain, created, job
from webhooks.models import Delivery, Status, Subscription
from webhooks.services import subscriptions
from webhooks.services.subscriptions import Draft

ADA = Caller("ada")
REASON = "because of a test"


@dataclass(frozen=True, slots=True)
class Press:
    """A button: `make` returns its page, and `before` prepares the page for the press.

    A form with its own field for the reason opens no dialog (`asks`).
    """

    make: Callable[[], str]
    button: str
    before: Callable[[Page], Any] = lambda page: None
    asks: bool = True
    is_audited: bool = True


def _at(make: Callable[[], dict[str, str]], path: str) -> Callable[[], str]:
    """Return a function that makes an object and returns the path of its page."""
    return lambda: f"/console/{path}/".format(**make())


def _reasoned(page: Page) -> None:
    for field in page.locator("main [name=reason]").all():
        if field.is_visible():
            field.fill(REASON)


def _opened(part: str, **fields: str) -> Callable[[Page], None]:
    """Return a function that opens a section of the page and fills in its fields."""

    def open_it(page: Page) -> None:
        page.locator(f"{part} > summary").click()
        _filled(**fields)(page)

    return open_it


def _filled(**fields: str) -> Callable[[Page], None]:
    """Return a function that fills in fields of the page by name, and the reason."""

    def fill(page: Page) -> None:
        for name, text in fields.items():
            page.locator(f"main form[method=post] [name={name}]:visible").first.fill(text)
        _reasoned(page)

    return fill


def _confirmed(part: str, strategy: str = "") -> Callable[[Page], None]:
    """Return a function that types the name of the queue and a reason into a form."""

    def fill(page: Page) -> None:
        if strategy:
            page.locator(f"{part} [value={strategy}]").check()
        page.locator(f"{part} [name=confirm]").fill("mail")
        page.locator(f"{part} [name=reason]").fill(REASON)

    return fill


def _states(*states: State) -> Callable[[], str]:
    def make() -> str:
        for state in states:
            JobFactory.create(state=state)
        return f"/console/jobs/?state={states[0].value}"

    return make


def _all(page: Page) -> None:
    page.get_by_label("Select all on this page").check()


def _directed(verb: str) -> Callable[[], dict[str, str]]:
    def make() -> dict[str, str]:
        form = made.worker()
        workers.direct(form["id"], verb)
        return form

    return make


def _paused() -> dict[str, str]:
    form = made.queue()
    pause_queue("mail", ADA, None)
    return form


def _paused_schedule() -> dict[str, str]:
    form = made.schedule()
    cron.act("pause", form["id"], ADA)
    return form


def _throttled() -> dict[str, str]:
    form = made.tenant()
    throttle(form["id"])
    return form


def _view() -> str:
    user = User.objects.get(username="operator")
    SavedView.objects.create(owner=user, page="jobs", name="Mine", query="queue=mail")
    return "/console/jobs/"


def _found(*, is_muted: bool = False) -> str:
    """Make an incident that lasts, since the loop of the server ends other findings."""
    stored_ids(1, queue="mail")
    aggregated()
    pause_queue("mail", ADA, None)
    Queue.objects.filter(name="mail").update(paused_at=ago(600_000))
    look()
    found = Finding.objects.get(rule="queue_paused", subject="mail", ended_at=None)
    if is_muted:
        mute(str(found.id), "a test", timedelta(hours=1), ADA)
    return f"/console/attention/{found.id}/"


def _hook() -> str:
    subscriptions.create(Draft("https://example.org/", ["*"]), Caller("ada"))
    return "/console/webhooks/"


def _disabled_hook() -> str:
    path = _hook()
    Subscription.objects.update(active=False)
    return path


def _delivery() -> str:
    _hook()
    Delivery.objects.create(
        id="del_1", subscription_id=Subscription.objects.get().id, event_id="e",
        event_type="job.completed", body=b'{"type": "job.completed"}', status=Status.DEAD,
        attempts=1,
    )  # fmt: skip
    return "/console/webhooks/deliveries/del_1/"


def _rules(*, is_paused: bool = False) -> str:
    put_rules(plan={"steps": [5, 25, 100], "bake_time": "PT10M"})
    if is_paused:
        route_act("pause")
    return f"/console/versions/{TYPE}/"


def _region(change: Callable[[], object] = lambda: None) -> Callable[[], str]:
    def make() -> str:
        federate()
        change()
        return "/console/regions/"

    return make


def _waiting_in_eu() -> str:
    """Set up a region that is down, with a copy of one of its jobs."""
    lost.federate(mode="full")
    lost.lost()
    return f"/console/regions/{EU}/adopt/"


def _gone() -> str:
    """Set up a copy from a region that is no longer registered."""
    federate()
    ReplicationPeer.objects.create(region="mars")
    return "/console/regions/mars/forget/"


def _restricted() -> str:
    """Bind the logged-in user to two tenants."""
    user = User.objects.get(username="operator")
    user.is_superuser = False  # a superuser has no restrictions
    user.save()
    user.groups.set([Group.objects.get(name=Role.ADMIN.group)])
    Staff.objects.create(user=user, tenants=["blue", "red"])
    return "/console/jobs/"


def _pool(path: str = "") -> Callable[[], str]:
    return _at(made.pool, f"pools/{{id}}{path}")


def _note() -> str:
    CASES["note"].first(ADA)
    return "/console/runbooks/notes/queue/mail/"


def _procedure() -> str:
    CASES["procedure"].first(ADA)
    return "/console/runbooks/procedures/retry-mail/"


def _changed() -> str:
    """Change a queue twice; return the page of the first change."""
    for size in (5, 9):
        queue_config.change("mail", {"concurrency": size}, ADA)
    return f"/console/history/{ConfigChange.objects.earliest('id').pk}/"


JOB, QUEUE, WORKER, REMOVAL = "jobs/{id}", "queues/{id}", "workers/{id}", "remove-queue/{id}"
SCHEDULE, TENANT, KEYS, LIMITS = "cron/{id}", "tenants/{id}", "api-keys", "rate-limits"


def _undoable() -> str:
    """Cancel a job; return the page that lists the change."""
    operate.cancel_job(made.live()["id"], Caller("ada"))
    return "/console/operations/"


# by verb
ACTS: dict[str, Press] = {
    "retry": Press(_at(made.dead, JOB), "Retry"),
    "cancel": Press(_at(made.live, JOB), "Cancel"),
    "delete": Press(_at(made.dead, JOB), "Delete"),
    "retry-chosen": Press(_states(State.DISCARDED, State.DISCARDED), "Retry selected", _all),
    "cancel-chosen": Press(_states(State.AVAILABLE, State.AVAILABLE), "Cancel selected", _all),
    "delete-chosen": Press(_states(State.COMPLETED, State.COMPLETED), "Delete selected", _all),
    "cancel-workflow": Press(lambda: f"/console/workflows/{created(chain(job()))}/", "Cancel"),
    "pause": Press(_at(made.queue, QUEUE), "Pause"),
    "resume": Press(_at(_paused, QUEUE), "Resume"),
    "purge": Press(_at(made.queue, REMOVAL), "Purge mail", _confirmed("#purge"), asks=False),
    "queue-delete": Press(
        _at(made.queue, REMOVAL), "Delete mail", _confirmed("#delete", "discard"), asks=False
    ),
    "undo": Press(_undoable, "Undo"),
    "key-revoke": Press(_at(made.key, KEYS), "Revoke k"),
    "remove-worker": Press(_at(made.lost_worker, WORKER), "Remove"),
    "evict-worker": Press(_at(made.worker, WORKER), "Remove and return its jobs"),
    "quiet": Press(_at(made.worker, WORKER), "Quiet"),
    "unquiet": Press(_at(_directed("quiet"), WORKER), "Resume"),
    "terminate": Press(_at(made.worker, WORKER), "Terminate"),
    "cron-trigger": Press(_at(made.schedule, SCHEDULE), "Run now"),
    "cron-pause": Press(_at(made.schedule, SCHEDULE), "Pause"),
    "cron-resume": Press(_at(_paused_schedule, SCHEDULE), "Resume"),
    "cron-delete": Press(_at(made.schedule, SCHEDULE), "Delete"),
    "maintain": Press(lambda: "/console/workers/", "Start maintenance", _reasoned),
    "end-maintenance": Press(_at(made.maintained, "workers"), "End maintenance"),
    "limit-override": Press(
        lambda: f"/console/{LIMITS}/", "Override", _filled(key="api", concurrency="5"), asks=False
    ),
    "limit-end": Press(_at(made.limit, LIMITS), "End override"),
    "view-save": Press(
        lambda: "/console/jobs/?queue=mail",
        "Save",
        _opened("#save-view", name="Mine"),
        asks=False,
    ),
    "view-delete": Press(_view, "Delete Mine"),
    "region-probe": Press(_region(), "Probe"),
    "region-open": Press(_region(), "Open breaker"),
    "region-close": Press(_region(lambda: force(LOCAL, Breaker.OPEN, ADA)), "Close breaker"),
    "region-drain": Press(_region(), "Drain"),
    "region-undrain": Press(_region(lambda: set_drain(LOCAL, ADA, drain=True)), "Undrain"),
    "pool-delete": Press(_pool(), "Delete"),
    "tenant-suspend": Press(
        _at(made.tenant, TENANT), "Suspend blue", _opened("#suspend-one"), asks=False
    ),
    "tenant-resume": Press(
        _at(made.suspended, TENANT), "Resume blue", _opened("#resume-one"), asks=False
    ),
    "tenant-release": Press(
        _at(_throttled, TENANT), "Release blue", _opened("#release-one"), asks=False
    ),
    "tenant-limit": Press(_at(made.tenant, TENANT), "Set limit", _opened("#limit-one"), asks=False),
    "tenant-delete": Press(
        _at(made.tenant, f"{TENANT}/remove"), "Delete blue", _reasoned, asks=False
    ),
    "tenant-delete-force": Press(
        _at(made.tenant, f"{TENANT}/remove"), "Cancel its jobs and delete", _reasoned, asks=False
    ),
    "routing-promote": Press(_rules, "Next step"),
    "routing-pause": Press(_rules, "Pause"),
    "routing-resume": Press(lambda: _rules(is_paused=True), "Resume"),
    "routing-rollback": Press(_rules, "Roll back"),
    "routing-delete": Press(_rules, "Remove rules"),
    "note-delete": Press(_note, "Delete note"),
    "procedure-delete": Press(_procedure, "Delete procedure"),
    "attention-mute": Press(_found, "Mute", _reasoned, asks=False),
    "attention-unmute": Press(lambda: _found(is_muted=True), "Unmute mail"),
    "send-signal": Press(
        _at(made.stepped, JOB), "Send the signal", _opened("#send-signal", name="approved"), False
    ),
    "retry-from-step": Press(
        _at(made.stepped, JOB), "Delete and retry", _opened("#retry-from-step"), asks=False
    ),
    "webhook-create": Press(
        lambda: "/console/webhooks/", "Subscribe", _filled(url="https://example.org/h"), asks=False
    ),
    "webhook-enable": Press(_disabled_hook, "Enable"),
    "webhook-disable": Press(_hook, "Disable"),
    "webhook-delete": Press(_hook, "Delete"),
    "webhook-rotate": Press(_hook, "New secret"),
    "webhook-test": Press(_hook, "Test"),
    "webhook-retry": Press(_delivery, "Send again"),
}
TEMPLATE = '{"type": "report", "args": []}'


def _simulated() -> str:
    JobFactory.create(state=State.COMPLETED, queue="mail")
    key = simulations.start_proposal(proposed("mail", {"concurrency": 3}, {}), ADA)
    perform()
    return f"/console/simulate/{key}/"


# routes that take a POST besides the actions, by name
FORMS: dict[str, Press] = {
    "job_retry": Press(_at(made.dead, f"{JOB}/retry"), "Retry", _reasoned, asks=False),
    "job_clone": Press(_at(made.dead, f"{JOB}/clone"), "Enqueue", _reasoned, asks=False),
    "operation_new": Press(
        lambda: "/console/operations/new/?verb=cancel", "Cancel jobs", _reasoned, asks=False
    ),
    "operation": Press(
        lambda: f"/console/operations/{begin('cancel', state='available').pk}/", "Stop"
    ),
    "attention_rule": Press(
        lambda: "/console/attention/rules/queue_late/", "Save", _reasoned, asks=False
    ),
    "note": Press(_note, "Save", _filled(text="Call **ada**."), asks=False),
    "procedure_new": Press(
        lambda: "/console/runbooks/new-procedure/?about=queue&subject=mail", "Save",
        _filled(name="again"), asks=False,
    ),
    "procedure": Press(_procedure, "Save", _filled(rate="50"), asks=False),
    "version": Press(_changed, "Restore this version", _reasoned, asks=False),
    "queue": Press(_at(made.queue, QUEUE), "Save", _filled(concurrency="3"), False),
    "api_keys": Press(_at(dict, KEYS), "Create key", _filled(name="by hand"), asks=False),
    "api_key_rotate": Press(_at(made.key, KEYS), "Rotate k"),
    "display": Press(lambda: "/console/jobs/", "Set display", asks=False, is_audited=False),
    "columns": Press(
        lambda: "/console/jobs/", "Set columns", _opened("#columns"), asks=False, is_audited=False
    ),
    "within": Press(_restricted, "Show", asks=False, is_audited=False),
    "simulate": Press(
        lambda: "/console/simulate/", "Simulate", _filled(minutes="5"), asks=False
    ),
    "simulated": Press(_simulated, "Apply", _reasoned, asks=False),
    "cron_new": Press(
        lambda: "/console/cron/new/", "Save", _filled(name="n", template=TEMPLATE), asks=False
    ),
    "cron_edit": Press(_at(made.schedule, f"{SCHEDULE}/edit"), "Save", _reasoned, asks=False),
    "pools": Press(
        lambda: "/console/pools/", "Save",
        _opened("#configure"), asks=False,
    ),
    "pool_new": Press(
        lambda: "/console/new-pool/", "Save", _filled(name="fast", queues="mail"), asks=False
    ),
    "pool_edit": Press(_pool("/edit"), "Save", _reasoned, asks=False),
    "tenant_new": Press(lambda: "/console/new-tenant/", "Save", _filled(tenant_id="blue"), False),
    "region_adopt": Press(_waiting_in_eu, "Adopt waiting jobs", _reasoned, asks=False),
    "region_forget": Press(_gone, "Remove copies", _reasoned, asks=False),
    "rules_new": Press(
        lambda: "/console/new-rules/", "Save", _filled(type=TYPE, rules="2.0 1\n1.0 9"), asks=False
    ),
    "rules_edit": Press(lambda: f"{_rules()}rules/", "Save", _reasoned, asks=False),
    "tenant_edit": Press(_at(made.tenant, f"{TENANT}/edit"), "Save", _reasoned, asks=False),
}  # fmt: skip
