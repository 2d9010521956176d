"""Store the configuration of queues, and the template of new queues. Spec: contract 10.4, 24.4.

A new queue copies the template when it is made. Later changes of the template do not change the
queue. So the queue's own configuration overrides the template, and a member that was reset to null
stays reset.
"""

from collections.abc import Mapping
from typing import Any

from jobs import queries
from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.lanes.limits import LimitPolicy
from jobs.domain.lanes.queues import limit_of, merge
from jobs.extensions import Document
from jobs.models import Queue, QueueTemplate
from jobs.services.audit.config_log import Subject, configured, recorded
from jobs.services.audit.documents import QUEUE, QUEUE_TEMPLATE, TEMPLATE
from jobs.services.lanes import configuration, limits

CHANGED = "queue.config_changed"
RESTORED = "queue.config_restored"
SET_BY_JOB = "queue.rate_limit_set_by_job"


def change(
    name: str, wanted: Mapping[str, Any], caller: Caller, *, strict: bool = False
) -> dict[str, Any]:
    """Configure a queue, or new queues (TEMPLATE), for an operator; see the two functions below.

    Adds an entry to the audit log.
    """
    with configured(caller, subject(name), CHANGED) as data:
        data["changed"] = sorted(wanted)
        if name == TEMPLATE:
            return configure_template(wanted, strict=strict)
        return configure(name, wanted, strict=strict)


def replace(name: str, wanted: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """Replace the whole configuration of a queue for an operator: absent members are reset.

    Adds an entry to the audit log. Raises InvalidRequest and NotFound.
    """
    before = config_of(name)
    with configured(caller, subject(name), CHANGED) as data:
        config = configure(name, wanted, strict=True, is_whole=True)
        names = before.keys() | config.keys()
        data["changed"] = sorted(one for one in names if before.get(one) != config.get(one))
        return config


def subject(name: str) -> Subject:
    """Return a queue, or the template of new queues (TEMPLATE), as an object of the history."""
    return Subject(QUEUE_TEMPLATE if name == TEMPLATE else QUEUE, name)


def set_by_job(name: str, rate: Mapping[str, Any], caller: Caller) -> None:
    """Set the rate limit of a queue that a job of a producer has named."""
    with recorded(caller, subject(name), SET_BY_JOB, can_undo=False):
        configure(name, {"rate_limit": rate})


def configure(
    name: str, change: Mapping[str, Any], *, strict: bool = False, is_whole: bool = False
) -> dict[str, Any]:
    """Change a queue's configuration; null resets a member, and absent members stay.

    If the change `is_whole`, absent members are reset, too.

    An unknown queue is made. The change applies from the commit on, in every process. Locks: the
    configuration version, so that changes follow one another; then the queue, then its limit.
    Call it in `configured`. Raises InvalidRequest.
    """
    with atomic():
        configuration.hold()
        queries.make_queues([name])
        queue = Queue.objects.select_for_update().get(name=name)
        config = merge({} if is_whole else queue.config, change, strict=strict)
        if config == queue.config:
            return config
        configuration.change()
        limit_id = limits.set_of_queue(name, limit_of(config))
        queries.configure(name, config, limit_id)
    configuration.cache.clear()
    return config


def configure_template(change: Mapping[str, Any], *, strict: bool = False) -> dict[str, Any]:
    """Change the configuration that queues get if they are made after the commit.

    Locks: the configuration version. Call it in `configured`. Raises InvalidRequest.
    """
    with atomic():
        configuration.hold()
        before = template()
        config = merge(before, change, strict=strict)
        if config == before:
            return config
        configuration.change()  # producers read the template, too
        policy = limit_of(config)
        has_limit = policy != LimitPolicy()
        QueueTemplate.objects.update_or_create(
            id=1,
            defaults={
                "config": config,
                "policy": policy.to_row() if has_limit else None,
                "slot_ms": policy.slot_ms,
            },
        )
    configuration.cache.clear()
    return config


def template() -> dict[str, Any]:
    """Return the configuration of a queue that is made now."""
    stored = QueueTemplate.objects.first()
    return dict(stored.config) if stored else {}


def create(name: str, config: Mapping[str, Any], caller: Caller) -> Queue:
    """Make a queue before its first job. Raises Conflict if a queue of this name exists."""
    with configured(caller, subject(name), "queue.created") as data:
        data["configured"] = sorted(config)
        configuration.hold()  # from here on no other transaction changes the configuration
        if Queue.objects.filter(name=name).exists():
            raise Conflict(f"queue {name} exists already", details={"queue": name})
        configure(name, config)
        return Queue.objects.get(name=name)


def config_of(name: str) -> dict[str, Any]:
    """Return a queue's configuration. Raises NotFound."""
    queue = Queue.objects.filter(name=name).first()
    if queue is None:
        raise NotFound.of("queue", name)
    return dict(queue.config)


# --- the history ----------------------------------------------------------------------------------


def restore(name: str, _: str | None, document: Document | None, caller: Caller) -> None:
    """Restore the configuration of a queue. Raises Conflict if the queue did not exist."""
    if document is None:
        raise Conflict(
            f"queue {name} did not exist then: delete it instead", details={"queue": name}
        )
    with configured(caller, subject(name), RESTORED):
        configure(name, document, strict=True, is_whole=True)


def restore_template(_: str, __: str | None, document: Document | None, caller: Caller) -> None:
    """Restore the configuration of new queues; None: without members."""
    with configured(caller, subject(TEMPLATE), RESTORED):
        configure_template(dict.fromkeys(template()) | dict(document or {}), strict=True)
