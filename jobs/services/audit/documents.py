"""The kinds of configuration of the core, and their documents for the history."""

from typing import Any, Final

from django.db.models import Q

from jobs.domain.lanes.limits import OF_KEY, OF_QUEUE, OF_TYPE, LimitPolicy
from jobs.domain.wire.durations import format_duration
from jobs.domain.wire.times import format_time
from jobs.extensions import ConfigKind, Document
from jobs.models import Limit, Queue, QueueTemplate, ReplayRule

TEMPLATE: Final = (
    "_default"  # stands for the name of a queue on the wire; no queue may have this name
)
REPLAY: Final = "dead-letter"
PREFIXES: Final = {OF_QUEUE: "queue:", OF_TYPE: "type:"}  # of limits without a tenant


def _queue(name: str, _: str | None) -> Document | None:
    config: Document | None = (
        Queue.objects.filter(name=name).values_list("config", flat=True).first()
    )
    return config


def _template(_: str, __: str | None) -> Document | None:
    config: Document | None = QueueTemplate.objects.values_list("config", flat=True).first()
    return config or None


def _override(name: str, tenant: str | None) -> Document | None:
    found = Limit.objects.filter(_named(name, tenant), override__isnull=False).first()
    if found is None or found.override is None:
        return None
    policy = LimitPolicy.from_row(found.override)
    until = found.override_until and format_time(found.override_until)
    return {**policy.to_wire(), "on_limit": policy.on_limit, "until": until}


def _named(name: str, tenant: str | None) -> Q:
    """Select a limit by its name on the wire and its tenant."""
    if tenant is not None:
        return Q(kind=OF_KEY, key=name, tenant=tenant)
    kind, prefix = next(one for one in PREFIXES.items() if name.startswith(one[1]))
    return Q(kind=kind, key=name.removeprefix(prefix))


def _replay_rules(_: str, __: str | None) -> Document | None:
    rules = [_rule(one) for one in ReplayRule.objects.all()]
    return {"rules": rules} if rules else None


def _rule(row: ReplayRule) -> dict[str, Any]:
    return {
        "name": row.name, "queue": row.queue, "type": row.type, "error_type": row.error_type,
        "tenant": row.tenant, "delay": format_duration(row.delay_ms),
        "max_replays": row.max_replays, "enabled": row.enabled,
    }  # fmt: skip


QUEUE: Final = ConfigKind(
    "queue", "Queue", ("ojs_queue",), _queue, "jobs.services.lanes.queue_config.restore",
    see="queues.see_configuration", change="queues.configure", can_vanish=False,
)  # fmt: skip
QUEUE_TEMPLATE: Final = ConfigKind(
    "queue_template", "Template of new queues", ("ojs_queue_template",), _template,
    "jobs.services.lanes.queue_config.restore_template",
    see="queues.see_configuration", change="queues.configure",
)  # fmt: skip
OVERRIDE: Final = ConfigKind(
    "rate_limit_override", "Override of a rate limit", ("ojs_limit",), _override,
    "jobs.services.lanes.limits.restore", see="limits.see", change="limits.override",
)  # fmt: skip
REPLAY_RULES: Final = ConfigKind(
    "replay_rules", "Replay rules", ("ojs_replay_rule",), _replay_rules,
    "jobs.services.outcome.replay.restore", see="replay.see", change="replay.configure",
)  # fmt: skip
KINDS: Final = (QUEUE, QUEUE_TEMPLATE, OVERRIDE, REPLAY_RULES)
