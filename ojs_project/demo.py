"""A small stream of varied real jobs, so that every page has life."""

import random
from collections.abc import Iterable
from dataclasses import replace
from threading import Event
from typing import Any

from jobs.domain.envelope import parse_job
from jobs.extensions import Extension, Loop
from jobs.handlers import Discard, current_job, job
from jobs.services.enqueue import enqueue

TENANTS = ("north", "south", "east", "acme:eu")
EVERY_MS = 400
SMTP_FAILS, CARD_FAILS = 0.2, 0.125
CHANCE = random.Random()  # noqa: S311 - variety, no secret


class SmtpTimeout(Exception):
    """The relay did not answer."""


class CardDeclined(Exception):
    """The issuer said no."""


def _work(seconds: float) -> None:
    Event().wait(CHANCE.uniform(0.2, 1.8) * seconds)


@job("demo.hello", idempotent=True)
def hello(name: str) -> dict[str, str]:
    """Greet."""
    return {"greeting": f"Hello, {name}"}


@job("mail.send", queue="mail", retry={"max_attempts": 4, "initial_interval": "PT2S"})
def send_mail(address: str, subject: str) -> dict[str, str]:
    """Fail one time in five, as relays do."""
    _work(0.05)
    if CHANCE.random() < SMTP_FAILS:
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
    """Be declined one time in eight; a declined card goes to the dead letter."""
    _work(0.1)
    if CHANCE.random() < CARD_FAILS:
        raise CardDeclined(f"issuer declined {cents} cents for invoice {invoice}")
    return {"invoice": invoice, "charged": cents}


@job("report.render", queue="reports", timeout=60)
def render(month: str) -> dict[str, str]:
    """Take a while and tell how far it is."""
    context = current_job()
    for page in range(1, 11):
        if context.is_cancelled():
            raise Discard("the report was cancelled")
        _work(0.3)
        context.progress(page / 10, f"page {page} of 10")
    return {"report": month}


@job("cache.warm", queue="maintenance", priority=-10, idempotent=True)
def warm(keys: int) -> int:
    """Do something short and unimportant."""
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


def produce() -> int:
    """Enqueue one or two jobs; returns 0, so that the loop waits for its interval."""
    drafts = [parse_job(_next()) for _ in range(CHANCE.randint(1, 2))]
    enqueue([replace(draft, tenant=draft.meta["tenant_id"]) for draft in drafts])
    return 0


class DemoExtension(Extension):
    """Adds the producer to the loops."""

    def loops(self) -> Iterable[Loop]:
        """One producer among all workers."""
        return (Loop("demo", produce, EVERY_MS),)
