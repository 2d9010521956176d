"""The kinds of configuration of this app, and their documents for the history."""

import json
from typing import Any, Final

from jobs.domain.wire import jsonio
from jobs.domain.wire.durations import format_duration
from jobs.extensions import ConfigKind, Document
from versioning.domain.canary_request import ACTION, guard_of, plan_of
from versioning.domain.schema_version import parse_key
from versioning.models import Routing, Schema

AT: Final = "@"  # between the type and the version of a schema


def _routing(name: str, _: str | None) -> Document | None:
    row = Routing.objects.filter(type=name).first()
    if row is None:
        return None
    return {
        "rules": row.rules, "mode": row.mode, "on_no_worker": row.on_no_worker,
        "fallback_after": format_duration(row.fallback_ms),
        "auto_rollback": _guard(row), "plan": _plan(row),
    }  # fmt: skip


def _guard(row: Routing) -> dict[str, Any] | None:
    guard = guard_of(row.guard)
    if guard is None:
        return None
    return {
        "error_rate_threshold": guard.threshold,
        "evaluation_window": format_duration(guard.window_ms),
        "min_samples": guard.min_samples,
        "action": ACTION,
        "significance": guard.significance,
        "cool_down": format_duration(guard.cool_down_ms),
    }


def _plan(row: Routing) -> dict[str, Any] | None:
    plan = plan_of(row.plan)
    if plan is None:
        return None
    return {
        "steps": list(plan.steps),
        "bake_time": format_duration(plan.bake_ms),
        "min_samples": plan.min_samples,
    }


def _schema(name: str, _: str | None) -> Document | None:
    """Return a schema; its JSON as lines of text, which also keep characters that JSONB cannot."""
    kind, _, version = name.rpartition(AT)
    key = parse_key(version)
    row = Schema.objects.filter(type=kind, **key._asdict()).first()
    if row is None:
        return None
    document = jsonio.loads(row.document.encode())
    return {
        "document": json.dumps(document, indent=2, ensure_ascii=False),
        "mode": str(row.mode),
        "compatible_with": row.compatible_with,
        "uri": row.uri,
    }


ROUTING: Final = ConfigKind(
    "routing", "Routing rules", ("ojs_version_routing",), _routing,
    "versioning.services.routing.restore",
    see="routing.see", change="routing.configure", delete="routing.delete",
)  # fmt: skip
SCHEMA: Final = ConfigKind(
    "schema", "Schema", ("ojs_schema",), _schema, "versioning.services.schemas.restore",
    see="schemas.browse", change="schemas.configure", delete="schemas.delete",
)  # fmt: skip
KINDS: Final = (ROUTING, SCHEMA)
