"""The audit log: changes by operators and their tools, in the transaction of the change.

Spec: contract 31.5. Entries are added and never changed; retention alone removes them.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from time import monotonic
from typing import Any

from django.db import DatabaseError, InterfaceError
from django.db.models import BigIntegerField, F, Func, QuerySet, Subquery, TextField, Value
from django.db.models.functions import Coalesce
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual

from jobs.database import atomic, on_commit
from jobs.domain.access.caller import Caller
from jobs.models import Audit

logger = logging.getLogger("ojs.audit")
MOST = 10_000  # counted for a list
LONGEST = 200  # characters of a target that any caller may choose
NO_ENTRY = 2**63 - 1
SAMPLE_S = 1.0
SAMPLED = 10_000  # principals
Bound = int | Coalesce  # of the ids of a list
INDEXED = ("action", "actor", "target")  # names with an index of their own


def record(
    caller: Caller,
    action: str,
    target: str,
    *,
    reason: str | None = None,
    outcome: str = "success",
    data: Mapping[str, Any] | None = None,
) -> None:
    """Add an entry in the caller's transaction: actor (`caller`), action, target and reason."""
    Audit.objects.create(
        actor=caller.name,
        action=action,
        outcome=outcome,
        target=target,
        tenant=caller.tenant,
        reason=reason or caller.reason,
        request_id=caller.request_id,
        address=caller.address,
        data=dict(data or {}),
    )
    facts = {"actor": caller.name, "action": action, "target": target, "outcome": outcome}
    on_commit(lambda: logger.info("audit", extra=facts))


@contextmanager
def audited(
    caller: Caller, action: str, target: str, *, reason: str | None = None
) -> Iterator[dict[str, Any]]:
    """Run the block and record it, both or neither; values set in the block become `data`.

    One transaction surrounds the block, so the block must be short.
    """
    with atomic():
        data: dict[str, Any] = {}
        yield data
        record(caller, action, target, reason=reason, data=data)


_sampled: OrderedDict[str, float] = OrderedDict()  # when a refusal was last recorded, by principal
_sampling = Lock()


def denied(caller: Caller, target: str, operation: str) -> None:
    """Record a refused permission, once a second for each principal and process.

    A failure to record does not change the answer. `target` may be any text.
    """
    with _sampling:
        now = monotonic()
        if now - _sampled.get(caller.name, -SAMPLE_S) < SAMPLE_S:
            return
        _sampled[caller.name] = now
        _sampled.move_to_end(caller.name)
        while len(_sampled) > SAMPLED:
            _sampled.popitem(last=False)
    try:
        record(
            caller, "auth.permission_denied", target[:LONGEST].replace("\0", ""), outcome="denied",
            data={"operation": operation},
        )  # fmt: skip
    except (DatabaseError, InterfaceError):
        logger.warning("audit.failed", exc_info=True)


def forget_samples() -> None:
    """Record the next refusal of every principal, for tests."""
    _sampled.clear()


def entries(
    *, action: str | None, actor: str | None, limit: int, offset: int, target: str | None = None
) -> tuple[list[Audit], int]:
    """List entries, latest first; returns a page and the total, counted up to MOST."""
    asked = {"action": action, "actor": actor, "target": target}
    wanted = {name: value for name, value in asked.items() if value}
    found = _latest_first(wanted)
    return list(found[offset : offset + limit]), found[:MOST].count()


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """A filter: all members that are set must match, each name as a whole."""

    action: str = ""
    actor: str = ""
    target: str = ""
    outcome: str = ""
    since: datetime | None = None
    until: datetime | None = None


def page(wanted: AuditFilter, *, before: int | None, size: int) -> tuple[list[Audit], int | None]:
    """List entries, latest first, from an id on; returns a page and the start of the next page.

    It reads the index of the first name that is set. Times are found as ids: entries are in order
    of time, except entries of transactions that were open at the same moment.
    """
    names = {name: getattr(wanted, name) for name in ("action", "actor", "target", "outcome")}
    least: list[Bound] = []
    most: list[Bound] = [] if before is None else [before - 1]
    if wanted.since is not None:
        first = Audit.objects.filter(at__gte=wanted.since).order_by("at")
        least.append(Coalesce(Subquery(first.values("id")[:1]), NO_ENTRY))
    if wanted.until is not None:
        last = Audit.objects.filter(at__lte=wanted.until).order_by("-at")
        most.append(Coalesce(Subquery(last.values("id")[:1]), 0))
    found = _latest_first({name: value for name, value in names.items() if value}, least, most)
    rows = list(found[: size + 1])
    return rows[:size], rows[size - 1].id if len(rows) > size else None


def recorded_actions(looked: int = 500) -> list[str]:
    """List the actions of the latest entries, for a form."""
    return sorted(set(Audit.objects.order_by("-id").values_list("action", flat=True)[:looked]))


def done_to(target: str, kind: str, *, limit: int) -> list[Audit]:
    """List the entries of one target with actions of a kind, such as `tenant`, latest first."""
    found = _latest_first({"target": target}).filter(action__startswith=f"{kind}.")
    return list(found[:limit])


def _latest_first(
    names: Mapping[str, str], least: Iterable[Bound] = (), most: Iterable[Bound] = ()
) -> QuerySet[Audit]:
    """Select the entries with these names, latest first, by the index of one of the names.

    Their ids are at least each of `least` and at most each of `most`. Name and id are compared as
    one row, which only the index of this name can answer. For an equation of the name the planner
    may walk the ids of all entries instead, and read past the entries of all other names.
    """
    others = dict(names)
    name = next((name for name in INDEXED if name in others), None)
    if name is None:
        found = Audit.objects.filter(**others).order_by("-id")
        for bound in least:
            found = found.filter(id__gte=bound)
        for bound in most:
            found = found.filter(id__lte=bound)
        return found
    value = others.pop(name)
    found = Audit.objects.filter(**others).order_by(f"-{name}", "-id")
    place = _row(F(name), F("id"))
    for bound in (0, *least):
        found = found.filter(GreaterThanOrEqual(place, _row(Value(value), _id(bound))))
    for bound in (NO_ENTRY, *most):
        found = found.filter(LessThanOrEqual(place, _row(Value(value), _id(bound))))
    return found


def _id(bound: Bound) -> Coalesce | Value:
    return Value(bound, BigIntegerField()) if isinstance(bound, int) else bound


def _row(*parts: Any) -> Func:
    return Func(*parts, function="ROW", output_field=TextField())
