"""Encode findings and rules; decode mutes and thresholds."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse

from attention.domain.rule import Remedy
from attention.services.radius import BlastRadius
from attention.services.thresholds import Setting, Wanted
from attention.services.words import Shown
from jobs.domain.errors import InvalidRequest
from jobs.domain.wire.durations import TOO_LONG, parse_short_duration
from jobs.domain.wire.times import format_time

SETTINGS: Final = ("enabled", "thresholds", "overrides")


def encode_finding(shown: Shown) -> dict[str, Any]:
    """Encode a finding."""
    mute = shown.mute
    return {
        "id": shown.id or None,
        "rule": shown.rule.id,
        "title": shown.rule.title,
        "subject": shown.hit.subject,
        "subject_kind": str(shown.rule.subject),
        "severity": shown.severity.word,
        "text": shown.text,
        "cause": shown.cause,
        "since": format_time(shown.since),
        "ended_at": shown.ended_at and format_time(shown.ended_at),
        "jobs": shown.hit.jobs,
        "tenants": shown.hit.tenants,
        "tenant_id": shown.hit.tenant,
        "remedies": [_remedy(one) for one in shown.remedies],
        "mute": mute
        and {
            "reason": mute.reason,
            "until": format_time(mute.until),
            "actor": mute.actor,
            "at": format_time(mute.at),
        },
    }


def _remedy(one: Remedy) -> dict[str, Any]:
    return {
        "label": one.label,
        "action": one.action or None,
        "target": one.target or None,
        "href": _href(one) if one.page else None,
    }


def _href(one: Remedy) -> str | None:
    try:
        path = reverse(f"ojs_console:{one.page}", args=one.args)
    except NoReverseMatch:  # the console or the app of the page is absent
        return None
    query = f"?{urlencode(one.query)}" if one.query else ""
    return f"{path}{query}{f'#{one.anchor}' if one.anchor else ''}"


def encode_radius(found: BlastRadius | None) -> dict[str, Any] | None:
    """Encode the blast radius."""
    if found is None:
        return None
    return {
        "jobs": found.jobs,
        "other_jobs": found.rest,
        "shared": {
            dimension: [
                {"value": one.value, "percent": one.percent, "other_percent": one.rest_percent}
                for one in values
            ]
            for dimension, values in found.dimensions.items()
        },
    }


def encode_setting(one: Setting) -> dict[str, Any]:
    """Encode the settings of a rule, with the bounds of each threshold."""
    return {
        "rule": one.rule.id,
        "title": one.rule.title,
        "subject_kind": str(one.rule.subject),
        "enabled": one.is_enabled,
        "changed": one.is_changed,
        "thresholds": [
            {
                "name": threshold.name,
                "label": threshold.label,
                "value": one.values[threshold.name],
                "default": threshold.default,
                "minimum": threshold.low,
                "maximum": threshold.high,
            }
            for threshold in one.rule.thresholds
        ],
        "has_overrides": one.rule.has_overrides,
        "overrides": {subject: dict(values) for subject, values in one.overrides.items()},
    }


def decode_mute(body: Mapping[str, Any]) -> tuple[str, timedelta]:
    """Read the reason and the duration of a mute. Raises InvalidRequest."""
    reason, raw = body.get("reason"), body.get("duration")
    if not isinstance(reason, str):
        raise InvalidRequest.field("reason", "must be a string", reason)
    try:
        return reason, timedelta(milliseconds=parse_short_duration(raw))
    except ValueError as problem:
        if str(problem) == TOO_LONG:  # the service has a bound of its own
            return reason, timedelta.max
        raise InvalidRequest.field("duration", "must be a duration, 4h or PT4H", raw) from None


def decode_setting(body: Mapping[str, Any]) -> Wanted:
    """Read the settings of a rule. Raises InvalidRequest."""
    if unknown := next((name for name in body if name not in SETTINGS), None):
        raise InvalidRequest.field(unknown[:100], f"is no member: {', '.join(SETTINGS)}")
    enabled = body.get("enabled")
    if enabled is not None and not isinstance(enabled, bool):
        raise InvalidRequest.field("enabled", "must be true or false", enabled)
    return Wanted(enabled is not False, _object(body, "thresholds"), _object(body, "overrides"))


def _object(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    raw = body.get(name)
    if raw is not None and not isinstance(raw, dict):
        raise InvalidRequest.field(name, "must be an object", raw)
    return raw or {}
