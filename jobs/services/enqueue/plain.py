"""Store plain drafts with one statement.

A plain draft has no fingerprint, no limit and no id of its producer. Its queue has no bound, and
its lane exists. Most drafts are plain. No thread of the HTTP server waits for the statement
(jobs/gather.py). A request of one draft may share the statement with drafts of other requests.
store.py stores all other drafts.
"""

from collections.abc import Sequence

from django.db import DatabaseError

from jobs import extensions
from jobs.connection_pool import is_usable
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import LaneKey
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.enqueue.written import Writer, written
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

    The result is None if store.py must store the draft after all, because a cached fact was stale.
    Nothing is stored then.
    """
    config = configuration.cache.latest
    if config is None or not _may_be_plain(draft, config):
        return None
    found = _admitted([draft], caller, config)
    if found is None:
        return None
    (draft,) = found
    lane_id = lanes.cached(insert.key_of(draft, None, config.types))
    if lane_id is None:
        return None
    text = written(draft)
    row = insert.row_of(0, draft, text, lane_id, caller.request_id)

    def finish(outcome: "Outcome[list[Placed]]") -> "Job | None":
        placed = _placed(outcome)
        return insert.job_of(draft, text, placed[0]) if placed else None

    return Later(insert.gathering, (config.version, row), finish)


def begin_batch(drafts: Sequence[JobDraft], caller: Caller) -> Later[list[Job] | None] | None:
    """Return the later jobs of a request's prepared drafts; None: not all drafts are plain.

    The result is None in the same case as that of `begin`.
    """
    config = configuration.cache.latest
    if config is None or not all(_may_be_plain(draft, config) for draft in drafts):
        return None
    found = _admitted(drafts, caller, config)
    lane_ids = found and _lane_ids(found, config)
    if not found or not lane_ids:
        return None
    writer = Writer()
    texts = [writer.written(draft) for draft in found]
    rows = [
        insert.row_of(n, draft, text, lane_id, caller.request_id)
        for n, (draft, text, lane_id) in enumerate(zip(found, texts, lane_ids, strict=True))
    ]

    def finish(outcome: "Outcome[list[Placed]]") -> "list[Job] | None":
        placed = _placed(outcome)
        return [insert.job_of(found[row.n], texts[row.n], row) for row in placed] or None

    return Later(insert.batches, (config.version, rows), finish)


def _admitted(
    drafts: Sequence[JobDraft], caller: Caller, config: configuration.Configuration
) -> list[JobDraft] | None:
    """Apply the configuration, and set version keys; None: an extension examines a draft."""
    try:
        applied = configuration.apply(config, drafts)
        return None if _is_examined(applied, caller, config.version) else applied
    except OJSError:  # enqueue.py raises it for the caller
        return None


def _lane_ids(drafts: Sequence[JobDraft], config: configuration.Configuration) -> list[int] | None:
    """Return the lane of each draft; None: this process does not know all of them."""
    known: dict[LaneKey, int | None] = {}
    found: list[int] = []
    for draft in drafts:
        key = insert.key_of(draft, None, config.types)
        if key not in known:
            known[key] = lanes.cached(key)
        lane_id = known[key]
        if lane_id is None:
            return None
        found.append(lane_id)
    return found


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
