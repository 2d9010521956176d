"""Store one plain draft: no fingerprint, limit, bound, id of its producer, or new lane.

Most requests bring such a draft. It takes one statement, which drafts of other requests may share.
Every other draft takes the way of store.py.
"""

from django.db import DatabaseError

from jobs import extensions
from jobs.connection_pool import is_usable
from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.enqueue.written import written
from jobs.domain.errors import OJSError
from jobs.domain.job import Job
from jobs.extensions import EnqueueHooks, implementers
from jobs.gather import Later, Outcome
from jobs.queries import Placed
from jobs.repeat import refusal
from jobs.services.enqueue import insert
from jobs.services.lanes import configuration, lanes


def begin(draft: JobDraft, caller: Caller) -> Later[Job | None] | None:
    """Return the later job of a prepared draft; None: the draft is not plain.

    The result is None if the draft has to take the other way after all, because a cached fact was
    stale. Nothing is stored then.
    """
    config = configuration.cache.latest
    if config is None or not _may_be_plain(draft, config):
        return None
    try:
        (draft,) = configuration.apply(config, [draft])
        if _is_examined([draft], caller, config.version):
            return None
    except OJSError:  # the other way reports it
        return None
    lane_id = lanes.cached(insert.key_of(draft, None, config.types))
    if lane_id is None:
        return None
    text = written(draft)
    row = insert.row_of(0, draft, text, lane_id, caller.request_id)

    def finish(outcome: "Outcome[list[Placed]]") -> "Job | None":
        placed = _placed(outcome)
        return insert.job_of(draft, text, placed[0]) if placed else None

    return Later(insert.gathering, (config.version, row), finish)


def _may_be_plain(draft: JobDraft, config: configuration.Configuration) -> bool:
    is_special = draft.id_given or draft.unique is not None or draft.rate_limit is not None
    is_known = draft.queue in config.queues and config.of(draft.queue).bound is None
    return not is_special and is_known and is_usable()


def _is_examined(drafts: list[JobDraft], caller: Caller, version: int) -> bool:
    """Set version keys; returns whether an extension refuses, counts or deduplicates a draft."""
    if any(hooks.dedupe(drafts, caller) for hooks in implementers(EnqueueHooks.dedupe)):
        return True
    if extensions.refusals(drafts, caller, version):
        return True
    for extension in implementers(EnqueueHooks.assign_version_keys):
        extension.assign_version_keys(drafts, version)
    return any(
        hooks.needs_admission(drafts, caller, version)
        for hooks in implementers(EnqueueHooks.needs_admission)
    )


def _placed(outcome: Outcome[list[Placed]]) -> list[Placed]:
    try:
        return outcome()
    except DatabaseError as problem:
        if lanes.is_gone(problem):
            lanes.clear_cache()
            return []
        undone = refusal(problem)
        if undone is not None and undone.may_repeat:
            return []
        raise
