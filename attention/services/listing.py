"""Read findings: the open ones, the muted ones, and the history of a week.

Callers bound to a tenant see the findings about their tenant, and the findings about the server
that concern all tenants, without numbers of other tenants' jobs.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import JSONObject, Now
from django.utils import timezone

from attention.domain.rule import Hit, Rule, Severity, Subject
from attention.domain.runbook import About
from attention.models import Finding, Look, Mute, Note, ProcedureRow
from attention.rules import BY_ID, RULES, installed
from attention.services.look import evaluate
from attention.services.words import Muted, Shown, for_tenant
from jobs.domain.errors import NotFound
from jobs.domain.wire.ids import is_id

MOST: Final = 500  # findings of a list
FRESH: Final = timedelta(seconds=30)  # three looks: then the loop has stopped
PUBLIC: Final = tuple(rule.id for rule in RULES if rule.is_public)
# evaluated when the list is read, if the loop does not run: the same failure stops both
ALWAYS: Final = ("loop_stuck", "maintenance")


class Kept(StrEnum):
    """The lists."""

    OPEN = "open"
    MUTED = "muted"
    ENDED = "ended"


def listed(tenant: str | None, kept: Kept = Kept.OPEN, limit: int = MOST) -> list[Shown]:
    """Return findings, worst first; ended ones latest first. At most four statements."""
    rows = _visible(tenant)
    if kept is Kept.ENDED:
        rows = rows.exclude(ended_at=None).order_by("-ended_at", "id")
        return [_shown(row, tenant) for row in rows[:limit]]
    rows = rows.filter(ended_at=None, muted__isnull=kept is Kept.OPEN)
    rows = rows.order_by("-severity", "-jobs", "since", "id")
    found = [_shown(row, tenant) for row in rows[:limit]]
    return found if kept is Kept.MUTED else _with_latest(found, tenant)


def show(finding_id: str, tenant: str | None) -> Shown:
    """Read a finding, open or ended. Raises NotFound, also for another tenant's."""
    row = _visible(tenant).filter(id=finding_id).first() if is_id(finding_id) else None
    if row is None:
        raise NotFound.of("finding", finding_id)
    return _shown(row, tenant)


def earlier(shown: Shown, tenant: str | None, limit: int = 20) -> list[Shown]:
    """Return the other findings of the same rule and subject, latest first."""
    rows = _visible(tenant).filter(rule=shown.rule.id, subject=shown.hit.subject)
    return [_shown(row, tenant) for row in rows.exclude(id=shown.id).order_by("-since")[:limit]]


def about(kind: Subject, name: str, tenant: str | None, limit: int = 10) -> list[Shown]:
    """Return the open findings about one subject that are not muted, worst first; one statement."""
    rules = [rule.id for rule in RULES if rule.subject is kind]
    rows = _visible(tenant).filter(rule__in=rules, ended_at=None, muted__isnull=True)
    if kind is Subject.QUEUE:  # the subject of a rule may be a queue of one pool
        rows = rows.filter(Q(subject=name) | Q(facts__queue=name))
    elif kind is Subject.WORKFLOW:  # a finding is about all workflows of a name
        rows = rows.filter(Q(facts__workflow=name))
    else:
        rows = rows.filter(subject=name)
    return [
        _shown(row, tenant) for row in rows.order_by("-severity", "-jobs", "since", "id")[:limit]
    ]


def looked_at() -> datetime | None:
    """Return the time of the last look; None: the loop never ran."""
    return Look.objects.filter(id=1).values_list("at", flat=True).first()


def counts() -> dict[tuple[str, int], int]:
    """Count the findings of the list of open ones, by rule and severity."""
    found: dict[tuple[str, int], int] = {}
    is_fresh = _is_fresh()
    rows = _visible(None).filter(ended_at=None, muted__isnull=True).values_list("rule", "severity")
    for rule, severity in rows[: MOST * 10]:
        if is_fresh or rule not in ALWAYS:
            found[rule, severity] = found.get((rule, severity), 0) + 1
    for one in [] if is_fresh else evaluate(_always(), {}).found:
        key = one.rule.id, int(one.severity)
        found[key] = found.get(key, 0) + 1
    return found


def _visible(tenant: str | None) -> QuerySet[Any]:
    mutes = Mute.objects.filter(
        rule=OuterRef("rule"), subject=OuterRef("subject"), until__gt=Now()
    ).values(one=JSONObject(reason=F("reason"), until=F("until"), actor=F("actor"), at=F("at")))
    notes = Note.objects.filter(about=About.ALERT, name=OuterRef("rule"))
    procedures = ProcedureRow.objects.filter(about=About.ALERT, subject=OuterRef("rule"))
    rows = Finding.objects.filter(rule__in=list(BY_ID)).annotate(
        muted=Subquery(mutes[:1]), has_runbook=Exists(notes) | Exists(procedures)
    )
    if tenant is None:
        return rows
    return rows.filter(Q(tenant=tenant) | Q(tenant=None, rule__in=PUBLIC))


def _shown(row: Any, tenant: str | None) -> Shown:
    hit = Hit(row.subject, row.tenant, row.since, row.jobs, row.tenants, row.facts)
    muted = row.muted and Muted(
        row.muted["reason"],
        datetime.fromisoformat(row.muted["until"]),
        row.muted["actor"],
        datetime.fromisoformat(row.muted["at"]),
    )
    return Shown(
        str(row.id), BY_ID[row.rule], _restricted(hit, tenant), Severity(row.severity),
        row.since, row.ended_at, muted or None, row.has_runbook,
    )  # fmt: skip


def _restricted(hit: Hit, tenant: str | None) -> Hit:
    if tenant is None:
        return hit
    own = hit if hit.tenant == tenant else hit._replace(jobs=0, tenants=0)
    return for_tenant(own)


def _with_latest(found: list[Shown], tenant: str | None) -> list[Shown]:
    """Add the findings about stopped loops, which no loop stores."""
    if _is_fresh():
        return found
    return [
        *(
            Shown(
                "",
                one.rule,
                _restricted(one.hit, tenant),
                one.severity,
                one.hit.since or timezone.now(),
            )
            for one in evaluate(_always(), {}).found
        ),
        *(one for one in found if one.rule.id not in ALWAYS),
    ]


def _is_fresh() -> bool:
    return Look.objects.filter(id=1, at__gt=Now() - FRESH).exists()


def _always() -> Iterable[Rule]:
    return (rule for rule in installed() if rule.id in ALWAYS)
