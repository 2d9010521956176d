"""Store one plain draft: no fingerprint, limit, bound, id of its producer, or new lane.

Most requests bring such a draft. It takes one statement, which drafts of other requests may share.
Every other draft takes the way of store.py.
"""

from django.db import DatabaseError

from jobs import extensions
from jobs.connection_pool import is_usable
from jobs.domain.caller import Caller
from jobs.domain.draft import JobDraft
from jobs.domain.errors import OJSError
from jobs.domain.job import Job
from jobs.domain.written import written
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
    if draft.id_given or draft.unique is not None or draft.rate_limit is not None:
        return None
    config = configuration.cache.latest
    if config is None or draft.queue not in config.queues or not is_usable():
        return None
    try:
        found = _row(draft, caller, config)
    except OJSError:  # the other way reports it
        return None
    if found is None:
        return None
    draft, text, row = found

    def finish(outcome: Outcome[list[Placed]]) -> Job | None:
        try:
            placed = outcome()
        except DatabaseError as problem:
            if lanes.is_gone(problem):
                lanes.clear_cache()
                return None
            undone = refusal(problem)
            if undone is not None and undone.may_repeat:
                return None
            raise
        return insert.job_of(draft, text, placed[0]) if placed else None

    return Later(insert.gathering, (config.version, row), finish)


def _row(
    draft: JobDraft, caller: Caller, config: configuration.Configuration
) -> tuple[JobDraft, insert.Written, dict[str, object]] | None:
    drafts = [draft]
    for extension in implementers(EnqueueHooks.dedupe):
        if extension.dedupe(drafts, caller):
            return None
    (draft,) = drafts = configuration.apply(config, drafts)
    if config.of(draft.queue).bound is not None:
        return None
    if extensions.refusals(drafts, caller, config.version):
        return None
    for hooks in implementers(EnqueueHooks.assign_version_keys):
        hooks.assign_version_keys(drafts, config.version)
    for hooks in implementers(EnqueueHooks.needs_admission):
        if hooks.needs_admission(drafts, caller, config.version):
            return None
    lane_id = lanes.cached(insert.key_of(draft, None, config.types))
    if lane_id is None:
        return None
    text = written(draft)
    return draft, text, insert.row_of(0, draft, text, lane_id, caller.request_id)
