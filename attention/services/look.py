"""Evaluate all rules and store the findings: the body of the loop `attention`.

Each rule is one statement over aggregates. So a look costs the same with a thousand jobs and with
ten million. If a statement fails, the findings of its rule stay as they are.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final

import orjson
from django.db import DatabaseError

from attention.domain.order import Found, effective, names, unexplained
from attention.domain.rule import MOST, Hit, Rule, Subject
from attention.queries import findings
from attention.queries.findings import Changed
from attention.rules import installed
from attention.services.events import told
from jobs import caches
from jobs.conf import conf
from jobs.database import atomic
from jobs.domain.states import CODES, State
from jobs.domain.wire.ids import new_id
from jobs.services.health.health import STALE_LOOP_MS
from jobs.services.outcome.retain import DEAD, defaults
from jobs.services.record.emit import emit

logger = logging.getLogger("ojs.attention")

MAX_SKEW_MS: Final = 60_000


@dataclass(slots=True)
class Evaluated:
    """The findings of some rules; `failed` rules are unknown."""

    found: list[Found] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    failed: list[Rule] = field(default_factory=list)


_last: dict[str, float] = {}  # when a rule with `every_s` was evaluated in this process
caches.register(_last.clear)


def look() -> int:
    """Look once; returns how many findings changed in the list.

    1. Store the depths of queues, once a minute, and read the changes of rules.
    2. Evaluate each rule that is due and enabled, one statement each.
    3. Count the tenants of the queues with findings.
    4. In one transaction: store the findings, and emit an event for each change.

    Locks: one look at a time stores (advisory, tried).
    """
    changes = {one.rule: one for one in findings.sample()}
    wanted = [rule for rule in installed() if _is_enabled(rule, changes)]
    seen = evaluate([rule for rule in wanted if _is_due(rule)], changes)
    rows = _rows(unexplained(seen.found))
    off = [rule for rule in installed() if not _is_enabled(rule, changes)]
    with atomic():
        if not findings.stores_alone():
            return 0
        turned = findings.store(
            rows,
            evaluated=names([*seen.rules, *off]),
            rules=names(installed()),
            failed=names(seen.failed),
        )
        emit([told(one) for one in turned])
    return len(turned)


def evaluate(rules: Iterable[Rule], changes: Mapping[str, Changed]) -> Evaluated:
    """Run the statements of some rules."""
    began, seen, shared = monotonic(), Evaluated(), _shared()
    for rule in rules:
        change = changes.get(rule.id)
        params = {
            **shared,
            **effective(rule, change.thresholds if change else {}),
            "overrides": orjson.dumps(change.overrides if change else {}).decode(),
            "took_ms": round((monotonic() - began) * 1000),
        }
        try:
            hits = rule.find(params)
        except DatabaseError:  # one broken rule must not hide the other findings
            logger.exception("attention.rule_failed", extra={"rule": rule.id})
            seen.failed.append(rule)
            continue
        seen.rules.append(rule)
        seen.found += [Found(rule, hit) for hit in hits]
    return seen


def _shared() -> dict[str, Any]:
    """Return the parameters that all rules share."""
    kept = defaults()
    ages = {
        CODES[State.COMPLETED]: kept.completed, CODES[State.CANCELLED]: kept.cancelled,
        CODES[State.DISCARDED]: kept.discarded, DEAD: kept.dead_letter,
    }  # fmt: skip
    return {
        "most": MOST, "silence_ms": conf().worker_silence_ms, "stale_ms": STALE_LOOP_MS,
        "skew_ms": MAX_SKEW_MS,
        "ages": orjson.dumps(
            {str(kind): age for kind, age in ages.items() if age is not None}
        ).decode(),
    }  # fmt: skip


def _is_enabled(rule: Rule, changes: Mapping[str, Changed]) -> bool:
    return rule.id not in changes or changes[rule.id].is_enabled


def _is_due(rule: Rule) -> bool:
    now = monotonic()
    if rule.every_s and now - _last.get(rule.id, -rule.every_s) < rule.every_s:
        return False
    _last[rule.id] = now
    return True


def _rows(found: Sequence[Found]) -> list[dict[str, Any]]:
    queues = {
        one.hit.subject
        for one in found
        if one.hit.tenants is None and one.rule.subject is Subject.QUEUE
    }
    tenants = findings.tenants_hit(queues)
    return [
        {
            "id": new_id(), "rule": one.rule.id, "subject": one.hit.subject,
            "tenant": one.hit.tenant, "severity": int(one.severity),
            "since": one.hit.since and one.hit.since.isoformat(),
            "is_exact": one.rule.is_exact, "jobs": one.hit.jobs,
            "tenants": _tenants(one.hit, tenants), "facts": dict(one.hit.facts),
        }
        for one in found
    ]  # fmt: skip


def _tenants(hit: Hit, by_queue: Mapping[str, int]) -> int:
    if hit.tenants is not None:
        return hit.tenants
    return by_queue.get(hit.subject, min(1, hit.jobs))
