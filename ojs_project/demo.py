"""The jobs of the demo: a small stream of varied real jobs, so that every page has data."""

import random
from collections.abc import Iterable
from dataclasses import replace
from threading import Event
from typing import Any

from typing_extensions import override

from jobs.domain.access.caller import SYSTEM
from jobs.domain.envelope import parse_job
from jobs.domain.errors import OJSError
from jobs.extensions import Loop, OperationsHooks
from jobs.services.enqueue.enqueue import enqueue
from ojs_project import demo_scenes
from ojs_project.demo_scenes import Incident, happens
from ojs_tasks import Discard, current_job, job
from scheduling.api.cron_codec import decode_definition
from scheduling.models import CronEntry
from scheduling.services.cron_register import register
from workflows.domain.request import parse_workflow
from workflows.models import Workflow
from workflows.services.start import start

TENANTS = ("north", "south", "east", "acme:eu")
EVERY_MS, WORK_MS, OBJECTS_MS = 400, 1_000, 5_000
SMTP_FAILS, RELAY_DOWN, CARD_FAILS = 0.04, 0.8, 0.125
WORKFLOWS = 0.02  # share of the runs that begin a workflow: every 20 seconds
CHANCE = random.Random()  # noqa: S311 - variety, no secret


class SmtpTimeout(Exception):
    """The mail relay did not answer."""


class CardDeclined(Exception):
    """The issuer declined the card."""


def _work(seconds: float) -> None:
    Event().wait(CHANCE.uniform(0.2, 1.8) * seconds)


@job("demo.hello", idempotent=True)
def hello(name: str) -> dict[str, str]:
    """Return a greeting."""
    return {"greeting": f"Hello, {name}"}


@job("mail.send", queue="mail", retry={"max_attempts": 4, "initial_interval": "PT2S"})
def send_mail(address: str, subject: str) -> dict[str, str]:
    """Send a mail; fails now and then, and mostly while the relay is down."""
    _work(0.05)
    if CHANCE.random() < (RELAY_DOWN if happens(Incident.ERRORS) else SMTP_FAILS):
        raise SmtpTimeout(f"relay did not answer for {address}")
    return {"sent_to": address, "subject": subject}


@job(
    "billing.charge",
    queue="billing",
    retry={
        "max_attempts": 3,
        "initial_interval": "PT1S",
        "non_retryable_errors": ["CardDeclined"],
        "on_exhaustion": "dead_letter",
    },
)
def charge(invoice: int, cents: int) -> dict[str, int]:
    """Charge a card; it is declined one time in eight, and the job goes to the dead letter."""
    _work(0.1)
    if CHANCE.random() < CARD_FAILS:
        raise CardDeclined(f"issuer declined {cents} cents for invoice {invoice}")
    return {"invoice": invoice, "charged": cents}


@job("report.render", queue="reports", timeout=60)
def render(month: str) -> dict[str, str]:
    """Render a report slowly, and report progress."""
    context = current_job()
    for page in range(1, 11):
        if context.is_cancelled():
            raise Discard("the report was cancelled")
        _work(0.3)
        context.progress(page / 10, f"page {page} of 10")
    return {"report": month}


@job("cache.warm", queue="maintenance", priority=-10, idempotent=True)
def warm(keys: int) -> int:
    """Warm a cache: a short job of low priority."""
    _work(0.01)
    return keys


def _next() -> dict[str, Any]:
    number = CHANCE.randrange(10_000, 99_999)
    meta = {"tenant_id": CHANCE.choice(TENANTS)}
    choices: list[dict[str, Any]] = [
        {"type": "mail.send", "queue": "mail", "args": [f"user{number}@example.org", "News"],
         "retry": {"max_attempts": 4, "initial_interval": "PT2S"}, "tags": ["newsletter"]},
        {"type": "billing.charge", "queue": "billing", "args": [number, number % 5000 + 100],
         "priority": 5, "retry": {"max_attempts": 3, "initial_interval": "PT1S",
         "non_retryable_errors": ["CardDeclined"], "on_exhaustion": "dead_letter"}},
        {"type": "cache.warm", "queue": "maintenance", "args": [number % 100], "priority": -10},
        {"type": "mail.send", "queue": "mail", "args": [f"user{number}@example.org", "Later"],
         "scheduled_at": f"+PT{CHANCE.randrange(5, 90)}S"},
        {"type": "report.render", "queue": "reports", "args": [f"2026-{number % 12 + 1:02}"]},
        {"type": "demo.hello", "args": [f"visitor {number}"]},
    ]  # fmt: skip
    return {**CHANCE.choices(choices, weights=(8, 4, 3, 3, 1, 2))[0], "meta": meta}


def _workflow() -> dict[str, Any]:
    number = CHANCE.randrange(10_000, 99_999)
    charge_one = {"type": "billing.charge", "args": [number, 4200], "options": {"queue": "billing"}}
    render_one = {"type": "report.render", "args": ["2026-05"], "options": {"queue": "reports"}}
    mails = [
        {"type": "mail.send", "args": [f"user{number + n}@example.org", "Invoice"],
         "options": {"queue": "mail", "max_attempts": 2}}
        for n in range(CHANCE.randrange(3, 9))
    ]  # fmt: skip
    hello_one = {"type": "demo.hello", "args": ["the team"]}
    forms: list[dict[str, Any]] = [
        {"type": "chain", "name": "close the month",
         "steps": [charge_one, {"type": "group", "jobs": [render_one, *mails]}, hello_one]},
        {"type": "batch", "name": "newsletter", "jobs": mails,
         "callbacks": {"on_success": hello_one, "on_failure": mails[0]}},
        {"name": "onboarding", "steps": [
            {**charge_one, "id": "charge"}, {**hello_one, "id": "greet"},
            {**render_one, "id": "contract", "depends_on": ["charge"]},
            {**mails[0], "id": "welcome", "depends_on": ["charge", "greet"]},
            {**hello_one, "id": "done", "depends_on": ["contract", "welcome"]}]},
    ]  # fmt: skip
    return CHANCE.choice(forms)


def produce() -> int:
    """Enqueue some jobs. Returns 0, so that the loop waits for its interval."""
    if CHANCE.random() < WORKFLOWS or not Workflow.objects.exists():
        start(parse_workflow(_workflow(), parse_job))
    for draft in [parse_job(_next()) for _ in range(CHANCE.randint(1, 2))]:
        try:
            enqueue([replace(draft, tenant=draft.meta["tenant_id"])])
        except OJSError:  # a tenant at its limit
            continue
    demo_scenes.produce()
    return 0


SCHEDULES: list[dict[str, Any]] = [
    {"name": "cache-warm", "expression": "@every 20s", "overlap_policy": "skip",
     "description": "Keeps the most asked pages warm.",
     "job_template": {"type": "cache.warm", "args": [50], "options": {"queue": "maintenance"}}},
    {"name": "news-digest", "expression": "*/2 * * * *", "timezone": "Europe/Berlin",
     "overlap_policy": "cancel_previous", "description": "Sends the news of the last two minutes.",
     "job_template": {"type": "mail.send", "args": ["everyone@example.org", "News digest"],
                      "options": {"queue": "mail", "tags": ["newsletter"]}}},
    {"name": "sales-report", "expression": "*/5 * * * MON-FRI", "timezone": "America/New_York",
     "overlap_policy": "enqueue", "description": "One report after the other.",
     "job_template": {"type": "report.render", "args": ["sales"], "options": {"queue": "reports"}}},
    {"name": "month-end", "expression": "0 23 L * *", "timezone": "Asia/Tokyo",
     "job_template": {"type": "billing.charge", "args": [1, 100], "options": {"queue": "billing"}}},
]  # fmt: skip


def furnish() -> int:
    """Create the missing objects of the demo; existing objects keep their changes."""
    existing = set(CronEntry.objects.values_list("name", flat=True))
    for wanted in SCHEDULES:
        if wanted["name"] not in existing:
            register(decode_definition(wanted), SYSTEM, lambda _queue, _kind: None)
    return demo_scenes.furnish()


class DemoExtension(OperationsHooks):
    """Adds the loops of the demo: its producer, its objects and its played workers."""

    @override
    def loops(self) -> Iterable[Loop]:
        """Return the loops; one process of all workers leads each of them."""
        return (
            Loop("demo", produce, EVERY_MS),
            Loop("demo_objects", furnish, OBJECTS_MS),
            Loop("demo_workers", demo_scenes.work, WORK_MS),
        )
