"""Every rule: its words, severity and remedies; the table of the manual."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.test import RequestFactory

from attention.domain.rule import Hit, Severity
from attention.rules import BY_ID, RULES
from attention.services.words import Shown
from console.attention import BUTTONS, items
from jobs.queries import now
from tests.conftest import ROOT

NONE = "\N{EN DASH}"
JOB = "01890000-0000-7000-8000-000000000000"
FACTS: dict[str, dict[str, Any]] = {
    "error_rate": {
        "failed": 73, "ended": 100, "queue": "q", "percent": 73, "past_percent": 2, "error": "E",
        "message": "m",
    },
    "dead_letters": {"discarded": 10_000, "past": 3, "queue": "q", "error": None},
    "job_slow": {
        "job": JOB, "worker": "w", "queue": "q", "longest_ms": 9e6, "usual_ms": 900, "workers": 2,
    },
    "canary_worse": {
        "canary": "2.0", "control": "1.0", "revision": 7, "percent": 40.0, "control_percent": 1.0,
        "ended": 100.0, "control_ended": 900.0,
    },
    "version_held": {"versions": ["2.0", "3.0"]},
    "queue_without_worker": {"gone_at": None, "quiet": ["w"]},
    "queue_paused": {"actor": None, "reason": None},
    "queue_full": {
        "unit": "jobs", "held": 96, "bound": 100, "strategy": "block", "percent": 96,
        "is_paused": False, "started": 7,
    },
    "queue_grows": {"had": 2, "window_m": 15, "enqueued": 900, "started": 3},
    "queue_late": {"wait_ms": 9e6, "slo_ms": 300_000, "started": 20},
    "queue_objective": {
        "is_fast": True, "percent": 99.5, "within_ms": 30_000, "started": 1_000, "late": 144,
        "burn_rate": 28.8,
    },
    "queue_starved": {"queue": "q", "last_at": None, "pools": ["p"]},
    "pool_full": {"concurrency": 5},
    "retention_late": {},
    "worker_stuck": {
        "type": "mail", "job": JOB, "last_start_ms": 9e5, "host": "h", "concurrency": 2,
    },
    "workers_gone": {"usual": 9, "live": 1, "died": 5, "stopped": 3, "host": "h"},
    "worker_skewed": {"ahead_ms": 70_000},
    "cron_failing": {"name": "nightly", "runs": 3, "job": JOB, "why": "no disk"},
    "cron_missed": {"name": "nightly", "due_at": "x", "is_maintenance": True},
    "workflow_waits": {
        "name": "import", "tenant": "t", "workflow": JOB, "step": "s", "job": JOB, "state": 5,
        "queue": "q", "is_due": False,
    },
    "tenant_suspended": {"actor": "ada", "reason": "unpaid"},
    "tenant_noisy": {"reasons": ["queue_depth_ratio_exceeded"]},
    "tenant_throttled": {"action": "weight", "factor": 0.5, "until": "x", "reasons": []},
    "region_open": {"error": "HTTP 503", "is_forced": False},
    "region_down": {"error": None},
    "region_skewed": {"skew_s": -90},
    "replication_late": {"lag_ms": 90_000, "error": None},
    "webhook_off": {"host": "example.org", "why": "HTTP 410"},
    "loop_stuck": {"last_at": None},
    "maintenance": {"actor": "ada", "reason": "disks", "ends_at": None},
    "database_slow": {"took_ms": 5_000},
    "counts_late": {"behind_ms": 90_000},
    "counts_drifted": {"counts": 3, "last_at": "x"},
}  # fmt: skip


def hit(rule_id: str) -> Hit:
    """Return a finding of a rule; the subject of schedules is a number."""
    subject = "7" if rule_id.startswith("cron") else "subject"
    return Hit(subject, None, now(), 12, 2, FACTS[rule_id])


def test_every_rule_has_a_sample() -> None:
    assert FACTS.keys() == BY_ID.keys()


@pytest.mark.parametrize("rule_id", BY_ID)
def test_a_finding_has_sentences_and_remedies_that_exist(store: None, rule_id: str) -> None:
    rule, found = BY_ID[rule_id], hit(rule_id)
    request = RequestFactory().get("/")
    request.user = User(username="ada", is_superuser=True, is_active=True)
    request.session = {}  # type: ignore[assignment]  # no session is needed

    (item,) = items(request, [Shown(JOB, rule, found, rule.severity(found), now())], None)

    assert re.fullmatch(r"[A-Z0-9].*[^ ]", rule.text(found))
    assert rule.cause(found)
    assert rule.severity(found) in Severity
    assert len(item.buttons) == len(rule.remedies(found)) > 0
    assert not any(one.action for one in item.buttons[BUTTONS:]), "lists show no such action"


def test_a_user_gets_only_the_buttons_that_the_user_may_press(store: None) -> None:
    rule, found = BY_ID["queue_paused"], hit("queue_paused")
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    request.session = {}  # type: ignore[assignment]  # no session is needed

    (item,) = items(request, [Shown(JOB, rule, found, rule.severity(found), now())], None)

    assert item.buttons == ()


def test_the_manual_lists_every_rule_with_its_defaults() -> None:
    page = (ROOT / "docs" / "attention.md").read_text()

    for rule in RULES:
        thresholds = [f"{one.label}: {one.default:,} (`{one.name}`)" for one in rule.thresholds]
        row = f"| `{rule.id}` | {rule.title} | {'; '.join(thresholds) or NONE} |"
        assert row in page, row


def test_thresholds_contain_their_defaults() -> None:
    for rule in RULES:
        for one in rule.thresholds:
            assert one.low <= one.default <= one.high
