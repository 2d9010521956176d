"""Encode and decode schedules, in both vocabularies.

Spec: contract 7.1, 7.5, 24.5, 24.6, D31.
"""

from collections.abc import Mapping
from typing import Any

from jobs.api.wire.members import queue_name
from jobs.domain.envelope import MANAGED, MEMBERS
from jobs.domain.errors import InvalidRequest, shown
from jobs.domain.states import state_of
from jobs.domain.wire.times import format_time
from scheduling.domain.cron import MAX_EXPRESSION, check_zone
from scheduling.domain.definition import MAX_DESCRIPTION, NAME_PATTERN, Definition
from scheduling.domain.overlap import Overlap
from scheduling.models import CronEntry
from scheduling.services.cron_history import Execution
from scheduling.services.cron_register import Changes

EXPRESSION = ("expression", "cron", "schedule")
POLICIES = [policy.value for policy in Overlap]
DEFAULTS: dict[str, Any] = {"args": [], "meta": {}, "options": {}}
# Members of the job that a flat request may have, besides type, args, meta and options
FLAT = sorted((MEMBERS | {"version"}) - {"specversion", "id"})


def decode_definition(body: Mapping[str, Any]) -> Definition:
    """Decode a registration. Raises InvalidRequest; `Definition.check` checks the job."""
    name = body.get("name")
    if not isinstance(name, str) or not NAME_PATTERN.fullmatch(name):
        raise InvalidRequest.field(
            "name", "must be 1 to 255 of a-z, 0-9, '.' and '-', not '.' or '-' first", name
        )
    changes = decode_changes(body)
    if changes.expression is None:
        raise InvalidRequest.field("expression", "is required")
    return Definition(
        name=name,
        expression=changes.expression,
        timezone=changes.timezone or "UTC",
        template={**DEFAULTS, **(changes.template or {})},
        overlap=changes.overlap or Overlap.SKIP,
        enabled=changes.enabled is not False,
        description=changes.description,
    )


def decode_changes(body: Mapping[str, Any], *, name: str | None = None) -> Changes:
    """Decode the changes of a request; null is the same as absent.

    With `name`, the request must not contain a different name. Raises InvalidRequest.
    """
    if name is not None and body.get("name") not in {None, name}:
        raise InvalidRequest.field("name", "cannot be changed", body["name"])
    zone, enabled = body.get("timezone"), body.get("enabled")
    if enabled is not None and not isinstance(enabled, bool):
        raise InvalidRequest.field("enabled", "must be a boolean", enabled)
    return Changes(
        expression=_expression(body),
        timezone=None if zone is None else _zone(zone),
        template=_template(body),
        overlap=_overlap(body.get("overlap_policy")),
        enabled=enabled,
        description=_description(body.get("description")),
        drops_description="description" in body and body["description"] is None,
    )


def _expression(body: Mapping[str, Any]) -> str | None:
    found: str | None = None
    for name in EXPRESSION:
        value = body.get(name)
        if value is None:
            continue
        if not isinstance(value, str) or not 1 <= len(value) <= MAX_EXPRESSION:
            raise InvalidRequest.field(
                name, f"must be a string of 1 to {MAX_EXPRESSION} characters", value
            )
        if found not in {None, value}:
            raise InvalidRequest.field(name, "differs from the other expression", value)
        found = value
    return found


def _zone(value: object) -> str:
    try:
        return check_zone(value)
    except ValueError as problem:
        raise InvalidRequest.field("timezone", str(problem), value) from None


def _overlap(value: object) -> Overlap | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in POLICIES:
        raise InvalidRequest.field("overlap_policy", f"must be one of {', '.join(Overlap)}", value)
    return Overlap(value)


def _description(value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or len(value) > MAX_DESCRIPTION):
        raise InvalidRequest.field(
            "description", f"must be a string of at most {MAX_DESCRIPTION} characters", value
        )
    return value


def _template(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Merge `job_template` and the flat members; both may have the same value, as in an answer."""
    nested = body.get("job_template")
    if nested is not None and not isinstance(nested, dict):
        raise InvalidRequest.field("job_template", "must be an object", nested)
    inside = {name: value for name, value in (nested or {}).items() if value is not None}
    if "id" in inside:
        raise InvalidRequest.field("id", "must not be set: every run has its own", inside["id"])
    joined = {name: value for name, value in inside.items() if name not in MANAGED}
    for name in FLAT:  # options before queue
        value = body.get(name)
        if value is None or (name == "queue" and _queue_of(joined) == value):
            continue
        if joined.setdefault(name, value) != value:
            raise InvalidRequest.field(name, "differs from the one in job_template", value)
    _check(joined)
    return joined or None


def _check(template: Mapping[str, Any]) -> None:
    """Refuse members that prevent building a job; the job's own rules check the rest."""
    for name in ("meta", "options"):
        if name in template and not isinstance(template[name], dict):
            raise InvalidRequest.field(name, "must be an object", template[name])
    if "queue" in template:
        queue_name("queue", template["queue"])


def _queue_of(template: Mapping[str, Any]) -> Any:
    options = template.get("options")
    inside = options.get("queue") if isinstance(options, dict) else None
    return inside or template.get("queue") or "default"


def encode_entry(entry: CronEntry) -> dict[str, Any]:
    """Encode a schedule with the member names of all clients."""
    template = entry.template
    shown_entry: dict[str, Any] = {
        "id": entry.name,
        "name": entry.name,
        **dict.fromkeys(EXPRESSION, entry.expression),
        "timezone": entry.timezone,
        **{name: template[name] for name in ("type", *DEFAULTS)},
        "queue": _queue_of(template),
        "job_template": template,
        "overlap_policy": entry.overlap_policy,
        "enabled": entry.enabled,
        "status": "active" if entry.enabled else "disabled",
        "next_run_at": _time(entry.next_run_at),
        "last_run_at": _time(entry.last_run_at),
        "last_job_id": entry.last_job_id and str(entry.last_job_id),
        "run_count": entry.run_count,
        "created_at": format_time(entry.created_at),
        "updated_at": format_time(entry.updated_at),
    }
    if entry.description is not None:
        shown_entry["description"] = entry.description
    if entry.tenant is not None:
        shown_entry["tenant_id"] = entry.tenant
    return shown_entry


def wrapped(entry: CronEntry, **more: Any) -> dict[str, Any]:
    """Encode one schedule, flat and wrapped; the wrapper `cron` hides the expression of that name.

    Spec: contract 24.6.
    """
    one = encode_entry(entry)
    return {**one, "cron": one, "cron_job": one, **more}


def encode_execution(execution: Execution) -> dict[str, Any]:
    """Encode one occurrence. Spec: contract 24.6."""
    run, job = execution.run, execution.job
    shown_run: dict[str, Any] = {
        "job_id": run.job_id and str(run.job_id),
        "state": "skipped" if run.job_id is None else "removed",
        "scheduled_at": format_time(run.scheduled_at),
        "triggered_at": format_time(run.noted_at),
        "started_at": None,
        "completed_at": None,
        "trigger": "manual" if run.manual else "schedule",
    }
    if job is not None:
        shown_run |= {
            "state": state_of(job.state).value,
            "attempt": job.attempt,
            "started_at": _time(job.started_at),
            "completed_at": _time(job.finished_at),
        }
    if run.reason is not None:
        shown_run |= {"reason": run.reason, "detail": shown(run.detail)}
    return shown_run


def _time(at: Any) -> str | None:
    return None if at is None else format_time(at)
