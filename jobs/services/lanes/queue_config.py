"""The configuration of queues, and the template of those to come. Spec: contract 10.4, 24.4.

A queue takes over the template when it is made, by whatever makes it; from then on the two have
nothing to do with each other. So what a queue was told counts before what the template said, and a
member that was reset to null stays so.
"""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from jobs import queries
from jobs.domain.caller import Caller
from jobs.domain.errors import Conflict, NotFound
from jobs.domain.limits import LimitPolicy
from jobs.domain.queues import limit_of, merge
from jobs.models import Queue, QueueTemplate
from jobs.services.audit.audit import audited
from jobs.services.lanes import limits, terms

TEMPLATE = "_default"  # stands for the name of a queue on the wire; none can be called so


def change(
    name: str, wanted: Mapping[str, Any], caller: Caller, *, strict: bool = False
) -> dict[str, Any]:
    """Configure a queue, or as TEMPLATE those to come, for an operator: as the two below say.

    With its entry in the audit log.
    """
    with audited(caller, "queue.config_changed", name) as data:
        data["changed"] = sorted(wanted)
        if name == TEMPLATE:
            return configure_template(wanted, strict=strict)
        return configure(name, wanted, strict=strict)


def configure(name: str, change: Mapping[str, Any], *, strict: bool = False) -> dict[str, Any]:
    """Change a queue's configuration, made if unknown; absent members stay, null resets one.

    Counts from the commit on, in every process. Locks: the version of the terms, so that changes
    follow one another; then the queue, then its limit. Raises InvalidRequest.
    """
    with transaction.atomic():
        terms.hold()
        queries.make_queues([name])
        queue = Queue.objects.select_for_update().get(name=name)
        config = merge(queue.config, change, strict=strict)
        if config == queue.config:
            return config
        terms.change()
        limit_id = limits.set_of_queue(name, limit_of(config))
        queries.configure(name, config, limit_id)
    terms.forget()
    return config


def configure_template(change: Mapping[str, Any], *, strict: bool = False) -> dict[str, Any]:
    """Change what queues are configured with that are made from the commit on.

    Locks: the version of the terms. Raises InvalidRequest.
    """
    with transaction.atomic():
        terms.hold()
        before = template()
        config = merge(before, change, strict=strict)
        if config == before:
            return config
        terms.change()  # producers go by the template, too
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
    terms.forget()
    return config


def template() -> dict[str, Any]:
    """Return what a queue that is made now is configured with."""
    stored = QueueTemplate.objects.first()
    return dict(stored.config) if stored else {}


def create(name: str, config: Mapping[str, Any], caller: Caller) -> Queue:
    """Make a queue before its first job. Raises Conflict when there is one of this name."""
    with audited(caller, "queue.created", name) as data:
        data["configured"] = sorted(config)
        terms.hold()  # from here on nobody else configures one
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
