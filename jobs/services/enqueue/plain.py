"""Store plain drafts with one statement.

A plain draft has no fingerprint, no limit and no id of its producer. Its queue has no bound, and
its lane exists. Most drafts are plain. No thread of the HTTP server waits for the statement
(jobs/gather.py). A request of one draft may share the statement with drafts of other requests.
store.py stores all other drafts.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import DatabaseError

from jobs import extensions
from jobs.connection_pool import is_usable
from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.enqueue.written import Writer, Written
from jobs.domain.errors import OJSError
from jobs.domain.job import Job
from jobs.extensions import EnqueueHooks, implementers
from jobs.gather import Later, Outcome
from jobs.queries import Placed
from jobs.repeat import refusal
from jobs.services.enqueue import insert
from jobs.services.lanes import configuration, lanes


class _Plain(NamedTuple):
    """The plain drafts of a request, and their rows for a configuration version."""

    version: int
    drafts: list[JobDraft]
    texts: list[Written]
    rows: list[dict[str, Any]]

    def jobs(self, outcome: Outcome[list[Placed]]) -> list[Job]:
        """Return the stored jobs; none if a cached fact was stale."""
        return [
            insert.job_of(self.drafts[row.n], self.texts[row.n], row) for row in _placed(outcome)
        ]


def begin(draft: JobDraft, caller: Caller) -> Later[Job | None] | None:
    """Return the later job of a prepared draft; None: the draft is not plain.

    The result is None if store.py must store the draft after all, because a cached fact was stale.
    Nothing is stored then.
    """
    plain = _plain([draft], caller)
    if plain is None:
        return None
    item = plain.version, plain.rows[0]
    return Later(insert.gathering, item, lambda outcome: next(iter(plain.jobs(outcome)), None))


def begin_batch(drafts: Sequence[JobDraft], caller: Caller) -> Later[list[Job] | None] | None:
    """Return the later jobs of a request's prepared drafts; None: not all drafts are plain.

    The result is None in the same case as that of `begin`.
    """
    plain = _plain(drafts, caller)
    if plain is None:
        return None
    item = plain.version, plain.rows
    return Later(insert.batches, item, lambda outcome: plain.jobs(outcome) or None)


def _plain(drafts: Sequence[JobDraft], caller: Caller) -> _Plain | None:
    """Apply the configuration to drafts, and write their rows; None: not all drafts are plain."""
    config = configuration.cache.latest
    if config is None or not is_usable():
        return None
    if not all(_may_be_plain(draft, config) for draft in drafts):
        return None
    try:
        applied = configuration.apply(config, drafts)
        if _is_examined(applied, caller, config.version):
            return None
    except OJSError:  # enqueue.py raises it for the caller
        return None
    lane_ids = []
    for key in insert.keys_of(applied, {}, config):
        lane_id = lanes.cached(key)
        if lane_id is None:
            return None
        lane_ids.append(lane_id)
    writer = Writer()
    texts = [writer.written(draft) for draft in applied]
    rows = insert.rows_of(applied, texts, lane_ids, caller.request_id)
    return _Plain(config.version, applied, texts, rows)


def _may_be_plain(draft: JobDraft, config: configuration.Configuration) -> bool:
    is_special = draft.id_given or draft.unique is not None or draft.rate_limit is not None
    is_known = draft.queue in config.queues and config.of(draft.queue).bound is None
    return not is_special and is_known


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
