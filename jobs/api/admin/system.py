"""Maintenance, configuration, audit log, score. Spec: contract 24.1, 31.5."""

from dataclasses import asdict
from typing import Any

from rest_framework.request import Request

from jobs import VERSION, extensions
from jobs.api.base import OJSView
from jobs.api.may_lag import may_lag
from jobs.api.openapi import operation
from jobs.api.schemas import (
    ANY,
    BOOLEAN,
    NUMBER,
    OBJECT,
    SHORT_DURATION,
    TIME,
    array,
    component,
    integer,
    maybe,
    obj,
    text,
)
from jobs.api.wire.admin import list_of, listed, optional_text, plain
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import NUMBERED, admin_page
from jobs.conf import conf
from jobs.domain.errors import InvalidRequest
from jobs.domain.wire.durations import parse_short_duration
from jobs.domain.wire.times import format_time
from jobs.models import Audit, Maintenance
from jobs.services.audit import audit
from jobs.services.health.health import uptime_seconds
from jobs.services.health.score import FULL_SCORE, score
from jobs.services.operate import maintenance

SECRET = ("secret", "password", "token", "key")  # parts of names that are never shown
STATE = component(
    "Maintenance",
    obj(
        {
            "enabled": BOOLEAN,
            "maintenance": BOOLEAN,
            "reason": maybe(text()),
            **{
                name: maybe(TIME)
                for name in ("started_at", "enabled_at", "ends_at", "estimated_end")
            },
        }
    ),
)
ENTRY = component(
    "AuditEntry",
    obj(
        {
            "id": integer(1),
            "at": TIME,
            "timestamp": TIME,
            "action": text(1),
            "event_type": text(1),
            "principal": text(),
            "actor": text(),
            "target": text(),
            "reason": maybe(text()),
            "outcome": {"const": "success"},
            "correlation_id": maybe(text()),
            "source_ip": maybe(text()),
            "detail": OBJECT,
        }
    ),
)


class MaintenanceMode(OJSView):
    """The switch of the whole system."""

    @operation(
        "getMaintenance",
        {200: STATE},
        aliases={"/ojs/v1/admin/maintenance": "getMaintenanceShort"},
    )
    def get(self, request: Request) -> Answer:
        """Show whether maintenance is on."""
        return Answer(_encode(maintenance.maintenance()))

    @operation(
        "setMaintenance",
        {200: STATE},
        body=obj(
            {"enabled": BOOLEAN},
            {
                "reason": maybe(text()),
                "duration": maybe(SHORT_DURATION),
                "estimated_duration": maybe(SHORT_DURATION),
            },
        ),
        aliases={"/ojs/v1/admin/maintenance": "setMaintenanceShort"},
    )
    def post(self, request: Request) -> Answer:
        """Switch maintenance on or off.

        During maintenance no job is handed out or promoted and no schedule fires; enqueues and
        answers of workers continue. With a duration it ends automatically.
        """
        body = self.body()
        if not isinstance(body.get("enabled"), bool):
            raise InvalidRequest.field("enabled", "must be true or false", body.get("enabled"))
        reason = optional_text(body, "reason")
        lengths = [_duration(body, name) for name in ("duration", "estimated_duration")]
        if body["enabled"]:
            maintenance.start(self.caller, reason=reason, duration_ms=lengths[0] or lengths[1])
        else:
            maintenance.end(self.caller, reason=reason)
        return Answer(_encode(maintenance.maintenance()))


def _duration(body: dict[str, Any], name: str) -> int | None:
    raw = body.get(name)
    if raw is None:
        return None
    try:
        ms = parse_short_duration(raw)
    except ValueError:
        ms = 0
    if ms <= 0:
        raise InvalidRequest.field(name, "must be a duration above zero, 30m or PT30M", raw)
    return ms


def _encode(found: Maintenance | None) -> dict[str, Any]:
    began = found and format_time(found.started_at)
    ends = found and found.ends_at and format_time(found.ends_at)
    return {
        "enabled": found is not None,
        "maintenance": found is not None,
        "reason": found and found.reason,
        "started_at": began,
        "enabled_at": began,
        "ends_at": ends,
        "estimated_end": ends,
    }


class Configuration(OJSView):
    """The effective settings."""

    @operation(
        "getConfiguration",
        {
            200: obj(
                {
                    "version": text(1),
                    "uptime_seconds": integer(0),
                    "settings": OBJECT,
                    "extensions": array(text(1)),
                }
            )
        },
        aliases={"/ojs/v1/admin/config": "getConfigurationShort"},
    )
    def get(self, request: Request) -> Answer:
        """Show the effective settings, without anything secret."""
        settings = {
            name: value
            for name, value in asdict(conf()).items()
            if not any(part in name.split("_") for part in SECRET)
        }
        return Answer(
            {
                "version": VERSION,
                "uptime_seconds": uptime_seconds(),
                "settings": settings,
                "extensions": [type(one).__name__ for one in extensions.installed()],
            }
        )


class AuditLog(OJSView):
    """The audit log."""

    @may_lag
    @operation(
        "listAudit",
        {200: list_of(ENTRY, "entries")},
        query={"action": text(), "principal": text(), **NUMBERED},
    )
    def get(self, request: Request) -> Answer:
        """List audit entries, latest first; counted up to 10,000."""
        window = admin_page(request)
        found, total = audit.entries(
            action=plain(request, "action"),
            actor=plain(request, "principal"),
            limit=window.limit,
            offset=window.offset,
        )
        is_estimate = total >= audit.MOST
        items = [_encode_entry(entry) for entry in found]
        return Answer(listed(items, total, window, "entries", is_estimate=is_estimate))


def _encode_entry(entry: Audit) -> dict[str, Any]:
    at = format_time(entry.at)
    return {
        "id": entry.id,
        "at": at,
        "timestamp": at,
        "action": entry.action,
        "event_type": entry.action,
        "principal": entry.actor,
        "actor": entry.actor,
        "target": entry.target,
        "reason": entry.reason,
        "outcome": entry.outcome,
        "correlation_id": entry.request_id,
        "source_ip": entry.address,
        "detail": entry.data,
    }


class ObservabilityHealth(OJSView):
    """The health score."""

    @operation(
        "getObservabilityHealth",
        {
            200: obj(
                {
                    "score": integer(0, FULL_SCORE),
                    "status": {"type": "string", "enum": ["ok", "degraded", "critical"]},
                    "slo_violations": array(text(1)),
                    "anomaly_count": integer(0),
                    "checks": array(
                        obj(
                            {
                                "name": text(1),
                                "status": {"type": "string", "enum": ["ok", "failed"]},
                                "value": ANY,
                                "limit": NUMBER,
                            }
                        )
                    ),
                }
            )
        },
    )
    def get(self, request: Request) -> Answer:
        """Show a score: 100 less the weights of failed checks."""
        found = score()
        violations = [check.name for check in found.checks if not check.is_ok]
        return Answer(
            {
                "score": found.points,
                "status": found.status,
                "slo_violations": violations,
                "anomaly_count": len(violations),
                "checks": [
                    {
                        "name": check.name,
                        "status": "ok" if check.is_ok else "failed",
                        "value": check.value,
                        "limit": check.limit,
                    }
                    for check in found.checks
                ],
            }
        )
